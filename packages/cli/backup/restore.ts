import { createHash, type Hash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { verifyAudit } from '@odograph/database/audit';
import { type Database, openConnection } from '@odograph/database/database';
import {
  findUnknownMigrations,
  isNumbered,
  isPrerelease,
  migrate,
  UnsupportedDatabase,
} from '@odograph/database/migrate';
import type { Config } from '@odograph/runtime/config';
import { messageOf } from '@odograph/runtime/message-of';
import { platformVersion } from '@odograph/runtime/platform-version';
import { Settings } from '@odograph/runtime/settings';
import type { Client } from 'pg';
import Value from 'typebox/value';
import type { Engines } from '../installation/engines.ts';
import { type ArchiveEntry, readArchive } from './archive.ts';
import { describeAudit, describeQueued, plainSettings, summarizeChain } from './backup.ts';
import { decryptSecrets, EncryptedSecrets, Manifest, schemaOf } from './manifest.ts';
import { countRows, listTables, loadPart, readSequences, writeSequences } from './tables.ts';

/** Tables that an installation fills by its use; rows in one of them mean that it is not empty. */
const usedTables = ['application', 'vehicle', 'device', 'reading', 'quarantine', 'audit'];

/** @throws Error when the platform runs, or the installation is in use */
async function checkUnused(client: Client): Promise<void> {
  const { rows: sessions } = await client.query<{ name: string }>(
    `select distinct application_name as name from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and application_name like 'odograph%'`,
  );
  if (sessions.length > 0) throw new Error(`stop the platform first: ${sessions.map(({ name }) => name).join(', ')}`);
  const { rows: tables } = await client.query<{ name: string }>(
    `select name from unnest($1::text[]) as name where to_regclass('public.' || name) is not null`,
    [usedTables],
  );
  for (const { name } of tables) {
    if ((await countRows(client, { name, columns: [] })) > 0) {
      throw new Error(`the installation is not empty: table ${name} has rows`);
    }
  }
}

/**
 * Migrates an empty database to the schema of a backup.
 * @returns the manifest without tables and sequences that do not belong to the platform
 * @throws Error when its schema differs
 */
async function migrateToBackup(url: string, client: Client, whole: Manifest): Promise<Manifest> {
  const migrations = whole.migrations.map(({ name }) => name);
  await migrate(url, { only: migrations }).catch((cause: unknown) => {
    if (!(cause instanceof UnsupportedDatabase)) throw cause;
    const advice = 'restore into a new database, which is migrated after it';
    throw new Error(`the database is not at schema ${schemaOf(whole)}, as the backup is: ${advice}`, { cause });
  });
  const { rows } = await client.query<{ name: string; sha256: string }>('select name, sha256 from migration');
  const hashes = new Map(rows.map(({ name, sha256 }) => [name, sha256]));
  const [tables, sequences] = [await listTables(client), await readSequences(client)];
  const isIn = (known: readonly { name: string }[]) => (given: { name: string }) =>
    known.some(({ name }) => name === given.name);
  const manifest = {
    ...whole,
    tables: whole.tables.filter(isIn(tables)),
    sequences: whole.sequences.filter(isIn(sequences)),
  };
  const described = manifest.tables.map(({ name, columns }) => ({ name, columns }));
  const isSame = ({ name, sha256 }: { name: string; sha256: string }) => hashes.get(name) === sha256;
  const isWhole = manifest.migrations.filter(({ name }) => isNumbered(name)).every(isSame);
  if (!isWhole || !isDeepStrictEqual(tables, described)) {
    throw new Error('the backup is from before 0.1.0, which cannot be restored by this version');
  }
  return manifest;
}

/**
 * Compares the restored rows and the audit with the backup.
 * @returns the chains of the audit; one that does not verify is restored as it is
 * @throws Error when rows are missing, or when the audit verifies but differs from the backup
 */
async function verifyRestored(client: Client, db: Database, manifest: Manifest): Promise<Manifest['audit']> {
  for (const table of manifest.tables) {
    const rows = await countRows(client, table);
    if (rows !== table.rows) throw new Error(`table ${table.name} has ${rows} rows instead of ${table.rows}`);
  }
  const audit = (await verifyAudit(db)).map(summarizeChain);
  if (audit.every(({ fault }) => fault === null) && !isDeepStrictEqual(audit, manifest.audit)) {
    throw new Error('the audit differs from that of the backup');
  }
  return audit;
}

/** Loads a backup at its own schema, then migrates to that of this version. */
async function restoreDatabase(
  url: string,
  file: string,
  whole: Manifest,
): Promise<{ manifest: Manifest; audit: Manifest['audit']; applied: string[] }> {
  const { client, db } = await openConnection(url, 'restore');
  try {
    await checkUnused(client);
    const manifest = await migrateToBackup(url, client, whole);
    const audit = await loadTables(client, db, file, manifest);
    const applied = await migrate(url);
    return { manifest, audit, applied };
  } finally {
    await client.end();
  }
}

/** Enables or disables the triggers that write events, refuse changes or derive access: their effects are restored as rows. */
async function setEventTriggers(client: Client, state: 'enable' | 'disable'): Promise<void> {
  await client.query(`do $$
    declare one record;
    begin
      for one in select tgrelid::regclass as owner, tgname from pg_trigger
          where not tgisinternal and (tgname like 'event\\_%' or tgname = 'refuse_while_moving'
            or tgname like 'refresh\\_vehicle\\_access%') loop
        execute format('alter table %s ${state} trigger %I', one.owner, one.tgname);
      end loop;
    end $$`);
}

async function loadTables(client: Client, db: Database, file: string, manifest: Manifest): Promise<Manifest['audit']> {
  try {
    // Committed before, so that the platform does not start on the empty database that an interrupted restore leaves.
    await client.query('update installation set restoring_since = now()');
    await client.query('begin');
    await setEventTriggers(client, 'disable');
    for (const { name } of manifest.tables.toReversed()) await client.query(`delete from public."${name}"`);
    for await (const { name, content } of readArchive(file)) {
      const table = manifest.tables.find((one) => one.name === partName.exec(name)?.[1]);
      if (table) await loadPart(client, table, gunzipSync(content));
    }
    await setEventTriggers(client, 'enable');
    const audit = await verifyRestored(client, db, manifest);
    await writeSequences(client, manifest.sequences);
    await client.query('select restart_change_feed()');
    const { CELL: cell = 0 } = manifest.settings;
    // Makes the next migration overwrite the device models of the backup with those of this version.
    await client.query(`delete from migration where name like 'device\\_models\\_%' and name <> all ($1)`, [
      manifest.migrations.map(({ name }) => name),
    ]);
    // Otherwise the restored sequences would generate ids of another cell.
    const hasCell = manifest.migrations.some(({ name }) => name === '0012_cells.sql');
    if (hasCell) await client.query('update installation set cell = $1', [cell]);
    await client.query('update installation set restoring_since = null');
    await client.query('commit');
    return audit;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    await client.query('update installation set restoring_since = null').catch(() => undefined);
    throw error;
  }
}

/** Writes the restored keys where the platform looks for them, unless settings take precedence. */
async function installSecrets(config: Config, secrets: Record<string, string>): Promise<string> {
  await mkdir(config.DATA_DIR, { recursive: true });
  const environment = join(config.DATA_DIR, 'restored-keys.env');
  const lines = Object.entries(secrets).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(environment, lines.join(''), { mode: 0o600 });
  const { ENCRYPTION_KEYS: keys, ADMIN_TOKEN: adminToken } = secrets;
  const isOneKey = keys !== undefined && !keys.includes(',');
  if (isOneKey) await writeFile(join(config.DATA_DIR, 'encryption-key'), `${keys}\n`, { mode: 0o600 });
  if (adminToken !== undefined)
    await writeFile(join(config.DATA_DIR, 'admin-token'), `${adminToken}\n`, { mode: 0o600 });
  const mustSet = config.ENCRYPTION_KEYS !== undefined ? config.ENCRYPTION_KEYS !== keys : !isOneKey;
  return mustSet ? `set ENCRYPTION_KEYS as in ${environment} before starting` : `restored; also in ${environment}`;
}

function settingsThatDiffer(config: Config, manifest: Manifest): Record<string, { backup: unknown; here: unknown }> {
  const here = plainSettings(config);
  // Backups by earlier versions contain further settings, secrets included, which must not be printed.
  const settings = Object.entries(plainSettings(manifest.settings));
  return Object.fromEntries(
    settings.flatMap(([name, backup]) =>
      name in Settings.properties && !isDeepStrictEqual(backup, here[name])
        ? [[name, { backup, here: here[name] }]]
        : [],
    ),
  );
}

/** The result of a restore, for people. */
interface RestoreReport {
  createdAt: string;
  version: string;
  schema: string;
  /** Migrations from the schema of the backup to that of this version. */
  applied: string[];
  rows: number;
  /** Tables in the backup that do not belong to the platform. */
  leftOut: string[];
  audit: string;
  isAuditIntact: boolean;
  keys: string;
  queued: string;
  settings: Record<string, { backup: unknown; here: unknown }>;
  changeFeed: string;
}

/**
 * Restores a backup into an empty installation in one transaction, with the platform stopped.
 * @param passphrase decrypts the keys; without it they are not restored
 * @throws Error when the file is damaged or of a newer version, or the installation is not empty; nothing is changed then
 */
export async function restoreBackup(
  config: Config,
  engines: Pick<Engines, 'databaseUrl'>,
  file: string,
  passphrase: string | undefined,
): Promise<RestoreReport> {
  const { manifest: whole, keys } = await inspectBackup(file);
  const secrets = keys !== undefined && passphrase !== undefined ? decryptSecrets(keys, passphrase) : undefined;
  const { manifest, audit, applied } = await restoreDatabase(engines.databaseUrl, file, whole);
  const withoutKeys = keys === undefined ? 'not in the backup' : 'not restored: give --passphrase-file';
  return {
    ...{ createdAt: manifest.createdAt, version: manifest.version, schema: schemaOf(manifest), applied },
    rows: manifest.tables.reduce((sum, { rows }) => sum + rows, 0),
    leftOut: whole.tables.filter((table) => !manifest.tables.includes(table)).map(({ name }) => name),
    audit: describeAudit(audit),
    isAuditIntact: audit.every(({ fault }) => fault === null),
    keys: secrets === undefined ? withoutKeys : await installSecrets(config, secrets),
    queued: describeQueued(manifest.queuedJobs),
    settings: settingsThatDiffer(config, manifest),
    changeFeed: 'readers of /v1/x/changes get EXPIRED and start without `after`',
  };
}

/** The name of an entry that holds rows of a table. */
const partName = /^tables\/([^/]+)\/\d+\.copy\.gz$/;

/** The rows of a table as they were found. */
interface FoundTable {
  hash: Hash;
  /** Offset of its first entry in the file. */
  byteOffset: number;
}

interface Content {
  tables: ReadonlyMap<string, FoundTable>;
  manifest: unknown;
  keys: EncryptedSecrets | undefined;
  lastEntry: string;
}

/** Parses an entry. @throws Error that names it, when it was changed */
function parseEntry<Result>(
  file: string,
  { name, content, byteOffset }: ArchiveEntry,
  parse: (content: Buffer) => Result,
): Result {
  try {
    return parse(content);
  } catch (cause) {
    const reason = messageOf(cause);
    throw new Error(`${file} is damaged in ${name}, which begins at byte ${byteOffset}: ${reason}`, { cause });
  }
}

const parseJson = (content: Buffer): unknown => JSON.parse(content.toString('utf8'));

async function readContent(file: string): Promise<Content> {
  const tables = new Map<string, FoundTable>();
  const content: Omit<Content, 'tables'> = { manifest: undefined, keys: undefined, lastEntry: 'its beginning' };
  for await (const entry of readArchive(file)) {
    const { name, byteOffset } = entry;
    const table = partName.exec(name)?.[1];
    if (table !== undefined) {
      const found = tables.get(table) ?? { hash: createHash('sha256'), byteOffset };
      parseEntry(file, entry, (rows) => found.hash.update(gunzipSync(rows)));
      tables.set(table, found);
    } else if (name === 'manifest.json') content.manifest = parseEntry(file, entry, parseJson);
    else if (name === 'keys.json') {
      content.keys = parseEntry(file, entry, (json) => Value.Parse(EncryptedSecrets, parseJson(json)));
    }
    content.lastEntry = name;
  }
  return { ...content, tables };
}

/** @throws Error when this version cannot read the manifest */
function checkManifest(file: string, { manifest, lastEntry }: Content): Manifest {
  if (manifest === undefined) {
    throw new Error(`${file} is not a complete backup: it ends after ${lastEntry}, without manifest.json`);
  }
  if (Value.Check(Manifest, manifest)) return manifest;
  const [fault] = Value.Errors(Manifest, manifest);
  throw new Error(`${file} cannot be restored by this version: manifest.json${fault?.instancePath} ${fault?.message}`);
}

/** @throws Error that names a table whose rows differ from the manifest */
function checkTables(file: string, { tables }: Content, manifest: Manifest): void {
  for (const { name, sha256 } of manifest.tables) {
    const found = tables.get(name);
    if ((found?.hash ?? createHash('sha256')).digest('hex') === sha256) continue;
    const place = found === undefined ? 'has no entry' : `begins at byte ${found.byteOffset}`;
    throw new Error(`${file} is damaged: table ${name}, which ${place}, differs from its SHA-256`);
  }
}

/** @throws Error when a version before 0.1.0 or a newer one made the backup */
async function checkVersion(file: string, manifest: Manifest): Promise<void> {
  const names = manifest.migrations.map(({ name }) => name);
  if (isPrerelease(names)) throw new Error(`${file} is from before 0.1.0, which cannot be restored by this version`);
  const unknown = await findUnknownMigrations(names);
  if (unknown.length === 0) return;
  const own = `${file} is of version ${manifest.version} with schema ${schemaOf(manifest)}`;
  throw new Error(`${own}, which is newer than this version, ${platformVersion()}: restore it with that version`);
}

/**
 * Reads a backup once and checks it against its manifest, before anything is restored.
 * @throws Error that names what is missing, damaged or of a newer version
 */
async function inspectBackup(file: string): Promise<{ manifest: Manifest; keys: EncryptedSecrets | undefined }> {
  const content = await readContent(file);
  const manifest = checkManifest(file, content);
  checkTables(file, content, manifest);
  await checkVersion(file, manifest);
  return { manifest, keys: content.keys };
}
