import type { Database } from '@odograph/database/database';
import type { KeyList, ListedAuthorization } from '@odograph/keyless/key-list';
import { deviceKeyContext, type Sealer } from '@odograph/runtime/sealing';
import { type RawBuilder, sql } from 'kysely';

/** A process that dies while it publishes is waited for as long; one that outlives it publishes the newest again. */
const claimSeconds = 10;
/** How long a box may be silent about a list, with a session or without, before it is published again. */
const silenceMinutes = 5;

/**
 * True for the keys that this process can open; while new ENCRYPTION_KEYS are rolled out, another may have to do the rest.
 */
function isOpenable({ keyIds }: Sealer): RawBuilder<boolean> {
  return sql<boolean>`substring(sealed_key from 1 for 4) = any(${keyIds}::bytea[])`;
}

/**
 * Claims devices whose list is due, for this process alone. What cannot be published is tried again when its claim is over.
 * @returns their ids
 */
export async function claimDue(db: Database, sealer: Sealer, claim: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ deviceId: string }>`
    update device_key set claim = ${claim}, claimed_until = clock_timestamp() + ${claimSeconds} * interval '1 second'
    where device_id in (
      select device_id from device_key
      where published_version < list_version and (claimed_until is null or claimed_until < clock_timestamp()
          -- A claim that lasts longer was made by a clock that was set back since.
          or claimed_until > clock_timestamp() + ${2 * claimSeconds} * interval '1 second')
        and ${isOpenable(sealer)}
      limit ${limit} for update skip locked)
    returning device_id as "deviceId"`.execute(db);
  return rows.map(({ deviceId }) => deviceId);
}

/** The list of one box as it should be now, and the key to sign it with. */
export interface DueList extends KeyList {
  readonly deviceKey: Buffer;
}

interface DueRow {
  sealed: Buffer;
  version: number;
  keyVersion: number;
  epoch: number;
  authorizations: ListedAuthorization[] | null;
}

/**
 * One statement, so that the list is whole: what is revoked and not over, and what is suspended now, of the vehicle that
 * the device sits in.
 * @returns undefined for a device that is gone
 */
export async function readList(db: Database, sealer: Sealer, deviceId: string): Promise<DueList | undefined> {
  const { rows } = await sql<DueRow>`
    select held.sealed_key as sealed, held.list_version as version, held.key_version as "keyVersion", held.epoch, (
      select json_agg(json_build_object('id', id, 'state', case when revoked_at is null then 'suspended' else 'revoked' end,
        'untilMs', (extract(epoch from case when revoked_at is null then suspended_until else valid_until end) * 1000)::bigint)
        order by id)
      from bluetooth_authorization
      join device_link link on link.vehicle_id = bluetooth_authorization.vehicle_id and upper_inf(link.period)
      where link.device_id = held.device_id and valid_until > clock_timestamp()
        and (revoked_at is not null or suspended_until > clock_timestamp())) as authorizations
    from device_key held where held.device_id = ${deviceId}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { sealed, authorizations, ...versions } = row;
  const deviceKey = sealer.open(sealed, deviceKeyContext(deviceId, row.keyVersion));
  return { ...versions, authorizations: authorizations ?? [], deviceKey };
}

/**
 * Records that the broker has a list. Another process may have published meanwhile, when this one was stopped for longer
 * than its claim: which list came last is not known then, and the newest goes out again.
 */
export async function markPublished(db: Database, deviceId: string, claim: string, version: number): Promise<void> {
  await sql`update device_key set published_at = clock_timestamp(),
      published_version = case when claim = ${claim} then ${version} else 0 end,
      claimed_until = case when claim = ${claim} then null else claimed_until end,
      claim = nullif(claim, ${claim})
    where device_id = ${deviceId}`.execute(db);
}

/** Makes every list due: a broker that has started anew keeps none of them. */
export async function republishAll(db: Database, sealer: Sealer): Promise<void> {
  await sql`update device_key set published_version = 0, claim = null, claimed_until = null
    where list_version > 0 and ${isOpenable(sealer)}`.execute(db);
}

/** Makes due what was published a while ago and never confirmed. */
export async function republishUnconfirmed(db: Database): Promise<void> {
  await sql`update device_key set published_version = 0 where confirmed_version < list_version
    and published_version = list_version
    and published_at < clock_timestamp() - ${silenceMinutes} * interval '1 minute'`.execute(db);
}
