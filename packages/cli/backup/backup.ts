import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { type ChainVerdict, verifyAudit } from '@odograph/database/audit';
import { type Database, openConnection } from '@odograph/database/database';
import { recordBackup } from '@odograph/database/installation';
import { describeUnreadable, kindsOfSealedValues, sealedValues } from '@odograph/database/sealed-values';
import { countUploadJobs } from '@odograph/queue/shards';
import type { Config } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { messageOf } from '@odograph/runtime/message-of';
import { platformVersion } from '@odograph/runtime/platform-version';
import { Sealer } from '@odograph/runtime/sealing';
import type { Client } from 'pg';
import type { Engines } from '../installation/engines.ts';
import { type ArchiveWriter, writeArchive } from './archive.ts';
import { encryptSecrets, formatVersion, type Manifest, schemaOf } from './manifest.ts';
import { beginSnapshot, dumpTable, listTables, readSequences } from './tables.ts';

/** Settings that hold secrets; a backup has them encrypted or not at all. */
const secretNames = [
  ...(['ENCRYPTION_KEYS', 'ADMIN_TOKEN', 'METRICS_TOKEN', 'REGISTRATION_PROVIDER_KEY'] as const),
  ...(['OIDC_CLIENT_SECRET', 'OIDC_PROVIDERS'] as const),
];
/** Settings that describe one host and contain passwords, or credentials of stores. */
const localNames = /_URL$|^DATA_DIR$|^AWS_/;

/** Selects the settings that a backup contains in plain text. */
export function plainSettings(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isPlain = ([name]: [string, unknown]) =>
    !localNames.test(name) && !secretNames.some((secret) => secret === name);
  return Object.fromEntries(Object.entries(settings).filter(isPlain));
}

/** Reads the secrets of an installation: settings, else the files of the data directory. */
async function readSecrets(config: Config): Promise<Record<string, string>> {
  const fromFile = async (name: string) => (await readFile(join(config.DATA_DIR, name), 'utf8').catch(() => '')).trim();
  const secrets = {
    ENCRYPTION_KEYS: config.ENCRYPTION_KEYS ?? (await fromFile('encryption-key')),
    ADMIN_TOKEN: config.ADMIN_TOKEN ?? (await fromFile('admin-token')),
    REGISTRATION_PROVIDER_KEY: config.REGISTRATION_PROVIDER_KEY ?? '',
  };
  return Object.fromEntries(Object.entries(secrets).filter(([, secret]) => secret !== ''));
}

/** Counts the jobs of acknowledged uploads that are not in the database yet; undefined when a Redis is unavailable. */
function countQueuedJobs(redisUrl: string, config: Config): Promise<number | undefined> {
  return countUploadJobs({ ...config, REDIS_URL: redisUrl }, createLogger('silent')).catch(() => undefined);
}

/** Returns the SHA-256 of a file in hexadecimal. Streams the file: readFile fails beyond 2 GiB. */
async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** Returns what must be the same in the original and in its copy. */
export function summarizeChain({ chain, length, head, fault }: ChainVerdict): Manifest['audit'][number] {
  return { chain, length, head, fault: fault?.reason ?? null };
}

/** Says whether the audit verifies. */
export function describeAudit(audit: Manifest['audit']): string {
  const faults = audit.flatMap(({ chain, fault }) =>
    fault === null ? [] : [`chain ${chain} does not verify: ${fault}`],
  );
  const entries = audit.reduce((sum, { length }) => sum + length, 0);
  return faults.length > 0 ? faults.join('; ') : `${entries} entries verified`;
}

/** Reads the cell number; 0 if the schema is from before cells. */
async function readCell(client: Client): Promise<number> {
  const { rows } = await client.query<{ cell: string | null }>(
    `select to_jsonb(installation) ->> 'cell' as cell from installation`,
  );
  return Number(rows[0]?.cell ?? 0);
}

async function dumpDatabase(
  client: Client,
  db: Database,
  archive: ArchiveWriter,
): Promise<Omit<Manifest, 'settings' | 'queuedJobs'>> {
  const { rows: migrations } = await client.query('select name, sha256 from migration order by name');
  const { rows: versions } = await client.query<{ postgres: string; timescale: string }>(
    `select current_setting('server_version') as postgres, extversion as timescale
     from pg_extension where extname = 'timescaledb'`,
  );
  const tables: Manifest['tables'] = [];
  for (const table of await listTables(client)) {
    let part = 0;
    const dumped = await dumpTable(client, table, async (rows) => {
      part += 1;
      await archive.add(`tables/${table.name}/${String(part).padStart(6, '0')}.copy.gz`, gzipSync(rows));
    });
    tables.push(dumped);
  }
  const audit = await verifyAudit(db);
  return {
    formatVersion,
    version: platformVersion(),
    createdAt: new Date().toISOString(),
    engine: { postgres: versions[0]?.postgres ?? '', timescaledb: versions[0]?.timescale ?? '' },
    migrations,
    tables,
    sequences: await readSequences(client),
    audit: audit.map(summarizeChain),
  };
}

/** The contents of a backup, for people. */
export interface BackupReport {
  file: string;
  version: string;
  schema: string;
  sha256: string;
  rows: number;
  audit: string;
  keys: string;
  /** Whether a passphrase was given and the included keys cannot decrypt everything. */
  lacksKeys: boolean;
  queued: string;
  /** Whether the backup is recorded in the database. */
  recorded: string;
}

interface Written extends Pick<BackupReport, 'keys' | 'lacksKeys'> {
  manifest: Manifest;
}

async function writeBackup(
  config: Config,
  engines: Pick<Engines, 'redisUrl'>,
  client: Client,
  db: Database,
  { file, passphrase }: { file: string; passphrase: string | undefined },
): Promise<Written> {
  return writeArchive(file, async (archive) => {
    // Counted before the snapshot: a job that finishes in between is counted although the backup has its uploads, never the
    // other way round.
    const queuedJobs = await countQueuedJobs(engines.redisUrl, config);
    await beginSnapshot(client);
    const dumped = await dumpDatabase(client, db, archive);
    const secrets = passphrase === undefined ? {} : await readSecrets(config);
    const lost = await findUnreadable(db, secrets['ENCRYPTION_KEYS']);
    await client.query('commit');
    // From the database, because the command may run without CELL.
    const settings = { ...plainSettings(config), CELL: await readCell(client) };
    const manifest = { ...dumped, settings, queuedJobs: queuedJobs ?? null };
    if (passphrase !== undefined) {
      await archive.add('keys.json', Buffer.from(JSON.stringify(encryptSecrets(secrets, passphrase))));
    }
    await archive.add('manifest.json', Buffer.from(JSON.stringify(manifest, null, 2)));
    const isEncrypted = passphrase !== undefined;
    return { manifest, keys: describeKeys(isEncrypted, lost), lacksKeys: isEncrypted && lost.length > 0 };
  });
}

/**
 * Writes a backup of the database in one consistent snapshot, with the settings and, given a passphrase, the keys.
 * The platform may run; on the embedded engine, statements wait until the snapshot is written.
 */
export async function createBackup(
  config: Config,
  engines: Pick<Engines, 'databaseUrl' | 'redisUrl'>,
  file: string,
  passphrase: string | undefined,
): Promise<BackupReport> {
  const { client, db } = await openConnection(engines.databaseUrl, 'backup');
  try {
    const writing = await writeBackup(config, engines, client, db, { file, passphrase });
    const { manifest, keys, lacksKeys } = writing;
    const schema = schemaOf(manifest);
    const recorded = await record(db, { bytes: (await stat(file)).size, schema });
    return {
      file,
      ...{ version: manifest.version, schema },
      sha256: await hashFile(file),
      rows: manifest.tables.reduce((sum, { rows }) => sum + rows, 0),
      audit: describeAudit(manifest.audit),
      ...{ keys, lacksKeys, queued: describeQueued(manifest.queuedJobs), recorded },
    };
  } finally {
    await client.end();
  }
}

/** Finds the values that cannot be decrypted after a restore with the given ENCRYPTION_KEYS, if any. */
async function findUnreadable(db: Database, keys: string | undefined): Promise<string[]> {
  const lost: string[] = [];
  for (const kind of kindsOfSealedValues) {
    const keyIds = keys === undefined ? [] : new Sealer(keys.split(','), sealedValues[kind].purpose).keyIds;
    const values = await describeUnreadable(db, kind, keyIds);
    if (values !== undefined) lost.push(values);
  }
  return lost;
}

/** Says whether the keys are included, and which values the restored database cannot decrypt with them. */
function describeKeys(areIncluded: boolean, lost: readonly string[]): string {
  const consequence = `the restored database cannot read ${lost.join(', ')}`;
  if (areIncluded) {
    return lost.length === 0 ? 'encrypted' : `encrypted, but incomplete: set all ENCRYPTION_KEYS, or ${consequence}`;
  }
  const reason = lost.length === 0 ? 'no encrypted values are stored yet' : `without ENCRYPTION_KEYS ${consequence}`;
  return `not included: ${reason}; keep them elsewhere, or give --passphrase-file`;
}

/** Records a backup for /metrics and doctor. The backup is valid even if the role may not record it. */
async function record(db: Database, backup: { bytes: number; schema: string }): Promise<string> {
  return recordBackup(db, backup).then(
    () => 'in the database',
    (error: unknown) => `not in the database: ${messageOf(error)}`,
  );
}

/** Says how many acknowledged uploads a backup lacks. */
export function describeQueued(jobs: number | null): string {
  if (jobs === null) return 'unknown: Redis was not reachable';
  return jobs === 0
    ? 'none'
    : `up to ${jobs} batches of acknowledged uploads were in the queue and are not in this backup`;
}
