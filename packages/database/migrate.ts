import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { sourceDeviceModels } from '@odograph/contracts/sources';
import { Client } from 'pg';
import { sqlState } from './postgres-failure.ts';

const shipped = new URL('../../migrations/', import.meta.url);
/** A waiting lock request blocks all later ones, ingest among them; so a migration gives up early and retries. */
const lockTimeoutMs = 1000;
/** Time for blocked statements to catch up before the next attempt. */
const pauseMs = 1500;
/** First line of a migration whose statements cannot run in a transaction, such as building an index chunk by chunk. */
const outsideTransaction = '-- outside a transaction';
/** lock_not_available and deadlock_detected: rolled back and safe to retry (PostgreSQL, Appendix A). */
const lockStates = new Set(['55P03', '40P01']);
/** Serializes migrations of processes that start together. */
const advisoryLock = 7_305_114_902;

/** A database that this version cannot use; nothing in it was changed. */
export class UnsupportedDatabase extends Error {}

/** Whether a migration is a file of migrations/; the other one stores the shipped device models. */
export const isNumbered = (name: string): boolean => /^\d{4}_[a-z_]+\.sql$/.test(name);

/** Whether migrations are of a version before 0.1.0, whose files were replaced by one for each topic. */
export const isPrerelease = (names: readonly string[]): boolean => names.includes('0004_ingest_barrier.sql');

interface Migration {
  name: string;
  sql: string;
  sha256: string;
}

async function readMigrations(directory: URL): Promise<Migration[]> {
  const files = await readdir(directory);
  const names = files.filter(isNumbered).sort();
  const migrations = await Promise.all(
    names.map(async (name) => toMigration(name, await readFile(new URL(name, directory), 'utf8'))),
  );
  if (!files.includes('device-models')) return migrations;
  return [...migrations, await readDeviceModels(new URL('device-models/', directory))];
}

function toMigration(name: string, sql: string): Migration {
  return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') };
}

/** Makes the shipped device models a migration of their own, which runs again when they have changed: its name has their hash. */
async function readDeviceModels(directory: URL): Promise<Migration> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.json')).sort();
  const files = await Promise.all(
    names.map(async (name) => JSON.parse(await readFile(new URL(name, directory), 'utf8')) as unknown),
  );
  const sql = storeDeviceModels(JSON.stringify([...files, ...sourceDeviceModels]));
  const { sha256 } = toMigration('', sql);
  return { name: `device_models_${sha256.slice(0, 16)}`, sql, sha256 };
}

/** SQL that stores the shipped device models; those that an operator has changed stay as they are. */
function storeDeviceModels(models: string): string {
  const columns = [
    ...['protocol', 'actions', 'commands', 'proprietary_can', 'bluetooth', 'encrypted_commands', 'digital_outputs'],
    ...['scenarii', 'family', 'shipped'],
  ];
  return `insert into device_model (id, ${columns.join(', ')})
    select name, protocol, coalesce(actions, array(select jsonb_object_keys(commands))), coalesce(commands, '{}'),
      "proprietaryCan", bluetooth, "encryptedCommands", "digitalOutputs", scenarii, family, true
    from jsonb_to_recordset($models$${models}$models$) as model (name text, protocol text, actions text[], commands jsonb,
      "proprietaryCan" boolean, bluetooth boolean, "encryptedCommands" text[], "digitalOutputs" jsonb, scenarii jsonb,
      family text)
    on conflict (id) do update set ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}
    where device_model.shipped`;
}

async function appliedMigrations(client: Client): Promise<Map<string, string>> {
  const found = await client.query<{ exists: boolean }>("select to_regclass('migration') is not null as exists");
  if (!found.rows[0]?.exists) return new Map();
  const { rows } = await client.query<{ name: string; sha256: string }>('select name, sha256 from migration');
  return new Map(rows.map(({ name, sha256 }) => [name, sha256]));
}

const recordApplied = (client: Client, { name, sha256 }: Migration) =>
  client.query('insert into migration (name, sha256) values ($1, $2)', [name, sha256]);

/** Records what the migrations made, so that a start notices when a restore lost a part of it. */
async function recordSchemaObjects(client: Client): Promise<void> {
  const found = await client.query<{ exists: boolean }>("select to_regclass('installation') is not null as exists");
  if (found.rows[0]?.exists) await client.query('select record_schema_objects()');
}

async function applyInTransaction(client: Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
    await client.query(migration.sql);
    await recordApplied(client, migration);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/** Runs each statement in its own implicit transaction; the statements must be idempotent, since all are retried. */
async function applyOutsideTransaction(client: Client, migration: Migration): Promise<void> {
  const statements = migration.sql.split(/;[ \t]*$/m).filter((statement) => /^\s*[^\s-]/m.test(statement));
  await client.query(`set lock_timeout = ${lockTimeoutMs}`);
  try {
    for (const statement of statements) await client.query(statement);
    await recordApplied(client, migration);
  } finally {
    await client.query('reset lock_timeout');
  }
}

async function applyMigration(client: Client, migration: Migration, options: MigrateOptions): Promise<void> {
  const { onWait, timeoutMs = 600_000 } = options;
  const apply = migration.sql.startsWith(outsideTransaction) ? applyOutsideTransaction : applyInTransaction;
  for (const start = performance.now(); ; await delay(pauseMs)) {
    try {
      return await apply(client, migration);
    } catch (error) {
      const isLock = lockStates.has(sqlState(error) ?? '');
      if (!isLock || performance.now() - start > timeoutMs) {
        throw new Error(`migration ${migration.name} failed`, { cause: error });
      }
      onWait?.(migration.name);
    }
  }
}

export interface MigrateOptions {
  /** Directory of the migrations; by default migrations/ of this repository. */
  readonly directory?: URL;
  /** Names of the migrations to apply, for a schema of an older version; all by default. */
  readonly only?: readonly string[];
  /** How long a migration is retried when it does not get its locks. */
  readonly timeoutMs?: number;
  /** Called with the name of a migration that did not get its locks in time and will be retried. */
  onWait?(name: string): void;
}

/**
 * Applies the missing migrations, each in its own transaction. Safe to call from several processes and while the database
 * is in use: waiting for a lock blocks other statements for at most a second. Kysely's Migrator runs all migrations in one
 * transaction or all of them without: a lock that is not granted would roll back the whole upgrade, or leave half of a file.
 * @returns the names of the migrations applied by this call
 * @throws UnsupportedDatabase, and when a migration fails (it is rolled back)
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<string[]> {
  const client = new Client({ connectionString: url, application_name: 'odograph-migrate' });
  await client.connect();
  let locked = false;
  try {
    const known = await readMigrations(options.directory ?? shipped);
    const migrations = options.only ? known.filter(({ name }) => options.only?.includes(name)) : known;
    // A service's role may only read the list of migrations.
    if (missingOf(migrations, await appliedMigrations(client)).length === 0) return [];
    await client.query('select pg_advisory_lock($1)', [advisoryLock]);
    locked = true;
    await client.query(`create table if not exists migration (
      name text primary key, sha256 text not null, applied_at timestamptz not null default now())`);
    const missing = missingOf(migrations, await appliedMigrations(client));
    for (const migration of missing) await applyMigration(client, migration, options);
    await recordSchemaObjects(client);
    return missing.map(({ name }) => name);
  } finally {
    if (locked) await client.query('select pg_advisory_unlock($1)', [advisoryLock]).catch(() => undefined);
    await client.end();
  }
}

/**
 * Finds the shipped migrations that a database lacks.
 * @returns their names
 * @throws UnsupportedDatabase
 */
export async function findMissingMigrations(url: string): Promise<string[]> {
  const client = new Client({ connectionString: url, application_name: 'odograph-migrate' });
  await client.connect();
  try {
    const missing = missingOf(await readMigrations(shipped), await appliedMigrations(client));
    return missing.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/** Finds names of numbered migrations that this version does not have. */
export async function findUnknownMigrations(names: readonly string[]): Promise<string[]> {
  return unknownOf(await readMigrations(shipped), names);
}

function unknownOf(migrations: readonly Migration[], names: readonly string[]): string[] {
  const known = new Set(migrations.map(({ name }) => name));
  // Earlier versions of the device models have other names; they do not make a database unsupported.
  return names.filter((name) => isNumbered(name) && !known.has(name)).sort();
}

/** @throws UnsupportedDatabase when the database is from before 0.1.0, or when a newer version migrated it */
function missingOf(migrations: readonly Migration[], applied: ReadonlyMap<string, string>): Migration[] {
  const isChanged = ({ name, sha256 }: Migration) => applied.has(name) && applied.get(name) !== sha256;
  if (isPrerelease([...applied.keys()]) || migrations.some(isChanged)) {
    throw new UnsupportedDatabase(
      'the database is from before 0.1.0, which cannot be upgraded, and neither can its backups: start with an empty database, or keep the version that made it',
    );
  }
  const unknown = unknownOf(migrations, [...applied.keys()]);
  if (unknown.length > 0) {
    throw new UnsupportedDatabase(
      `a newer version migrated the database: this one does not know ${unknown.join(', ')}; run the newer version, or restore the backup from before the upgrade`,
    );
  }
  return migrations.filter(({ name }) => !applied.has(name));
}
