import { originOf } from '@odograph/database/audit-origin';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { answers, DeviceId, EmptyAnswer, VehicleId } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { changeLinks, linkDevice, moveDevice, unlinkDevice } from './links.ts';
import { recordLink } from './record-link.ts';

const Link = Type.Object({ vehicleId: VehicleId, deviceId: DeviceId });
const refusals = ['UNKNOWN_DEVICE', 'UNKNOWN_VEHICLE', 'VEHICLE_NOT_AVAILABLE', 'VEHICLE_ALREADY_LINKED'] as const;
const common = { tags: ['vehicles and devices'], security: [{ serviceToken: [] }] };

/** POST, PUT and DELETE /v1/device (interface specification, "Vehicles and devices"). */
export function addDeviceRoutes(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/device',
    {
      schema: {
        ...common,
        summary: 'Link a device to a vehicle',
        body: Link,
        response: answers(EmptyAnswer, ...refusals, 'DEVICE_ALREADY_LINKED'),
      },
    },
    async (request) => {
      const { caller, body } = request;
      await changeLinks(db, async (trx) => {
        await recordLink(trx, originOf(request), body.deviceId, await linkDevice(trx, caller, body));
      });
      return {};
    },
  );

  http.put(
    '/v1/device',
    {
      schema: {
        ...common,
        summary: 'Move a device to another vehicle',
        body: Link,
        response: answers(EmptyAnswer, ...refusals),
      },
    },
    async (request) => {
      const { caller, body } = request;
      await changeLinks(db, async (trx) => {
        await recordLink(trx, originOf(request), body.deviceId, await moveDevice(trx, caller, body));
      });
      return {};
    },
  );

  http.delete(
    '/v1/device',
    {
      schema: {
        ...common,
        summary: 'Unlink a device from its vehicle',
        body: Type.Object({ deviceId: DeviceId }),
        response: answers(EmptyAnswer, 'UNKNOWN_DEVICE'),
      },
    },
    async (request) => {
      const { caller, body } = request;
      await changeLinks(db, async (trx) => {
        await recordLink(trx, originOf(request), body.deviceId, await unlinkDevice(trx, caller, body.deviceId));
      });
      return {};
    },
  );
}
