import { createHash, type Hash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { verifyAudit } from '@odograph/database/audit';
import { type Database, openConnection } from '@odograph/database/database';
import { migrate } from '@odograph/database/migrate';
import type { Config } from '@odograph/runtime/config';
import type { Client } from 'pg';
import Value from 'typebox/value';
import type { Engines } from '../engines.ts';
import { readArchive } from './archive.ts';
import { describeAudit, describeQueued, plainSettings, summarizeChain } from './backup.ts';
import { Manifest } from './manifest.ts';
import { decryptSecrets, EncryptedSecrets } from './secrets.ts';
import { countRows, listTables, loadPart, writeSequences } from './tables.ts';

/** Tables that an installation fills by its use; rows in one of them mean that it is not empty. */
const usedTables = ['application', 'vehicle', 'device', 'reading', 'quarantine', 'audit'];
const partName = /^tables\/([^/]+)\/\d+\.copy\.gz$/;

interface Inspected {
  manifest: Manifest;
  keys: EncryptedSecrets | undefined;
}

/**
 * Reads a backup once and checks it against its manifest, before anything is restored.
 * @throws Error when it is incomplete or was changed
 */
async function inspectBackup(file: string): Promise<Inspected> {
  const hashes = new Map<string, Hash>();
  let manifest: unknown;
  let keys: unknown;
  for await (const { name, content } of readArchive(file)) {
    const table = partName.exec(name)?.[1];
    if (table !== undefined) {
      const hash = hashes.get(table) ?? createHash('sha256');
      hashes.set(table, hash.update(gunzipSync(content)));
    } else if (name === 'manifest.json') manifest = JSON.parse(content.toString('utf8'));
    else if (name === 'keys.json') keys = JSON.parse(content.toString('utf8'));
  }
  if (!Value.Check(Manifest, manifest)) throw new Error(`${file} is not a complete backup of this version`);
  for (const { name, sha256 } of manifest.tables) {
    const found = (hashes.get(name) ?? createHash('sha256')).digest('hex');
    if (found !== sha256) throw new Error(`${file} is damaged: table ${name} differs from its SHA-256`);
  }
  return { manifest, keys: Value.Check(EncryptedSecrets, keys) ? keys : undefined };
}

/** @throws Error when the schema differs from that of the backup, or the installation is in use */
async function checkTarget(client: Client, manifest: Manifest): Promise<void> {
  const { rows: migrations } = await client.query('select name, sha256 from migration order by name');
  const tables = await listTables(client);
  const described = manifest.tables.map(({ name, columns }) => ({ name, columns }));
  if (!isDeepStrictEqual(migrations, manifest.migrations) || !isDeepStrictEqual(tables, described)) {
    throw new Error('the backup is of another version: install that version, restore, then upgrade');
  }
  const { rows: sessions } = await client.query<{ name: string }>(
    `select distinct application_name as name from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and application_name like 'odograph%'`,
  );
  if (sessions.length > 0) throw new Error(`stop the platform first: ${sessions.map(({ name }) => name).join(', ')}`);
  for (const name of usedTables) {
    if ((await countRows(client, { name, columns: [] })) > 0) {
      throw new Error(`the installation is not empty: table ${name} has rows`);
    }
  }
}

/** @throws Error when the restored rows or the audit differ from the backup */
async function verifyRestored(client: Client, db: Database, manifest: Manifest): Promise<void> {
  for (const table of manifest.tables) {
    const rows = await countRows(client, table);
    if (rows !== table.rows) throw new Error(`table ${table.name} has ${rows} rows instead of ${table.rows}`);
  }
  const audit = (await verifyAudit(db)).map(summarizeChain);
  if (!isDeepStrictEqual(audit, manifest.audit)) throw new Error('the audit differs from that of the backup');
}

async function restoreDatabase(url: string, file: string, manifest: Manifest): Promise<void> {
  await migrate(url);
  const { client, db } = await openConnection(url, 'restore');
  try {
    await checkTarget(client, manifest);
    await loadTables(client, db, file, manifest);
  } finally {
    await client.end();
  }
}

/** Switches the triggers that write events: a restored row is no change, and its event is restored too. */
async function setEventTriggers(client: Client, state: 'enable' | 'disable'): Promise<void> {
  await client.query(`do $$
    declare one record;
    begin
      for one in select tgrelid::regclass as owner, tgname from pg_trigger where not tgisinternal and tgname like 'event\\_%' loop
        execute format('alter table %s ${state} trigger %I', one.owner, one.tgname);
      end loop;
    end $$`);
}

async function loadTables(client: Client, db: Database, file: string, manifest: Manifest): Promise<void> {
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
    await verifyRestored(client, db, manifest);
    await writeSequences(client, manifest.sequences);
    await client.query('select restart_change_feed()');
    await client.query('update installation set restoring_since = null');
    await client.query('commit');
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
  const names = Object.keys(manifest.settings).filter(
    (name) => !isDeepStrictEqual(manifest.settings[name], here[name]),
  );
  return Object.fromEntries(names.map((name) => [name, { backup: manifest.settings[name], here: here[name] }]));
}

/** What was restored, for people. */
export interface RestoreReport {
  createdAt: string;
  rows: number;
  audit: string;
  keys: string;
  queued: string;
  settings: Record<string, { backup: unknown; here: unknown }>;
  changeFeed: string;
}

/**
 * Restores a backup into an empty installation in one transaction, with the platform stopped.
 * @param passphrase decrypts the keys; without it they are not restored
 * @throws Error when the file is damaged, of another version, or the installation is not empty; nothing is changed then
 */
export async function restoreBackup(
  config: Config,
  engines: Pick<Engines, 'databaseUrl'>,
  file: string,
  passphrase: string | undefined,
): Promise<RestoreReport> {
  const { manifest, keys } = await inspectBackup(file);
  const secrets = keys !== undefined && passphrase !== undefined ? decryptSecrets(keys, passphrase) : undefined;
  await restoreDatabase(engines.databaseUrl, file, manifest);
  const withoutKeys = keys === undefined ? 'not in the backup' : 'not restored: give --passphrase-file';
  return {
    createdAt: manifest.createdAt,
    rows: manifest.tables.reduce((sum, { rows }) => sum + rows, 0),
    audit: describeAudit(manifest.audit),
    keys: secrets === undefined ? withoutKeys : await installSecrets(config, secrets),
    queued: describeQueued(manifest.queuedJobs),
    settings: settingsThatDiffer(config, manifest),
    changeFeed: 'readers of /v1/x/changes get EXPIRED and start without `after`',
  };
}
