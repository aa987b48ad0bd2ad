import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Database } from '@odograph/database/database';
import type { Config } from '@odograph/runtime/config';
import { readEncryptionKeys, Sealer } from '@odograph/runtime/sealing';
import { equalSecrets, hashSecret } from '@odograph/runtime/secrets';
import type { Client } from 'pg';
import Value from 'typebox/value';
import { decryptSecrets } from '../backup/manifest.ts';
import { loadPart, piecesOf } from '../backup/tables.ts';
import { auditMove, findMove, inTransaction, openMove } from './move-out.ts';
import {
  type ApplicationTable,
  disableTriggers,
  fileName,
  listApplicationTables,
  MoveManifest,
  manifestName,
  readPart,
  readSchema,
  removeRows,
  resealValues,
  sharedTables,
} from './tables.ts';

const decompress = promisify(gunzip);

/** @throws Error when the directory has no complete files of this version */
async function readManifest(directory: string): Promise<MoveManifest> {
  const text = await readFile(join(directory, manifestName), 'utf8').catch((cause: unknown) => {
    throw new Error(`${directory} has no ${manifestName}: move-out did not finish`, { cause });
  });
  const manifest: unknown = JSON.parse(text);
  if (!Value.Check(MoveManifest, manifest)) throw new Error(`${directory} was written by another version`);
  return manifest;
}

/** @throws Error when the files cannot be loaded into this cell */
async function requireSuitable(client: Client, manifest: MoveManifest): Promise<void> {
  const { applicationId, appId, cell } = manifest;
  if (!isDeepStrictEqual(await readSchema(client), manifest.migrations)) {
    throw new Error('the cells have different schemas: upgrade both to the same version');
  }
  const { rows } = await client.query<{ cell: number; used: boolean; returns: boolean }>(
    `select cell, exists (select from application where id = $1 or app_id = $2) as used,
       exists (select from application_move where application_id = $1 and app_id = $2 and state = 'purged') as returns
     from installation`,
    [applicationId, appId],
  );
  if (rows[0]?.cell === cell) {
    throw new Error(
      `both installations are cell ${cell}: set another CELL here and start the platform once before you create an application`,
    );
  }
  if (rows[0]?.used && !rows[0].returns)
    throw new Error(`this cell has ${appId} already; purge it if it was handed over`);
}

/** Loads the files of a table and checks them. @throws Error when they differ from the manifest */
async function loadFiles(
  { directory, manifest }: { directory: string; manifest: MoveManifest },
  table: ApplicationTable,
  load: (part: Buffer) => Promise<void>,
): Promise<void> {
  const { files, sha256 } = manifest.tables.find(({ name }) => name === table.name) ?? { files: -1, sha256: '' };
  const hash = createHash('sha256');
  for (let number = 1; number <= files; number += 1) {
    try {
      const part = (await decompress(await readPart(directory, table.name, number))) as Buffer;
      hash.update(part);
      await load(part);
    } catch (cause) {
      const { message, detail = '' } = cause as Error & { detail?: string };
      throw new Error(`${fileName(table.name, number)} cannot be loaded: ${message} ${detail}`.trim(), { cause });
    }
  }
  if (hash.digest('hex') !== sha256) throw new Error(`the files of ${table.name} in ${directory} are damaged`);
}

async function loadReadings(
  client: Client,
  files: { directory: string; manifest: MoveManifest },
  table: ApplicationTable,
): Promise<void> {
  // In transactions of their own: readers of the change feed wait for a transaction that writes.
  await loadFiles(files, table, (part) =>
    inTransaction(client, async () => {
      await disableTriggers(client);
      await loadPart(client, table, part);
    }),
  );
}

/** Adds the rows of a shared table that are missing. @throws Error that names a row that differs here */
async function mergeShared(client: Client, { name }: ApplicationTable, staged: string): Promise<void> {
  const shared = sharedTables[name];
  if (shared === undefined) return;
  const { key, compared } = shared;
  const { rows } = await client.query<{ key: string }>(
    `select own.${key} as key from ${name} as own join ${staged} as new on lower(new.${key}) = lower(own.${key})
     where to_jsonb(own) ${compared} <> to_jsonb(new) ${compared}`,
  );
  if (rows[0]) throw new Error(`${name} ${rows[0].key} differs in this cell: make both equal`);
  await client.query(`insert into ${name} select new.* from ${staged} as new
    where not exists (select from ${name} as own where lower(own.${key}) = lower(new.${key}))`);
}

/** Loads a table whose rows may meet rows of this cell: shared ones, and the deleted devices that others refer to. */
async function loadStaged(
  client: Client,
  files: { directory: string; manifest: MoveManifest },
  table: ApplicationTable,
): Promise<void> {
  const staged = `staged_${table.name}`;
  await client.query(`create temporary table ${staged} (like ${table.name}) on commit drop`);
  await loadFiles(files, table, (part) => loadPart(client, table, part, staged));
  if (table.name in sharedTables) return mergeShared(client, table, staged);
  await client.query(`delete from device using staged_device as new
    where device.id = new.id and device.deleted_at is not null and device.application_id is null`);
  await client.query('insert into device select * from staged_device');
}

/** SQL of a cursor in the list of events of this cell. @param rest SQL of the text after the transaction */
const shifted = (column: string, rest: string) => `case when split_part(${column}, '-', 1) = $2::text
  then concat((select feed_epoch from installation), '-', greatest(1, split_part(${column}, '-', 2)::bigint + $3::bigint), ${rest})
  else ${column} end`;

/**
 * Renumbers rows for this cell. Transactions keep their distances, so the order of events and changes is kept and cursors stay
 * valid. Transactions from before the first one of this server get its number; a webhook that far behind receives all of
 * their events.
 */
async function renumber(client: Client, manifest: MoveManifest): Promise<void> {
  const { applicationId: id, feedEpoch, transaction, countedUntil } = manifest;
  const { rows } = await client.query<{ shift: number }>(
    'select pg_current_xact_id()::text::bigint - $1::bigint as shift',
    [transaction],
  );
  const shift = rows[0]?.shift ?? 0;
  const transactionOf = (column: string, first: number) =>
    `greatest(${first}, ${column}::text::bigint + ${shift})::text::xid8`;
  for (const table of ['event', 'reading_change']) {
    await client.query(
      `update ${table} set transaction_id = ${transactionOf('transaction_id', 1)} where application_id = $1`,
      [id],
    );
  }
  await client.query(
    `update application set moving_since = now(),
       changes_forgotten_until = ${transactionOf('changes_forgotten_until', 0)},
       events_forgotten_until = ${transactionOf('events_forgotten_until', 0)} where id = $1`,
    [id],
  );
  const rest = (column: string) => `substring(${column} from '^\\d+-\\d+(.*)$')`;
  const exact = (column: string) =>
    `case when split_part(${column}, '-', 2)::bigint + $3::bigint >= 1 then ${rest(column)} end`;
  const ofWebhooks = 'in (select id from webhook where application_id = $1)';
  const numbers = [id, String(feedEpoch), shift];
  const letter = ['position', 'position_behind', 'event_id'].map((one) => `${one} = ${shifted(one, rest(one))}`);
  const updates = [
    `webhook set position = ${shifted('position', exact('position'))}, lease = null, leased_until = null
     where application_id = $1`,
    `webhook_retry set position = ${shifted('position', exact('position'))} where webhook_id ${ofWebhooks}`,
    `webhook_dead_letter set ${letter.join(', ')} where webhook_id ${ofWebhooks}`,
    `notification_held set event_id = ${shifted('event_id', rest('event_id'))} where notification_id ${ofWebhooks}`,
  ];
  for (const update of updates) await client.query(`update ${update}`, numbers);
  // Key lists are in Redis, and this one has none of them.
  await client.query(
    `update device_key set list_version = list_version + 1, claim = null, claimed_until = null
     where device_id in (select id from device where application_id = $1)`,
    [id],
  );
  // The answers are sealed under the keys of the source and of their requests: a repetition gets IDEMPOTENCY_KEY_IN_USE.
  await client.query(
    `update idempotent_request set fingerprint = '', sealed_answer = null
     where principal like concat('{"applicationId":', $1::text, ',%') or principal = concat('{"applicationId":', $1::text, '}')`,
    [id],
  );
  await client.query(
    `insert into device (id, model_id, secret_sha256, certificates_issued_from, deleted_at)
     select device_id, 'generic', sha256(uuid_send(gen_random_uuid())), '9999-12-31', now() from (
       select device_id from device_link where vehicle_id in (select id from vehicle where application_id = $1)
       union select device_id from command where application_id = $1) as named
     where not exists (select from device where device.id = device_id)`,
    [id],
  );
  await markUncounted(client, id, countedUntil);
}

/** Has ingest count the hours that only one of the two cells has counted. */
async function markUncounted(client: Client, applicationId: number, countedUntil: string | null): Promise<void> {
  const { rows } = await client.query<{ until: string | null }>(
    'select counted_until::text as until from reading_settlement for update',
  );
  const until = rows[0]?.until ?? '-infinity';
  await client.query('delete from reading_count where application_id = $1 and hour >= $2', [applicationId, until]);
  await client.query(
    `insert into reading_count (vehicle_id, hour, application_id)
     select distinct vehicle_id, date_bin('1 hour', time, timestamptz 'epoch'), application_id from reading
     where application_id = $1 and time >= $2 and time < $3 on conflict do nothing`,
    [applicationId, countedUntil ?? '-infinity', until],
  );
}

/** @throws Error when a table has another number of rows than the files */
async function requireCounts(
  client: Client,
  manifest: MoveManifest,
  tables: readonly ApplicationTable[],
): Promise<void> {
  for (const table of tables) {
    const expected = manifest.tables.find(({ name }) => name === table.name)?.rows;
    let found = 0;
    for (const piece of await piecesOf(client, table)) {
      const { rows } = await client.query<{ count: number }>(
        `select count(*) as count from "${table.name}" where ${piece} and ${table.condition}`,
      );
      found += Number(rows[0]?.count);
    }
    if (found !== expected) throw new Error(`${table.name} has ${found} rows instead of ${expected}`);
  }
}

/** Loads everything but the readings, and makes the application appear, inactive. */
async function loadRest(
  client: Client,
  files: { directory: string; manifest: MoveManifest },
  { tables, key, receipt, keys }: { tables: ApplicationTable[]; key: string; receipt: string; keys: readonly string[] },
): Promise<void> {
  const { manifest } = files;
  await inTransaction(client, async () => {
    await disableTriggers(client);
    // The application returns to a cell that it had left.
    await client.query('delete from application where id = $1', [manifest.applicationId]);
    for (const table of tables) {
      if (table.name === 'reading') continue;
      if (table.name === 'device' || table.name in sharedTables) await loadStaged(client, files, table);
      else await loadFiles(files, table, (part) => loadPart(client, table, part));
    }
    await requireCounts(client, manifest, tables);
    await renumber(client, manifest);
    await resealValues(client, tables, (purpose) => ({
      from: new Sealer([key], purpose),
      to: new Sealer(keys, purpose),
    }));
    await client.query('update application_move set receipt = $2 where application_id = $1', [
      manifest.applicationId,
      receipt,
    ]);
    await forgetCaches(client);
  });
}

/** Has ingest read links, rules and CAN databases again. */
async function forgetCaches(client: Client): Promise<void> {
  await client.query(`select raise_ingest_barrier(), nextval('alarm_rule_version'), nextval('can_database_version')`);
}

/** The options of a move into this cell. */
export interface MoveIn {
  readonly directory: string;
  readonly passphrase: string;
}

/**
 * Loads an application, which stays inactive. Repeatable, also after an interruption.
 * @returns the receipt, which hand-over requires
 * @throws Error when the files are damaged or do not fit into this cell, or the encryption keys of this cell are missing
 */
export async function moveIn(config: Config, databaseUrl: string, { directory, passphrase }: MoveIn): Promise<object> {
  const keys = await readEncryptionKeys(config);
  // Under a new key, the platform of this cell could not read the device keys and secrets of the application.
  if (keys.length === 0)
    throw new Error(
      'no encryption keys: set ENCRYPTION_KEYS or DATA_DIR to the value that the platform of this cell uses',
    );
  const manifest = await readManifest(directory);
  const { appId, applicationId, moveId } = manifest;
  const { key, receipt } = decryptSecrets(manifest.secrets, passphrase);
  if (key === undefined || receipt === undefined) throw new Error(`${directory} lacks its key`);
  const { client, db } = await openMove(databaseUrl, appId);
  try {
    const move = await findMove(client, appId);
    const arrives = move?.state === 'arriving' || move?.state === 'arrived';
    if (arrives && move.moveId === moveId && move.receipt !== null) return { appId, receipt };
    if (move?.state === 'arriving' && move.moveId !== moveId)
      throw new Error(`${appId} arrives from other files: cancel-move first`);
    if (move?.state !== 'arriving') await announce(client, db, manifest);
    else await removeRows(client, applicationId);
    const tables = await listApplicationTables(client, applicationId);
    const readings = tables.find(({ name }) => name === 'reading');
    if (readings) await loadReadings(client, { directory, manifest }, readings);
    await loadRest(client, { directory, manifest }, { tables, key, receipt, keys });
    return { appId, receipt, rows: manifest.tables.reduce((sum, table) => sum + table.rows, 0) };
  } finally {
    await client.end();
  }
}

/** Records that an application arrives. */
async function announce(client: Client, db: Database, manifest: MoveManifest): Promise<void> {
  const { appId, applicationId, moveId, releaseSha256 } = manifest;
  await requireSuitable(client, manifest);
  await inTransaction(client, async () => {
    await client.query('delete from application_move where application_id = $1', [applicationId]);
    await client.query(
      `insert into application_move (application_id, app_id, state, move_id, release_sha256)
       values ($1, $2, 'arriving', $3, $4)`,
      [applicationId, appId, moveId, Buffer.from(releaseSha256, 'hex')],
    );
    await auditMove(db, 'application.move-in', appId, 'arriving');
  });
}

/** Activates a loaded application with the release of its source. Repeatable. @throws Error for another release */
export async function activate(databaseUrl: string, appId: string, release: string): Promise<object> {
  const { client, db } = await openMove(databaseUrl, appId);
  try {
    const move = await findMove(client, appId);
    const isReleased = equalSecrets(hashSecret(release), move?.releaseSha256 ?? Buffer.alloc(0));
    if (move?.receipt == null || !isReleased)
      throw new Error(`this is not the release of ${appId}, or it is not loaded`);
    if (move.state !== 'arriving') return { appId, active: true };
    await inTransaction(client, async () => {
      await client.query('update application set moving_since = null where id = $1', [move.applicationId]);
      // The devices were not silent while their application moved.
      await client.query(`update alarm_rule set active_from = now() where application_id = $1 and kind = 'silent'`, [
        move.applicationId,
      ]);
      await client.query(`update application_move set state = 'arrived' where application_id = $1`, [
        move.applicationId,
      ]);
      await auditMove(db, 'application.activate', appId, 'active');
      await forgetCaches(client);
    });
    return { appId, active: true };
  } finally {
    await client.end();
  }
}
