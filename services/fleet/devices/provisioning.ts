import { type OperatorRequest, serviceAccountPrefix } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { deviceIdPattern } from '@odograph/contracts/topics';
import { findApplicationId, findScope } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { findVehicleOwner } from '@odograph/database/vehicle-access';
import { AppId, DeviceId, text, VehicleId } from '@odograph/http/schemas';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { createClaimCode, hashClaimCode, type LinkChange, linkDevice, recordLinkChange } from './links.ts';

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
  readonly secrets: Static<typeof NewSecrets>;
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
  const { id, model, vehicleId } = device;
  if (id.startsWith(serviceAccountPrefix)) throw invalidParameter('id', `must not begin with ${serviceAccountPrefix}`);
  const applicationId = await findOwner(trx, operator, device);
  const secrets = await createDevice(trx, device, applicationId);
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
  const subject = `device:${deviceId}`;
  await auditChange(trx, operatorOrigin(request, applicationId), 'device.create', subject, { model });
  if (link) await recordLinkChange(trx, operatorOrigin(request, applicationId), deviceId, link);
}

const imeiForm = /^\d{15}$/;

/**
 * Requires a model, and for one of Teltonika an IMEI: its devices say nothing else of themselves.
 * @throws Failure INVALID_PARAMETER, which lists the device models
 */
async function requireModel(db: Database, name: string, deviceId: string): Promise<void> {
  const models = await db.selectFrom('device_model').select(['id', 'protocol']).orderBy('id').execute();
  const model = models.find(({ id }) => id === name);
  if (!model) throw invalidParameter('model', `must be a device model: ${models.map(({ id }) => id).join(', ')}`);
  if (model.protocol === 'teltonika' && !imeiForm.test(deviceId)) {
    throw invalidParameter('id', `must be the IMEI of the device, 15 digits, for the model ${name}`);
  }
}

/**
 * Creates a device; the id of a deleted one can be used again.
 * @throws Failure ALREADY_EXISTS; INVALID_PARAMETER for a model that does not exist, or an id that it does not allow
 */
async function createDevice(db: Database, device: NewDevice, applicationId: number | null) {
  await requireModel(db, device.model, device.id);
  const secret = createSecret();
  const claimCode = applicationId === null ? createClaimCode() : undefined;
  const fields = {
    model_id: device.model,
    application_id: applicationId,
    secret_sha256: hashSecret(secret),
    secret_issued_at: sql<Date>`now()`,
    claim_code_sha256: claimCode === undefined ? null : hashClaimCode(claimCode),
    bluetooth_name: device.bluetoothName,
    bluetooth_pin: device.bluetoothPin,
    certificates_issued_from: null,
    deleted_at: null,
  };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('device')
    .values({ id: device.id, ...fields })
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet({ ...fields, certificates_issued_from: sql<Date>`now()` })
        .where('device.deleted_at', 'is not', null),
    )
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows !== 1n) throw new Failure('ALREADY_EXISTS', 'there is a device with this id already');
  return { deviceId: device.id, secret, ...(claimCode !== undefined && { claimCode }) };
}

/**
 * Replaces the secret of a device. @returns the new secret
 * @param overlapSeconds how long the old secret stays valid, at most until the first use of the new one; 0 ends it at once
 * @throws Failure UNKNOWN_DEVICE
 */
export async function replaceSecret(db: Database, deviceId: string, overlapSeconds: number): Promise<string> {
  const secret = createSecret();
  const isKept = overlapSeconds > 0;
  const { numUpdatedRows } = await db
    .updateTable('device')
    .set({
      secret_sha256: hashSecret(secret),
      secret_issued_at: sql<Date>`now()`,
      previous_secret_sha256: isKept ? sql<Buffer>`secret_sha256` : null,
      previous_secret_until: isKept ? sql<Date>`now() + make_interval(secs => ${overlapSeconds})` : null,
    })
    .where('id', '=', deviceId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new Failure('UNKNOWN_DEVICE');
  return secret;
}

/** Revokes the certificates issued to a device before now. @throws Failure UNKNOWN_DEVICE */
export async function revokeCertificates(db: Database, deviceId: string): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('device')
    .set({ certificates_issued_from: sql`now()` })
    .where('id', '=', deviceId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) throw new Failure('UNKNOWN_DEVICE');
}

/** Gives a device without an owner to an application. */
export async function assignOwner(db: Database, deviceId: string, applicationId: number): Promise<void> {
  await db
    .updateTable('device')
    .set({ application_id: applicationId, claim_code_sha256: null })
    .where('id', '=', deviceId)
    .where('application_id', 'is', null)
    .where('deleted_at', 'is', null)
    .execute();
}

/** Takes a device from its owner, after the end of its link. @returns the code with which it can be claimed */
export async function releaseDevice(db: Database, deviceId: string): Promise<string> {
  const claimCode = createClaimCode();
  await db
    .updateTable('device')
    .set({ application_id: null, claim_code_sha256: hashClaimCode(claimCode) })
    .where('id', '=', deviceId)
    .execute();
  return claimCode;
}

/** Deletes a device, after the end of its link: it cannot connect again. */
export async function deleteDevice(db: Database, deviceId: string): Promise<void> {
  await db
    .updateTable('device')
    .set({
      deleted_at: sql<Date>`now()`,
      application_id: null,
      claim_code_sha256: null,
      secret_sha256: hashSecret(createSecret()),
      previous_secret_sha256: null,
      previous_secret_until: null,
      certificates_issued_from: new Date('9999-12-31'),
    })
    .where('id', '=', deviceId)
    .execute();
}

/** Lists devices by id, at most `limit` after the id `after`: those of some applications, or all. */
export async function listDevices(
  db: Database,
  { among, after, limit }: { among: readonly number[] | undefined; after: string; limit: number },
) {
  let query = db
    .selectFrom('device')
    .leftJoin('application', 'application.id', 'device.application_id')
    .leftJoin('device_link', (join) =>
      join.onRef('device_link.device_id', '=', 'device.id').on(sql<boolean>`upper_inf(device_link.period)`),
    )
    .select(['device.id', 'model_id', 'app_id', 'device_link.vehicle_id', 'device.created_at'])
    .where('device.id', '>', after)
    .where('device.deleted_at', 'is', null)
    .orderBy('device.id')
    .limit(limit);
  if (among !== undefined) query = query.where(sql<boolean>`device.application_id = any (${[...among]}::integer[])`);
  const rows = await query.execute();
  return rows.map((row) => ({
    deviceId: row.id,
    model: row.model_id,
    appId: row.app_id,
    vehicleId: row.vehicle_id === null ? null : String(row.vehicle_id),
    createdAt: row.created_at.toISOString(),
  }));
}
