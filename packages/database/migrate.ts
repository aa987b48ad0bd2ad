import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { Client } from 'pg';

const directory = new URL('../../migrations/', import.meta.url);
/** Two processes that start at once must not migrate at once; the number only has to be ours. */
const advisoryLock = 7_305_114_902;

interface Migration {
  name: string;
  sql: string;
  sha256: string;
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}_[a-z_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, directory), 'utf8');
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function appliedMigrations(client: Client): Promise<Map<string, string>> {
  const found = await client.query<{ exists: boolean }>("select to_regclass('migration') is not null as exists");
  if (!found.rows[0]?.exists) return new Map();
  const { rows } = await client.query<{ name: string; sha256: string }>('select name, sha256 from migration');
  return new Map(rows.map(({ name, sha256 }) => [name, sha256]));
}

async function applyMigration(client: Client, { name, sql, sha256 }: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(sql);
    await client.query('insert into migration (name, sha256) values ($1, $2)', [name, sha256]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new Error(`migration ${name} failed`, { cause: error });
  }
}

/**
 * Brings the database to the newest migration, each in a transaction of its own; safe to call from several processes.
 * @returns the names of the migrations applied now
 * @throws when an applied migration was changed afterwards, or one fails (it is rolled back)
 */
export async function migrate(url: string): Promise<string[]> {
  const client = new Client({ connectionString: url, application_name: 'odograph-migrate' });
  await client.connect();
  let locked = false;
  try {
    const migrations = await readMigrations();
    // A service's role may look, but not migrate.
    if (missingOf(migrations, await appliedMigrations(client)).length === 0) return [];
    await client.query('select pg_advisory_lock($1)', [advisoryLock]);
    locked = true;
    await client.query(`create table if not exists migration (
      name text primary key, sha256 text not null, applied_at timestamptz not null default now())`);
    const missing = missingOf(migrations, await appliedMigrations(client));
    for (const migration of missing) await applyMigration(client, migration);
    return missing.map(({ name }) => name);
  } finally {
    if (locked) await client.query('select pg_advisory_unlock($1)', [advisoryLock]).catch(() => undefined);
    await client.end();
  }
}

/** @throws when an applied migration was changed afterwards */
function missingOf(migrations: readonly Migration[], applied: ReadonlyMap<string, string>): Migration[] {
  return migrations.filter(({ name, sha256 }) => {
    const appliedSha256 = applied.get(name);
    if (appliedSha256 !== undefined && appliedSha256 !== sha256) {
      throw new Error(`migration ${name} was changed after it was applied`);
    }
    return appliedSha256 === undefined;
  });
}
