import type { Database } from '@odograph/database/database';
import type { KeyList, ListedAuthorization } from '@odograph/keyless/key-list';
import { deviceKeyContext, type Sealer } from '@odograph/runtime/sealing';
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
export interface DueList extends KeyList {
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
 * Reads the key list of a device: the unexpired revocations and the current suspensions of the vehicle that it is linked
 * to. One statement, so that the list is consistent.
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
      where link.device_id = stored.device_id and valid_until > clock_timestamp()
        and (revoked_at is not null or suspended_until > clock_timestamp())) as authorizations
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

/** Makes every key list due: a restarted broker has lost the retained messages. */
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
