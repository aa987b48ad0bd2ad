import { operatorOrigin } from '@odograph/database/audit-origin';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { adminRoute } from '@odograph/http/operator-routes';
import { answers, DeviceId, EmptyAnswer, VehicleId } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { changeLinks, linkDevice, moveDevice, unlinkDevice } from '../../devices/links.ts';
import { recordLink } from '../../devices/record-link.ts';
import { applicationOfVehicle, findOwner } from './queries.ts';

const DevicePath = Type.Object({ id: DeviceId });
const Vehicle = Type.Object({ vehicleId: VehicleId });
const refusals = ['UNKNOWN_DEVICE', 'UNKNOWN_VEHICLE', 'VEHICLE_NOT_AVAILABLE', 'VEHICLE_ALREADY_LINKED'] as const;

/** The operator's routes for the links of devices: the rules of /v1/device, as the application of the vehicle. */
export function addLinkRoutes(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/devices/:id/link',
    {
      schema: {
        ...adminRoute,
        summary: 'Link a device to a vehicle',
        params: DevicePath,
        body: Vehicle,
        response: answers(EmptyAnswer, ...refusals, 'DEVICE_ALREADY_LINKED'),
      },
    },
    async ({ params: { id: deviceId }, body: { vehicleId }, ip }) => {
      await changeLinks(db, async (trx) => {
        const applicationId = await applicationOfVehicle(trx, vehicleId);
        const change = await linkDevice(trx, { applicationId }, { deviceId, vehicleId });
        await recordLink(trx, operatorOrigin({ ip }, applicationId), deviceId, change);
      });
      return {};
    },
  );

  http.put(
    '/v1/x/admin/devices/:id/link',
    {
      schema: {
        ...adminRoute,
        summary: 'Move a device to another vehicle',
        params: DevicePath,
        body: Vehicle,
        response: answers(EmptyAnswer, ...refusals),
      },
    },
    async ({ params: { id: deviceId }, body: { vehicleId }, ip }) => {
      await changeLinks(db, async (trx) => {
        const applicationId = await applicationOfVehicle(trx, vehicleId);
        const change = await moveDevice(trx, { applicationId }, { deviceId, vehicleId });
        await recordLink(trx, operatorOrigin({ ip }, applicationId), deviceId, change);
      });
      return {};
    },
  );

  addUnlinkRoute(http, db);
}

function addUnlinkRoute(http: Http, db: Kysely<Tables>): void {
  http.delete(
    '/v1/x/admin/devices/:id/link',
    {
      schema: {
        ...adminRoute,
        summary: 'Unlink a device from its vehicle',
        params: DevicePath,
        response: answers(EmptyAnswer, 'UNKNOWN_DEVICE'),
      },
    },
    async ({ params, ip }) => {
      await changeLinks(db, async (trx) => {
        const applicationId = await findOwner(trx, params.id);
        // One in stock has no link that could end.
        if (applicationId === null) return;
        const change = await unlinkDevice(trx, { applicationId }, params.id);
        await recordLink(trx, operatorOrigin({ ip }, applicationId), params.id, change);
      });
      return {};
    },
  );
}
