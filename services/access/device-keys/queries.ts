import { randomBytes } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import type { Resealed } from '@odograph/database/sealed-values';
import { DeviceId, moment } from '@odograph/http/schemas';
import { keyBytes } from '@odograph/keyless/key-hierarchy';
import { deviceKeyContext, type Sealer } from '@odograph/runtime/sealing';
import { sql } from 'kysely';
import Type, { type Static } from 'typebox';

/** The key that a device shares with the platform, opened. */
export interface DeviceKey {
  readonly deviceId: string;
  readonly key: Buffer;
  readonly keyVersion: number;
  readonly epoch: number;
}

interface KeyRow extends Omit<DeviceKey, 'key'> {
  readonly sealed: Buffer | null;
}

/**
 * One statement, so that link and epoch are consistent: if the link ends or the vehicle is archived later, the epoch rises
 * and invalidates every token of this one.
 */
async function selectVehicleKey(db: Database, vehicleId: number): Promise<KeyRow | undefined> {
  const { rows } = await sql<KeyRow>`
    select link.device_id as "deviceId", stored.sealed_key as sealed, stored.key_version as "keyVersion", stored.epoch
    from device_link link
    join vehicle on vehicle.id = link.vehicle_id and vehicle.archived_at is null and vehicle.deleted_at is null
    left join device_key stored on stored.device_id = link.device_id
    where link.vehicle_id = ${vehicleId} and upper_inf(link.period)`.execute(db);
  return rows[0];
}

/**
 * Finds the device key of the device that is linked to a vehicle now, and creates a missing one. Requires a transaction.
 * Later device keys come from rotations, which show them to the operator.
 * @returns undefined when the vehicle has no device or is archived
 */
export async function findVehicleKey(db: Database, sealer: Sealer, vehicleId: number): Promise<DeviceKey | undefined> {
  let row = await selectVehicleKey(db, vehicleId);
  if (row && !row.sealed) {
    await insertKey(db, sealer, row.deviceId);
    row = await selectVehicleKey(db, vehicleId);
  }
  if (!row?.sealed) return undefined;
  const { deviceId, sealed, keyVersion, epoch } = row;
  return { deviceId, keyVersion, epoch, key: sealer.open(sealed, deviceKeyContext(deviceId, keyVersion)) };
}

/**
 * Stores the first key of a device, whose key list is then due; run it in a transaction.
 * @returns the key, or undefined when the device has one already
 */
async function insertKey(db: Database, sealer: Sealer, deviceId: string): Promise<Buffer | undefined> {
  const key = randomBytes(keyBytes);
  const sealed = sealer.seal(key, deviceKeyContext(deviceId, 1));
  // A suspension in flight holds the vehicle, a link change holds the device, and neither sees the new key. Both must be
  // committed before the list is read, and before a token is issued for a link that ends.
  await sql`select from vehicle join device_link on device_link.vehicle_id = vehicle.id
    where device_id = ${deviceId} and upper_inf(period) for no key update of vehicle`.execute(db);
  await sql`select from device where id = ${deviceId} for no key update`.execute(db);
  const { numAffectedRows } = await failOnConstraint({ device_key_device_id_fkey: ['UNKNOWN_DEVICE'] }, () =>
    sql`insert into device_key (device_id, sealed_key) values (${deviceId}, ${sealed}) on conflict do nothing`.execute(
      db,
    ),
  );
  return numAffectedRows === 1n ? key : undefined;
}

/**
 * Creates the first key of a device, or replaces its key by a new version; run it in a transaction. The device refuses
 * tokens of the old version as soon as it has the new one.
 * @throws Failure UNKNOWN_DEVICE
 */
export async function rotateDeviceKey(
  db: Database,
  sealer: Sealer,
  deviceId: string,
): Promise<{ key: Buffer; keyVersion: number }> {
  const first = await insertKey(db, sealer, deviceId);
  if (first) return { key: first, keyVersion: 1 };
  const { key_version: last } = await db
    .selectFrom('device_key')
    .select('key_version')
    .where('device_id', '=', deviceId)
    .forUpdate()
    .executeTakeFirstOrThrow();
  const [key, keyVersion] = [randomBytes(keyBytes), last + 1];
  await db
    .updateTable('device_key')
    .set({
      sealed_key: sealer.seal(key, deviceKeyContext(deviceId, keyVersion)),
      key_version: keyVersion,
      list_version: sql`list_version + 1`,
    })
    .where('device_id', '=', deviceId)
    .execute();
  return { key, keyVersion };
}

/**
 * Ends every token of a device with a new epoch in its key list. Authorizations stay, and have other tokens from then on.
 * @returns the epoch
 * @throws Failure UNKNOWN_DEVICE for a device without a key
 */
export async function endTokens(db: Database, deviceId: string): Promise<number> {
  const row = await db
    .updateTable('device_key')
    .set({ epoch: sql`epoch + 1`, list_version: sql`list_version + 1` })
    .where('device_id', '=', deviceId)
    .returning('epoch')
    .executeTakeFirst();
  if (!row) throw new Failure('UNKNOWN_DEVICE');
  return Number(row.epoch);
}

const keysAtOnce = 500;

/** Seals every device key under the newest of ENCRYPTION_KEYS. */
export async function resealDeviceKeys(db: Database, sealer: Sealer): Promise<Resealed> {
  const counts = { resealed: 0, unreadable: 0, total: 0 };
  let after = '';
  for (;;) {
    const rows = await db
      .selectFrom('device_key')
      .select(['device_id', 'sealed_key', 'key_version'])
      .where('device_id', '>', after)
      .orderBy('device_id')
      .limit(keysAtOnce)
      .execute();
    for (const row of rows) {
      if (!sealer.canOpen(row.sealed_key)) counts.unreadable += 1;
      else if (!sealer.isCurrent(row.sealed_key)) counts.resealed += await resealKey(db, sealer, row);
      after = row.device_id;
    }
    counts.total += rows.length;
    if (rows.length < keysAtOnce) return counts;
  }
}

async function resealKey(
  db: Database,
  sealer: Sealer,
  row: { device_id: string; sealed_key: Buffer; key_version: number },
): Promise<number> {
  const context = deviceKeyContext(row.device_id, row.key_version);
  const { numUpdatedRows } = await db
    .updateTable('device_key')
    .set({ sealed_key: sealer.seal(sealer.open(row.sealed_key, context), context) })
    .where('device_id', '=', row.device_id)
    // A key rotated concurrently is sealed under the newest secret already.
    .where('sealed_key', '=', row.sealed_key)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Key and key list versions of a device. */
export const KeyState = Type.Object(
  {
    deviceId: DeviceId,
    keyVersion: Type.Integer(),
    epoch: Type.Integer(),
    listVersion: Type.Integer(),
    publishedVersion: Type.Integer(),
    confirmedVersion: Type.Integer(),
    confirmedAt: Type.Union([moment('when the device confirmed that version'), Type.Null()]),
    refusedReason: Type.Union([Type.Null(), Type.String()]),
  },
  { title: 'DeviceKeyState' },
);

/** Finds the key state of a device. @throws Failure UNKNOWN_DEVICE for a device that is unknown or has no key */
export async function findKeyState(db: Database, deviceId: string): Promise<Static<typeof KeyState>> {
  const row = await db.selectFrom('device_key').selectAll().where('device_id', '=', deviceId).executeTakeFirst();
  if (!row) throw new Failure('UNKNOWN_DEVICE', 'the device is unknown or has no key');
  return {
    deviceId,
    keyVersion: row.key_version,
    epoch: row.epoch,
    listVersion: row.list_version,
    publishedVersion: row.published_version,
    confirmedVersion: row.confirmed_version,
    confirmedAt: row.confirmed_at?.toISOString() ?? null,
    refusedReason: row.refused_reason,
  };
}
