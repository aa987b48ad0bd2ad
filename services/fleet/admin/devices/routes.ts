import { invalidParameter } from '@odograph/contracts/failures';
import { serviceAccountPrefix } from '@odograph/contracts/service-accounts';
import { deviceIdPattern } from '@odograph/contracts/topics';
import { findApplicationId } from '@odograph/database/applications';
import { appendAudit } from '@odograph/database/audit';
import { type AuditOrigin, operatorOrigin } from '@odograph/database/audit-origin';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { AppId, adminRoute } from '@odograph/http/operator-routes';
import { answers, text, VehicleId } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { changeLinks, linkDevice } from '../../devices/links.ts';
import { recordLink } from '../../devices/record-link.ts';
import { DeviceSecret, pageLimit } from '../schemas.ts';
import { applicationOfVehicle, createDevice, listDevices, type NewDevice } from './queries.ts';

const nullable = Type.Union([Type.String(), Type.Null()]);
const ListedDevice = Type.Object({
  deviceId: Type.String(),
  model: Type.String(),
  appId: nullable,
  vehicleId: nullable,
  createdAt: Type.String(),
});
const optionalText = Type.Unsafe<string>({ ...text(0, 64), default: '' });
const NewDeviceBody = Type.Object({
  id: Type.String({ pattern: deviceIdPattern, description: '1 to 64 of A-Z a-z 0-9 . _ : -' }),
  model: text(1, 64),
  appId: Type.Optional(AppId),
  vehicleId: Type.Optional(VehicleId),
  bluetoothName: optionalText,
  bluetoothPin: optionalText,
});

async function enter(trx: Database, origin: AuditOrigin, device: NewDevice) {
  const secret = await createDevice(trx, device);
  const { id, model } = device;
  await appendAudit(trx, {
    ...origin,
    action: 'device.create',
    subject: `device:${id}`,
    details: { model },
    outcome: 'done',
  });
  return { deviceId: id, secret };
}

/** Enters devices; the secret is in the answer and nowhere else. */
export function addDeviceCreation(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/devices',
    {
      schema: {
        ...adminRoute,
        summary: 'Enter a device, and link it to a vehicle when one is given; its secret is shown only now',
        body: NewDeviceBody,
        response: answers(
          DeviceSecret,
          'UNKNOWN_APPLICATION',
          'UNKNOWN_VEHICLE',
          'ALREADY_EXISTS',
          'VEHICLE_NOT_AVAILABLE',
          'VEHICLE_ALREADY_LINKED',
        ),
      },
    },
    async ({ body: { id, appId, vehicleId, ...rest }, ip }) => {
      if (id.startsWith(serviceAccountPrefix)) {
        throw invalidParameter('id', `must not begin with ${serviceAccountPrefix}`);
      }
      const applicationId = appId === undefined ? null : await findApplicationId(db, appId);
      const device = { ...rest, id, applicationId };
      if (vehicleId === undefined) {
        const origin = operatorOrigin({ ip }, applicationId ?? undefined);
        return db.transaction().execute((trx) => enter(trx, origin, device));
      }
      const caller = { applicationId: await applicationOfVehicle(db, vehicleId) };
      if (applicationId !== null && applicationId !== caller.applicationId) {
        throw invalidParameter('vehicleId', 'is a vehicle of another application');
      }
      return changeLinks(db, async (trx) => {
        const origin = operatorOrigin({ ip }, caller.applicationId);
        const entered = await enter(trx, origin, device);
        await recordLink(trx, origin, id, await linkDevice(trx, caller, { deviceId: id, vehicleId }));
        return entered;
      });
    },
  );
}

/** Lists devices. */
export function addDeviceList(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/x/admin/devices',
    {
      schema: {
        ...adminRoute,
        summary: 'List the devices, of one application or of all',
        querystring: Type.Object({
          appId: Type.Optional(AppId),
          limit: pageLimit,
          after: Type.Unsafe<string>({ ...text(0, 64), default: '' }),
        }),
        response: answers(Type.Object({ devices: Type.Array(ListedDevice) }), 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ query: { appId, after, limit } }) => {
      const applicationId = appId === undefined ? undefined : await findApplicationId(db, appId);
      return { devices: await listDevices(db, { applicationId, after, limit }) };
    },
  );
}
