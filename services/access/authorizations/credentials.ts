import type { Database } from '@odograph/database/database';
import { encryptionKey, sessionKey } from '@odograph/keyless/key-hierarchy';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { encodeSignedPart, signToken } from '@odograph/keyless/token';
import type { Sealer } from '@odograph/runtime/sealing';
import { type DeviceKey, findVehicleKey } from '../device-keys/queries.ts';
import type { Authorization } from './queries.ts';

/** What a phone gets into the vehicle with; recomputed whenever it is asked for, and stored nowhere. */
export interface Credentials {
  /** In base64url, as the interface writes them; both empty when nobody gets in: no device, or an archived vehicle. */
  readonly token: string;
  readonly key: string;
}

type Signed = Omit<Authorization, 'archived' | 'suspendedUntil'>;

function tokenFields(device: DeviceKey, { id, level, from, until }: Signed) {
  const { deviceId, keyVersion, epoch } = device;
  const period = { notBeforeMs: from.getTime(), notAfterMs: until.getTime() };
  return { deviceId, keyVersion, epoch, authorizationId: id, level, ...period };
}

const encoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

/** The token and key of an authorization for one device. */
export function credentialsFor(device: DeviceKey, authorization: Signed): Credentials {
  const fields = tokenFields(device, authorization);
  const signed = encodeSignedPart(nodeCrypto, fields);
  return {
    token: encoded(signToken(nodeCrypto, device.key, fields)),
    key: encoded(sessionKey(nodeCrypto, device.key, signed)),
  };
}

/** What command strings are bound to, and the key of the device commands record. */
export function commandSecrets(device: DeviceKey, authorization: Signed): { signed: Uint8Array; key: string } {
  const signed = encodeSignedPart(nodeCrypto, tokenFields(device, authorization));
  return { signed, key: encoded(encryptionKey(nodeCrypto, device.key, signed)) };
}

/** The credentials of an authorization for the device that sits in its vehicle now. */
export async function currentCredentials(
  db: Database,
  sealer: Sealer,
  authorization: Authorization,
): Promise<Credentials> {
  const device = await findVehicleKey(db, sealer, authorization.vehicleId);
  return device ? credentialsFor(device, authorization) : { token: '', key: '' };
}
