import { randomBytes } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { keyBytes } from '@odograph/keyless/key-hierarchy';
import { deviceKeyContext, type Sealer } from '@odograph/runtime/sealing';
import { sql } from 'kysely';

/** The key that a device shares with the platform. */
export interface DeviceKey {
  readonly deviceId: string;
  readonly key: Buffer;
  readonly keyVersion: number;
  readonly epoch: number;
}

interface KeyRow {
  deviceId: string;
  sealed: Buffer | null;
  keyVersion: number;
  epoch: number;
}

/**
 * One statement, so that what it finds was true at one moment: when the device leaves the vehicle or the vehicle is
 * archived a moment later, the epoch rises and ends every token that is made with this one.
 */
async function selectVehicleKey(db: Database, vehicleId: number): Promise<KeyRow | undefined> {
  const { rows } = await sql<KeyRow>`
    select link.device_id as "deviceId", held.sealed_key as sealed, held.key_version as "keyVersion", held.epoch
    from device_link link
    join vehicle on vehicle.id = link.vehicle_id and vehicle.archived_at is null and vehicle.deleted_at is null
    left join device_key held on held.device_id = link.device_id
    where link.vehicle_id = ${vehicleId} and upper_inf(link.period)`.execute(db);
  return rows[0];
}

/**
 * The key of the device that sits in a vehicle now; one is made when the device has none, which its box then gets by a
 * rotation.
 * @returns undefined when nobody gets into the vehicle by a key: it has no device, or is archived
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

/** @returns the key, or undefined when the device has one */
async function insertKey(db: Database, sealer: Sealer, deviceId: string): Promise<Buffer | undefined> {
  const key = randomBytes(keyBytes);
  const { numInsertedOrUpdatedRows } = await failOnConstraint({ device_key_device_id_fkey: 'UNKNOWN_DEVICE' }, () =>
    db
      .insertInto('device_key')
      .values({ device_id: deviceId, sealed_key: sealer.seal(key, deviceKeyContext(deviceId, 1)) })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst(),
  );
  return numInsertedOrUpdatedRows === 1n ? key : undefined;
}

/**
 * Gives a device its first key, or a new one in place of the last; run it in a transaction. Tokens of the last key are
 * worth nothing as soon as the box has the new one.
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

const keysAtOnce = 500;

/** What a reseal came to; `unreadable` are sealed under a secret that is not in ENCRYPTION_KEYS, and stay as they are. */
export interface Resealed {
  resealed: number;
  unreadable: number;
  total: number;
}

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
    // One that was rotated meanwhile is sealed under the newest key.
    .where('sealed_key', '=', row.sealed_key)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** How far a device is with its keys; times in ISO 8601. */
export interface KeyState {
  deviceId: string;
  keyVersion: number;
  epoch: number;
  listVersion: number;
  publishedVersion: number;
  confirmedVersion: number;
  confirmedAt: string | null;
  refusedReason: string | null;
}

/** @throws Failure UNKNOWN_DEVICE for one that is unknown or has no key */
export async function findKeyState(db: Database, deviceId: string): Promise<KeyState> {
  const row = await db.selectFrom('device_key').selectAll().where('device_id', '=', deviceId).executeTakeFirst();
  if (!row) throw new Failure('UNKNOWN_DEVICE', 'no such device, or it has no key');
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
