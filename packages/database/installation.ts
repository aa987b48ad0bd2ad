import { Client } from 'pg';

async function withClient<Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url, application_name: 'odograph-start' });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/**
 * Finds what a database lacks: schema objects, chunks of readings, and in a new copy the readings of whole days. Restoring a
 * dump without the steps of docs/operating.md, "Back up and restore", leaves such a database.
 * @returns a sentence for each fault
 */
export function findDatabaseFaults(url: string): Promise<string[]> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ fault: string }>('select find_database_faults() as fault');
    return rows.map(({ fault }) => fault);
  });
}

/**
 * Recognizes a copy: a restored dump, a recovery to a point in time, a promoted standby. Readers of its change feed get
 * EXPIRED, because their positions are those of the original.
 * @returns whether the database is a copy that was not known yet
 */
export function recognizeDatabase(url: string): Promise<boolean> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ is_copy: boolean }>('select recognize_database() as is_copy');
    return rows[0]?.is_copy ?? false;
  });
}
