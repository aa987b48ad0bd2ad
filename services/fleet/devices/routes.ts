import type { Caller } from '@odograph/contracts/caller';
import { originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, DeviceId, EmptyAnswer, VehicleId } from '@odograph/http/schemas';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import {
  changeLinks,
  type LinkChange,
  linkDevice,
  moveDevice,
  recordLinkChange,
  unlinkDevice,
  vehiclesOf,
} from './queries.ts';

const Link = Type.Object({
  vehicleId: VehicleId,
  deviceId: DeviceId,
  claimCode: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'for a device without an owner: the code that came with it',
      examples: ['K7QX-2M4P'],
    }),
  ),
});
const refusals = [
  'UNKNOWN_DEVICE',
  'INVALID_CLAIM_CODE',
  'UNKNOWN_VEHICLE',
  'UNAUTHORIZED',
  'VEHICLE_ARCHIVED',
  'VEHICLE_ALREADY_LINKED',
] as const;
const route = { tags: ['vehicles and devices'] };

type Change = (trx: Database) => Promise<LinkChange>;

/** POST, PUT and DELETE /v1/device (interface specification, "Vehicles and devices"). */
export function deviceRoutes(db: Kysely<Tables>, changes: ChangeAnnouncer): RoutePlugin {
  return (http) => {
    const changeLink = async (request: { caller: Caller; ip: string }, deviceId: string, change: Change) => {
      const made = await changeLinks(db, async (trx) =>
        recordLinkChange(trx, originOf(request), deviceId, await change(trx)),
      );
      await changes.announce({ vehicleIds: vehiclesOf(made) });
    };

    http.post(
      '/v1/device',
      {
        preValidation: leaveOutEmpty('claimCode'),
        schema: {
          ...route,
          summary: 'Link a device to a vehicle',
          body: Link,
          response: answers(EmptyAnswer, ...refusals, 'DEVICE_ALREADY_LINKED'),
        },
      },
      async (request) => {
        const { caller, body } = request;
        await changeLink(request, body.deviceId, (trx) => linkDevice(trx, caller, body));
        return {};
      },
    );

    http.put(
      '/v1/device',
      {
        preValidation: leaveOutEmpty('claimCode'),
        schema: {
          ...route,
          summary: 'Move a device to another vehicle',
          body: Link,
          response: answers(EmptyAnswer, ...refusals),
        },
      },
      async (request) => {
        const { caller, body } = request;
        await changeLink(request, body.deviceId, (trx) => moveDevice(trx, caller, body));
        return {};
      },
    );

    http.delete(
      '/v1/device',
      {
        schema: {
          ...route,
          summary: 'Unlink a device from its vehicle',
          body: Type.Object({ deviceId: DeviceId }),
          response: answers(EmptyAnswer, 'UNKNOWN_DEVICE', 'UNAUTHORIZED'),
        },
      },
      async (request) => {
        const { caller, body } = request;
        await changeLink(request, body.deviceId, (trx) => unlinkDevice(trx, caller, body.deviceId));
        return {};
      },
    );
  };
}
