import type { AcknowledgementMessage } from '@odograph/contracts/commands';
import { parseKeyListAcknowledgementId } from '@odograph/contracts/topics';
import { appendAudit, operatorChain } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { isConfirmation } from '@odograph/keyless/key-list';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import type { Logger } from '@odograph/runtime/logger';
import { deviceKeyContext, type Sealer } from '@odograph/runtime/sealing';
import { type Kysely, sql } from 'kysely';

const reasonForm = /^[A-Z_]{1,64}$/;
/** Within this time of a publication, a confirmation of the previous list may still be in flight. */
const inFlightSeconds = 2;

interface DeviceKeyState {
  applicationId: number | null;
  sealed: Buffer;
  keyVersion: number;
  listVersion: number;
  confirmedVersion: number;
}

async function lockDeviceKey(db: Database, deviceId: string): Promise<DeviceKeyState | undefined> {
  const { rows } = await sql<DeviceKeyState>`select device.application_id as "applicationId",
      stored.sealed_key as sealed, stored.key_version as "keyVersion", stored.list_version as "listVersion",
      stored.confirmed_version as "confirmedVersion"
    from device_key stored join device on device.id = stored.device_id
    where stored.device_id = ${deviceId} for no key update of stored`.execute(db);
  return rows[0];
}

function isAuthentic(sealer: Sealer, deviceId: string, state: DeviceKeyState, version: number, mac: string): boolean {
  const { sealed, keyVersion } = state;
  if (!sealer.canOpen(sealed)) return false;
  const deviceKey = sealer.open(sealed, deviceKeyContext(deviceId, keyVersion));
  return isConfirmation(nodeCrypto, { deviceId, deviceKey }, { version, keyVersion }, mac);
}

/** Records that the device has this list and none newer; an older one than published makes the newest due again. */
async function confirm(db: Database, deviceId: string, state: DeviceKeyState, version: number): Promise<void> {
  await sql`update device_key set refused_reason = null,
      confirmed_version = greatest(confirmed_version, ${version}), confirmed_at = clock_timestamp(),
      published_version = case when ${version} < list_version and published_version = list_version
        and published_at < clock_timestamp() - ${inFlightSeconds} * interval '1 second' then 0 else published_version end
    where device_id = ${deviceId}`.execute(db);
  if (version <= state.confirmedVersion) return;
  await appendAudit(db, {
    chain: state.applicationId ?? operatorChain,
    actor: `device:${deviceId}`,
    address: '',
    action: 'key-list.confirm',
    subject: `device:${deviceId}`,
    details: { version },
    outcome: 'done',
  });
}

async function markRefused(db: Database, deviceId: string, reason: string): Promise<void> {
  await db.updateTable('device_key').set({ refused_reason: reason }).where('device_id', '=', deviceId).execute();
}

/**
 * Records the acknowledgement of a key list. A confirmation counts only with the MAC of the device key: the credentials
 * of the MQTT session do not suffice to hide a revocation from the device, or to raise its list version.
 * @returns false for the acknowledgement of a command
 */
export async function confirmKeyList(
  { db, sealer, logger }: { db: Kysely<Tables>; sealer: Sealer; logger: Logger },
  deviceId: string,
  { id, ok, reason, mac }: AcknowledgementMessage,
): Promise<boolean> {
  const version = parseKeyListAcknowledgementId(id);
  if (version === undefined) return false;
  await db.transaction().execute(async (trx) => {
    const state = await lockDeviceKey(trx, deviceId);
    if (!state) return;
    if (!ok) {
      const refused = reason !== undefined && reasonForm.test(reason) ? reason : 'REFUSED';
      await markRefused(trx, deviceId, refused);
      logger.warn({ deviceId, version, reason: refused }, 'key list refused by the device');
    } else if (!isAuthentic(sealer, deviceId, state, version, mac ?? '')) {
      await markRefused(trx, deviceId, 'CONFIRMATION_MAC');
      logger.warn({ deviceId, version }, 'confirmation of a key list ignored: wrong MAC');
    } else if (version > state.listVersion) {
      // The database was restored from a backup: the device ignores every version below its own.
      await sql`update device_key set list_version = ${version} + 1 where device_id = ${deviceId}`.execute(trx);
      logger.warn({ deviceId, version }, 'the device has a newer key list than the platform');
    } else await confirm(trx, deviceId, state, version);
  });
  return true;
}
