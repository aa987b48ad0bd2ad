import type { OperatorRequest } from '@odograph/contracts/caller';
import { invalidParameter } from '@odograph/contracts/failures';
import { serviceAccountPrefix } from '@odograph/contracts/service-accounts';
import { deviceIdPattern } from '@odograph/contracts/topics';
import { findApplicationId, findScope } from '@odograph/database/accounts';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { findVehicleOwner } from '@odograph/database/vehicle-access';
import { AppId, DeviceId, text, VehicleId } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';
import { type LinkChange, linkDevice, recordLinkChange } from '../../devices/queries.ts';
import { createDevice, type DeviceSecrets } from './queries.ts';

const optionalText = (example: string) => Type.Unsafe<string>({ ...text(0, 64, { examples: [example] }), default: '' });

export const NewDevice = Type.Object({
  id: Type.String({ pattern: deviceIdPattern, description: '1 to 64 of A-Z a-z 0-9 . _ : -', examples: ['unit-0001'] }),
  model: text(1, 64, { examples: ['generic'] }),
  appId: Type.Optional(AppId),
  vehicleId: Type.Optional(VehicleId),
  bluetoothName: optionalText('ODO-0001'),
  bluetoothPin: optionalText('0000'),
});
export const DeviceSecret = Type.Object(
  { deviceId: DeviceId, secret: Type.String({ examples: ['c2VjcmV0LW9mLXRoZS1kZXZpY2U'] }) },
  { title: 'DeviceSecret' },
);
export const NewSecrets = Type.Object(
  {
    ...DeviceSecret.properties,
    claimCode: Type.Optional(
      Type.String({ description: 'lets an application link a device without an owner', examples: ['K7QX-2M4P'] }),
    ),
  },
  { title: 'NewDevice' },
);
export type NewDevice = Static<typeof NewDevice>;

/** A device that was created in a transaction, and its link to the vehicle that was given. */
export interface ProvisionedDevice {
  readonly secrets: DeviceSecrets;
  readonly model: string;
  readonly applicationId: number | null;
  readonly link?: LinkChange;
}

/** Finds the application that a new device belongs to: that of its vehicle, or the named one. */
async function findOwner(db: Database, operator: OperatorRequest['operator'], device: NewDevice) {
  const { appId, vehicleId } = device;
  if (vehicleId === undefined) return findScope(db, operator, appId);
  const named = appId === undefined ? undefined : await findApplicationId(db, appId, operator.applicationIds);
  const owner = await findVehicleOwner(db, operator, vehicleId);
  if (named !== undefined && named !== owner) {
    throw invalidParameter('vehicleId', 'is a vehicle of another application');
  }
  return owner;
}

/**
 * Creates a device, and links it if it names a vehicle; run it in changeLinks then. Nothing is written for a failure that
 * the device has before it is created.
 * @throws Failure INVALID_PARAMETER, UNKNOWN_APPLICATION, UNKNOWN_VEHICLE, ALREADY_EXISTS, VEHICLE_ARCHIVED,
 * VEHICLE_ALREADY_LINKED
 */
export async function provisionDevice(
  trx: Database,
  operator: OperatorRequest['operator'],
  device: NewDevice,
): Promise<ProvisionedDevice> {
  const { id, model, vehicleId, bluetoothName, bluetoothPin } = device;
  if (id.startsWith(serviceAccountPrefix)) throw invalidParameter('id', `must not begin with ${serviceAccountPrefix}`);
  const applicationId = await findOwner(trx, operator, device);
  const secrets = await createDevice(trx, { id, model, applicationId, bluetoothName, bluetoothPin });
  const created = { secrets, model, applicationId };
  if (vehicleId === undefined || applicationId === null) return created;
  return { ...created, link: await linkDevice(trx, { applicationId }, { deviceId: id, vehicleId }) };
}

/** Records a new device and its link in the audit; run it last in the transaction. */
export async function recordProvisioning(
  trx: Database,
  request: OperatorRequest,
  { secrets: { deviceId }, model, applicationId, link }: ProvisionedDevice,
): Promise<void> {
  const origin = operatorOrigin(request, applicationId);
  const subject = `device:${deviceId}`;
  await appendAudit(trx, { ...origin, action: 'device.create', subject, details: { model }, outcome: 'done' });
  if (link) await recordLinkChange(trx, origin, deviceId, link);
}
