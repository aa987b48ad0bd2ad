import type { Caller } from '@odograph/contracts/caller';
import { originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, DeviceId, EmptyAnswer, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { operatedDevices } from './admin.ts';
import { canDatabases } from './can-databases.ts';
import { deviceImports } from './imports.ts';
import {
  changeLinks,
  type LinkChange,
  linkDevice,
  moveDevice,
  recordLinkChange,
  unlinkDevice,
  vehiclesOf,
} from './links.ts';
import { deviceModels } from './models.ts';
import { deviceTable } from './table.ts';

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
const links: FleetRoutes = { token: [addLinkRoutes] };
export const deviceRoutes: readonly FleetRoutes[] = [
  ...[links, operatedDevices, deviceImports],
  ...[deviceModels, canDatabases, deviceTable],
];

function addLinkRoutes(http: Http, { db, changes }: Fleet): void {
  const changeLink = async (request: { caller: Caller; ip: string }, deviceId: string, change: Change) => {
    const made = await changeLinks(db, async (trx) =>
      recordLinkChange(trx, originOf(request), deviceId, await change(trx)),
    );
    await changes.announce({ vehicleIds: vehiclesOf(made) });
  };

  const linkSchema = {
    ...route,
    summary: 'Link a device to a vehicle',
    body: Link,
    response: answers(EmptyAnswer, ...refusals, 'DEVICE_ALREADY_LINKED'),
  };
  http.post('/v1/device', { preValidation: leaveOutEmpty('claimCode'), schema: linkSchema }, async (request) => {
    const { caller, body } = request;
    await changeLink(request, body.deviceId, (trx) => linkDevice(trx, caller, body));
    return {};
  });

  const moveSchema = {
    ...route,
    summary: 'Move a device to another vehicle',
    body: Link,
    response: answers(EmptyAnswer, ...refusals),
  };
  http.put('/v1/device', { preValidation: leaveOutEmpty('claimCode'), schema: moveSchema }, async (request) => {
    const { caller, body } = request;
    await changeLink(request, body.deviceId, (trx) => moveDevice(trx, caller, body));
    return {};
  });

  const unlinkSchema = {
    ...route,
    summary: 'Unlink a device from its vehicle',
    body: Type.Object({ deviceId: DeviceId }),
    response: answers(EmptyAnswer, 'UNKNOWN_DEVICE', 'UNAUTHORIZED'),
  };
  http.delete('/v1/device', { schema: unlinkSchema }, async (request) => {
    const { caller, body } = request;
    await changeLink(request, body.deviceId, (trx) => unlinkDevice(trx, caller, body.deviceId));
    return {};
  });
}
