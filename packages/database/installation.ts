import { sql } from 'kysely';
import { Client } from 'pg';
import type { Database } from './database.ts';

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

/** Gives an unused installation the number of its cell. @throws SQLSTATE OD002 for one in use that has another number */
export function assignCell(url: string, cell: number): Promise<void> {
  return withClient(url, async (client) => void (await client.query('select assign_cell($1)', [cell])));
}

/** A backup by the command line. */
export interface BackupRecord {
  readonly completedAt: Date;
  readonly bytes: number;
  /** The newest migration that the backup has, such as `0010_fleet_views.sql`. */
  readonly schema: string;
}

/** Finds the last backup by `odograph backup`; undefined when this installation has none. */
export async function findLastBackup(db: Database): Promise<BackupRecord | undefined> {
  const { rows } = await sql<BackupRecord>`select last_backup_at as "completedAt",
    last_backup_bytes::double precision as bytes, last_backup_schema as schema
    from installation where last_backup_at is not null`.execute(db);
  return rows[0];
}

/** Records that a backup was completed just now. */
export async function recordBackup(db: Database, { bytes, schema }: Omit<BackupRecord, 'completedAt'>): Promise<void> {
  await sql`update installation set last_backup_at = now(), last_backup_bytes = ${bytes},
    last_backup_schema = ${schema}`.execute(db);
}
