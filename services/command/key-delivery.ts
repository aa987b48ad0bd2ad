import { randomUUID } from 'node:crypto';
import { keyListChannel } from '@odograph/contracts/topics';
import type { Database } from '@odograph/database/database';
import { type KeyList, type ListedAuthorization, signKeyList } from '@odograph/keyless/key-list';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { clockToleranceMs } from '@odograph/keyless/token';
import { within } from '@odograph/runtime/clock';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { deviceKeyContext, type Sealer } from '@odograph/runtime/sealing';
import type { DeviceMessenger } from '@odograph/sessions/presence';
import { type RawBuilder, sql } from 'kysely';

/** Lease of a publishing process; if a process outlives its lease, the newest key list is published again. */
const claimSeconds = 10;
/** An unconfirmed key list is published again after this time, with or without a session. */
const silenceMinutes = 5;

/**
 * SQL that is true for the keys that this process can open; while new ENCRYPTION_KEYS roll out, others need another process.
 */
function isOpenable({ keyIds }: Sealer): RawBuilder<boolean> {
  return sql<boolean>`substring(sealed_key from 1 for 4) = any(${keyIds}::bytea[])`;
}

/**
 * Claims devices whose key list is due, exclusively for this process. A failed publication is retried after the claim.
 * @returns their ids
 */
export async function claimDue(db: Database, sealer: Sealer, claim: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ deviceId: string }>`
    update device_key set claim = ${claim}, claimed_until = clock_timestamp() + ${claimSeconds} * interval '1 second'
    where device_id in (
      select device_id from device_key
      where published_version < list_version and (claimed_until is null or claimed_until < clock_timestamp()
          -- A longer claim was made before the clock was set back.
          or claimed_until > clock_timestamp() + ${2 * claimSeconds} * interval '1 second')
        and ${isOpenable(sealer)}
      limit ${limit} for update skip locked)
    returning device_id as "deviceId"`.execute(db);
  return rows.map(({ deviceId }) => deviceId);
}

/** The current key list of a device and the key that signs it. */
interface DueList extends KeyList {
  readonly deviceKey: Buffer;
}

interface DueRow {
  sealed: Buffer;
  version: number;
  keyVersion: number;
  epoch: number;
  issuedAtMs: number;
  authorizations: ListedAuthorization[] | null;
}

/**
 * Reads the key list of a device: the unexpired revocations and the current suspensions of the vehicle that it is
 * linked to, both kept for `clockToleranceMs` after their end, because the clock of a device may be behind. One
 * statement, so that the list is consistent.
 * @returns undefined for a device that no longer exists
 */
export async function readList(db: Database, sealer: Sealer, deviceId: string): Promise<DueList | undefined> {
  const { rows } = await sql<DueRow>`
    select stored.sealed_key as sealed, stored.list_version as version, stored.key_version as "keyVersion", stored.epoch,
      (extract(epoch from clock_timestamp()) * 1000)::bigint as "issuedAtMs", (
      select json_agg(json_build_object('id', id, 'state', case when revoked_at is null then 'suspended' else 'revoked' end,
        'untilMs', (extract(epoch from case when revoked_at is null then suspended_until else valid_until end) * 1000)::bigint)
        order by id)
      from bluetooth_authorization
      join device_link link on link.vehicle_id = bluetooth_authorization.vehicle_id and upper_inf(link.period)
      cross join (select clock_timestamp() - ${clockToleranceMs} * interval '1 millisecond' as at) as slowest_clock
      where link.device_id = stored.device_id and valid_until > slowest_clock.at
        and (revoked_at is not null or suspended_until > slowest_clock.at)) as authorizations
    from device_key stored where stored.device_id = ${deviceId}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { sealed, authorizations, ...versions } = row;
  const deviceKey = sealer.open(sealed, deviceKeyContext(deviceId, row.keyVersion));
  return { ...versions, authorizations: authorizations ?? [], deviceKey };
}

/**
 * Records a publication. If this process has outlived its claim, another may have published concurrently: the order at the
 * broker is unknown then, and the newest list becomes due again.
 */
export async function markPublished(db: Database, deviceId: string, claim: string, version: number): Promise<void> {
  await sql`update device_key set published_at = clock_timestamp(),
      published_version = case when claim = ${claim} then ${version} else 0 end,
      claimed_until = case when claim = ${claim} then null else claimed_until end,
      claim = nullif(claim, ${claim})
    where device_id = ${deviceId}`.execute(db);
}

/** Makes every key list due after Redis has lost them. */
export async function republishAll(db: Database, sealer: Sealer): Promise<void> {
  await sql`update device_key set published_version = 0, claim = null, claimed_until = null
    where list_version > 0 and ${isOpenable(sealer)}`.execute(db);
}

/** Makes key lists due that were published a while ago and never confirmed. */
export async function republishUnconfirmed(db: Database): Promise<void> {
  await sql`update device_key set published_version = 0 where confirmed_version < list_version
    and published_version = list_version
    and published_at < clock_timestamp() - ${silenceMinutes} * interval '1 minute'`.execute(db);
}

interface KeyListDelivery {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly messenger: DeviceMessenger;
  readonly logger: Logger;
}

const listsPerClaim = 20;
const publishTimeoutMs = 5000;
const pollMs = 1000;

async function publish({ db, sealer, messenger }: KeyListDelivery, deviceId: string, claim: string): Promise<void> {
  const due = await readList(db, sealer, deviceId);
  if (!due) return;
  const { deviceKey, ...list } = due;
  const message = signKeyList(nodeCrypto, { deviceId, deviceKey }, list);
  await within(publishTimeoutMs, messenger.sendKeyList(deviceId, JSON.stringify(message)));
  await markPublished(db, deviceId, claim, list.version);
}

/**
 * Publishes every key list that is due. A list is complete and has a version, so publishing it twice, here or in another
 * replica, is harmless; after a crash it is still due.
 */
async function deliverDue(delivery: KeyListDelivery): Promise<void> {
  const { db, sealer, messenger, logger } = delivery;
  while (messenger.isConnected) {
    const claim = randomUUID();
    const deviceIds = await claimDue(db, sealer, claim, listsPerClaim);
    const outcomes = await Promise.allSettled(deviceIds.map((deviceId) => publish(delivery, deviceId, claim)));
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    if (failed.length > 0) {
      logger.warn({ err: failed[0]?.reason, lists: failed.length }, 'key lists not published; retrying');
    }
    if (deviceIds.length < listsPerClaim) return;
  }
}

/** Runs `work` one at a time; calls during a run cause one more run after it. */
function createRuns(work: () => Promise<void>, logger: Logger) {
  let running: Promise<void> | undefined;
  let again = false;
  const run = async (): Promise<void> => {
    do {
      again = false;
      await work().catch((err: unknown) => logger.warn({ err }, 'key lists not delivered; retrying'));
    } while (again);
    running = undefined;
  };
  return {
    request(): void {
      again = true;
      running ??= run();
    },
    ended: () => running ?? Promise.resolve(),
  };
}

/**
 * Delivers key lists when they are announced on Redis, and polls every second for lost announcements.
 * @returns a function that stops the delivery
 */
export function startKeyDelivery(
  delivery: KeyListDelivery,
  { REDIS_URL: redisUrl, QUEUE_PREFIX: prefix }: Pick<ResolvedConfig, 'REDIS_URL' | 'QUEUE_PREFIX'>,
): () => Promise<void> {
  const { db, sealer, messenger, logger } = delivery;
  const runs = createRuns(async () => {
    if (!messenger.isConnected) return;
    if (!(await messenger.keepsKeyLists())) {
      await republishAll(db, sealer);
      await messenger.markKeyListsKept();
    }
    await republishUnconfirmed(db);
    await deliverDue(delivery);
  }, logger);
  const subscriber = connectRedis(redisUrl, logger);
  subscriber.on('ready', () => {
    subscriber
      .subscribe(keyListChannel(prefix))
      .catch((err: unknown) => logger.warn({ err }, 'announcements of key lists unavailable; polling'));
  });
  subscriber.on('message', runs.request);
  const timer = setInterval(runs.request, pollMs);
  return async () => {
    clearInterval(timer);
    subscriber.disconnect();
    await runs.ended();
  };
}
