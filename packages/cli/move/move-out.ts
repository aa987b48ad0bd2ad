import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { deviceRevokedChannel } from '@odograph/contracts/presence';
import { appendAudit } from '@odograph/database/audit';
import { type Database, openConnection } from '@odograph/database/database';
import { hasUpload } from '@odograph/queue/shards';
import type { Config } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { readEncryptionKeys, Sealer } from '@odograph/runtime/sealing';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { findPresent } from '@odograph/sessions/presence';
import type { Client } from 'pg';
import { encryptSecrets } from '../backup/manifest.ts';
import { beginSnapshot, type DumpedTable, dumpTable } from '../backup/tables.ts';
import type { Engines } from '../installation/engines.ts';
import {
  type ApplicationTable,
  disableTriggers,
  fileName,
  listApplicationTables,
  type MoveManifest,
  manifestName,
  readSchema,
  removeRows,
  resealValues,
  sealedTables,
} from './tables.ts';

const compress = promisify(gzip);

/** The state of the last move of an application, as recorded in this cell. */
export interface Move {
  readonly applicationId: number;
  readonly state: 'leaving' | 'left' | 'purged' | 'arriving' | 'arrived';
  readonly moveId: string | null;
  readonly receipt: string | null;
  readonly release: string | null;
  readonly releaseSha256: Buffer | null;
}

/** Runs statements in a transaction. */
export async function inTransaction<Result>(client: Client, run: () => Promise<Result>): Promise<Result> {
  await client.query('begin');
  try {
    const result = await run();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

const lockClass = 7_305_116;

/** Opens a connection that locks the application, so that one command at a time moves it; closing it releases the lock. */
export async function openMove(databaseUrl: string, appId: string): ReturnType<typeof openConnection> {
  const connection = await openConnection(databaseUrl, 'move');
  const { rows } = await connection.client.query<{ locked: boolean }>(
    'select pg_try_advisory_lock($1, hashtext($2)) as locked',
    [lockClass, appId],
  );
  if (rows[0]?.locked) return connection;
  await connection.client.end();
  throw new Error(`another command is moving ${appId}`);
}

/** Reads the last move of an application; undefined without one. */
export async function findMove(client: Client, appId: string): Promise<Move | undefined> {
  const { rows } = await client.query<Move>(
    `select application_id as "applicationId", state, move_id as "moveId", receipt, release,
       release_sha256 as "releaseSha256" from application_move where app_id = $1`,
    [appId],
  );
  return rows[0];
}

/** Records a step of a move in the audit of the installation. */
export const auditMove = (db: Database, action: string, appId: string, outcome: string): Promise<void> =>
  appendAudit(db, { chain: 0, actor: 'operator', address: '', action, subject: `application:${appId}`, outcome });

/** Refuses devices and changes of an application from now on. Waits for the transactions that are changing it. */
async function markLeaving(client: Client, db: Database, appId: string): Promise<number> {
  return inTransaction(client, async () => {
    const { rows } = await client.query<{ id: number }>(
      'select id from application where app_id = $1 and deleted_at is null for update',
      [appId],
    );
    const id = rows[0]?.id;
    if (id === undefined) throw new Error(`there is no application ${appId}`);
    const move = await findMove(client, appId);
    if (move?.state === 'left' || move?.state === 'arriving') throw new Error(`${appId} is ${move.state}, not active`);
    if (move?.state === 'leaving') return id;
    await client.query('update application set moving_since = now() where id = $1', [id]);
    await client.query('delete from application_move where application_id = $1', [id]);
    await client.query(`insert into application_move (application_id, app_id, state) values ($1, $2, 'leaving')`, [
      id,
      appId,
    ]);
    await auditMove(db, 'application.move-out', appId, 'leaving');
    return id;
  });
}

interface Waiting {
  readonly config: Config & { REDIS_URL: string };
  readonly client: Client;
  readonly redis: Redis;
  readonly applicationId: number;
}

/** Returns what the application still waits for; undefined when nothing of it is in flight. */
async function findWork({ config, client, redis, applicationId }: Waiting): Promise<string | undefined> {
  const { rows: devices } = await client.query<{ id: string }>('select id from device where application_id = $1', [
    applicationId,
  ]);
  const ids = new Set(devices.map(({ id }) => id));
  const present = await findPresent(redis, config.QUEUE_PREFIX, [...ids]);
  for (const id of present) await redis.publish(deviceRevokedChannel(config.QUEUE_PREFIX), id);
  if (present.size > 0) return `the sessions of ${present.size} devices`;
  const isOwn = (upload: { deviceId: string; applicationId?: number }) =>
    upload.applicationId === applicationId || ids.has(upload.deviceId);
  if (await hasUpload(config, createLogger('silent'), isOwn)) return 'uploads to be stored';
  const { rows } = await client.query<{ commands: boolean; trips: boolean }>(
    `select exists (select from command where application_id = $1 and state in ('pending', 'sent')) as commands,
       exists (select from trip_touched
         where vehicle_ids && array(select id from vehicle where application_id = $1)) as trips`,
    [applicationId],
  );
  if (rows[0]?.commands) return 'commands to end';
  return rows[0]?.trips ? 'trips to be computed' : undefined;
}

const pollMs = 1000;

/** Waits until two polls in a row find nothing: an upload may be between two queues. */
async function awaitIdle(waiting: Waiting, report: (text: string) => void): Promise<void> {
  let said: string | undefined;
  for (let idlePolls = 0; idlePolls < 2; await delay(pollMs)) {
    const work = await findWork(waiting);
    idlePolls = work === undefined ? idlePolls + 1 : 0;
    if (work !== undefined && work !== said) report(`waiting for ${work}`);
    said = work;
  }
}

interface Files {
  readonly directory: string;
  readonly report: (text: string) => void;
}

type TableFiles = MoveManifest['tables'][number];

async function writeTable(client: Client, table: ApplicationTable, { directory, report }: Files): Promise<TableFiles> {
  let files = 0;
  const condition = `${table.condition}${table.order}`;
  const write = async (part: Buffer): Promise<void> => {
    files += 1;
    const content = await compress(part, { level: 1 });
    await writeFile(join(directory, fileName(table.name, files)), content, { mode: 0o600, flush: true });
    if (table.name === 'reading') report(`${files} files of readings`);
  };
  const { name, rows, sha256 }: DumpedTable = await dumpTable(client, table, write, condition);
  return { name, rows, sha256, files };
}

/** Writes the tables with sealed values, resealed under the key of the files, and rolls the changes back. */
async function writeSealed(
  client: Client,
  tables: readonly ApplicationTable[],
  files: Files & { keys: readonly string[]; key: string },
): Promise<TableFiles[]> {
  await client.query('begin');
  try {
    await disableTriggers(client);
    await resealValues(client, tables, (purpose) => ({
      from: new Sealer(files.keys, purpose),
      to: new Sealer([files.key], purpose),
    }));
    const written: TableFiles[] = [];
    for (const table of tables) if (sealedTables.has(table.name)) written.push(await writeTable(client, table, files));
    return written;
  } finally {
    await client.query('rollback').catch(() => undefined);
  }
}

/** The position of the snapshot in the history of this cell. */
interface Snapshot extends Pick<MoveManifest, 'cell' | 'feedEpoch' | 'transaction' | 'countedUntil' | 'migrations'> {
  readonly snapshot: string;
}

async function readSnapshot(client: Client): Promise<Snapshot> {
  const { rows } = await client.query<Snapshot>(`select cell, feed_epoch as "feedEpoch",
      pg_snapshot_xmax(pg_current_snapshot())::text::bigint as transaction, pg_current_snapshot()::text as snapshot,
      (select counted_until::text from reading_settlement) as "countedUntil" from installation`);
  if (!rows[0]) throw new Error('the table installation is empty');
  return { ...rows[0], migrations: await readSchema(client) };
}

/** Writes all rows of an application, the manifest last, and stores the release. */
async function writeFiles(
  client: Client,
  { applicationId, appId }: { applicationId: number; appId: string },
  { passphrase, ...files }: Files & { passphrase: string; keys: readonly string[] },
): Promise<MoveManifest> {
  const [key, receipt, release, moveId] = [createSecret(), createSecret(), createSecret(), randomUUID()];
  const tables = await listApplicationTables(client, applicationId);
  const written = await writeSealed(client, tables, { ...files, key });
  await beginSnapshot(client);
  const { snapshot, ...state } = await readSnapshot(client);
  for (const table of tables) if (!sealedTables.has(table.name)) written.push(await writeTable(client, table, files));
  await client.query('commit');
  const quarantined = written.find(({ name }) => name === 'quarantine')?.rows ?? 0;
  await client.query(
    `update application_move set move_id = $2, receipt = $3, release = $4, snapshot = $5, quarantined = $6
     where application_id = $1 and state = 'leaving'`,
    [applicationId, moveId, receipt, release, snapshot, quarantined],
  );
  const manifest: MoveManifest = {
    formatVersion: 1,
    ...{ moveId, applicationId, appId, createdAt: new Date().toISOString() },
    ...{ ...state, tables: tables.map(({ name }) => written.find((one) => one.name === name) as TableFiles) },
    releaseSha256: hashSecret(release).toString('hex'),
    secrets: encryptSecrets({ key, receipt }, passphrase),
  };
  const path = join(files.directory, manifestName);
  await writeFile(`${path}.unfinished`, JSON.stringify(manifest, null, 2), { mode: 0o600, flush: true });
  await rename(`${path}.unfinished`, path);
  return manifest;
}

const connectMs = 10_000;

/** The options of a move out of this cell. */
export interface MoveOut {
  readonly appId: string;
  readonly directory: string;
  /** Encrypts the key of the sealed values. */
  readonly passphrase: string;
  readonly report: (text: string) => void;
}

/**
 * Stops an application, waits until nothing of it is in flight, and writes its rows to a directory. Repeat it after an
 * interruption; cancelMove makes the application active again.
 * @throws Error when the application is not active here, or the directory holds the files of a move
 */
export async function moveOut(config: Config, engines: Engines, options: MoveOut): Promise<object> {
  const { appId, directory, report } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (existsSync(join(directory, manifestName))) throw new Error(`${directory} holds an application: name another one`);
  const redis = connectRedis(engines.redisUrl, createLogger('silent'));
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(connectMs) });
    const { client, db } = await openMove(engines.databaseUrl, appId);
    try {
      const applicationId = await markLeaving(client, db, appId);
      await awaitIdle({ config: { ...config, REDIS_URL: engines.redisUrl }, client, redis, applicationId }, report);
      const keys = await readEncryptionKeys(config);
      // Without a key nothing is sealed.
      const files = { ...options, keys: keys.length > 0 ? keys : [randomBytes(32).toString('hex')] };
      const manifest = await writeFiles(client, { applicationId, appId }, files);
      const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
      const readings = manifest.tables.find(({ name }) => name === 'reading')?.rows ?? 0;
      return { appId, directory, moveId: manifest.moveId, rows, readings };
    } finally {
      await client.end();
    }
  } finally {
    redis.disconnect();
  }
}

/**
 * Gives an application up for good. Repeatable.
 * @param receipt proves that the other cell has loaded it
 * @returns the release, with which the other cell activates it
 * @throws Error for another receipt, and when something was stored after the files were written
 */
export async function handOver(databaseUrl: string, appId: string, receipt: string): Promise<object> {
  const { client, db } = await openMove(databaseUrl, appId);
  try {
    return await inTransaction(client, async () => {
      const move = await findMove(client, appId);
      if (move?.receipt == null || move.receipt !== receipt)
        throw new Error('this is not the receipt of the last files');
      if (move.state !== 'leaving') return { appId, release: move.release };
      const { rows } = await client.query<{ changed: boolean }>(
        `select exists (select from reading_change where application_id = $1
             and not pg_visible_in_snapshot(transaction_id, snapshot))
           or (select count(*) from quarantine where application_id = $1 or application_id is null
             and device_id in (select id from device where application_id = $1)) > quarantined as changed
         from application_move where application_move.application_id = $1`,
        [move.applicationId],
      );
      if (rows[0]?.changed !== false) {
        throw new Error(
          'uploads were stored after the files were written: cancel-move in both cells, then move-out again',
        );
      }
      await client.query(`update application_move set state = 'left' where application_id = $1`, [move.applicationId]);
      await client.query('update session set revoked_at = now() where application_id = $1 and revoked_at is null', [
        move.applicationId,
      ]);
      await auditMove(db, 'application.hand-over', appId, 'left');
      return { appId, release: move.release };
    });
  } finally {
    await client.end();
  }
}

/** Keeps the row of a purged application: operators who are limited to it remain so if it returns. */
async function keepTombstone(client: Client, appId: string): Promise<void> {
  await client.query('update application set deleted_at = coalesce(deleted_at, now()) where app_id = $1', [appId]);
  await client.query(`update application_move set state = 'purged' where app_id = $1`, [appId]);
}

/** Deletes what an application that was handed over has left here. Repeatable, also after an interruption. */
export async function purgeMoved(databaseUrl: string, appId: string): Promise<object> {
  const { client, db } = await openMove(databaseUrl, appId);
  try {
    const move = await findMove(client, appId);
    if (move?.state !== 'left' && move?.state !== 'purged')
      throw new Error(`${appId} was not handed over by this cell`);
    await removeRows(client, move.applicationId);
    await inTransaction(client, async () => {
      await disableTriggers(client);
      await keepTombstone(client, appId);
      await auditMove(db, 'application.purge', appId, 'purged');
    });
    return { appId };
  } finally {
    await client.end();
  }
}

/**
 * Cancels a move: before hand-over, the source has the application active again; before the activation, the target deletes
 * what it has loaded. Repeatable after an interruption.
 */
export async function cancelMove(databaseUrl: string, appId: string): Promise<object> {
  const { client, db } = await openMove(databaseUrl, appId);
  try {
    const move = await findMove(client, appId);
    const isLeaving = move?.state === 'leaving';
    if (move === undefined || (!isLeaving && move.state !== 'arriving')) {
      throw new Error(`${appId} is not being moved here, or it was handed over already`);
    }
    if (!isLeaving) await removeRows(client, move.applicationId);
    await inTransaction(client, async () => {
      await disableTriggers(client);
      if (isLeaving) {
        await client.query('update application set moving_since = null where app_id = $1', [appId]);
        await client.query('delete from application_move where app_id = $1', [appId]);
      } else await keepTombstone(client, appId);
      await auditMove(db, 'application.cancel-move', appId, isLeaving ? 'active' : 'removed');
    });
    return { appId, active: isLeaving };
  } finally {
    await client.end();
  }
}
