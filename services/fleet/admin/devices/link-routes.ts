import type { OperatorRequest } from '@odograph/contracts/caller';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { findDeviceOwner, findVehicleOwner } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { answers, DeviceId, EmptyAnswer, VehicleId } from '@odograph/http/schemas';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import {
  changeLinks,
  linkDevice,
  moveDevice,
  recordLinkChange,
  unlinkDevice,
  vehiclesOf,
} from '../../devices/queries.ts';
import { assignOwner, deleteDevice, releaseDevice } from './queries.ts';

const DevicePath = Type.Object({ id: DeviceId });
const ReleasedDevice = Type.Object(
  { deviceId: DeviceId, claimCode: Type.String({ examples: ['K7QX-2M4P'] }) },
  { title: 'ReleasedDevice' },
);
const linkRefusals = ['UNKNOWN_DEVICE', 'UNKNOWN_VEHICLE', 'VEHICLE_NOT_AVAILABLE', 'VEHICLE_ALREADY_LINKED'] as const;

/** The rules are those of /v1/device, for the application of the vehicle. */
export function addLinkRoutes(http: Http, db: Kysely<Tables>, changes: ChangeAnnouncer): void {
  const body = Type.Object({ vehicleId: VehicleId });
  const linkTo = async (
    { params, body, ip, operator }: OperatorRequest & { params: { id: string }; body: { vehicleId: string } },
    change: typeof linkDevice,
  ): Promise<Record<string, never>> => {
    const target = { deviceId: params.id, vehicleId: body.vehicleId };
    const made = await changeLinks(db, async (trx) => {
      const applicationId = await findVehicleOwner(trx, operator, body.vehicleId);
      await findDeviceOwner(trx, operator, params.id);
      await assignOwner(trx, params.id, applicationId);
      const link = await change(trx, { applicationId }, target);
      return recordLinkChange(trx, operatorOrigin({ ip, operator }, applicationId), params.id, link);
    });
    await changes.announce({ vehicleIds: vehiclesOf(made) });
    return {};
  };

  http.post(
    '/v1/x/admin/devices/:id/link',
    {
      schema: {
        params: DevicePath,
        summary: 'Link a device to a vehicle',
        body,
        response: answers(EmptyAnswer, ...linkRefusals, 'DEVICE_ALREADY_LINKED'),
      },
    },
    (request) => linkTo(request, linkDevice),
  );
  http.put(
    '/v1/x/admin/devices/:id/link',
    {
      schema: {
        params: DevicePath,
        summary: 'Move a device to another vehicle',
        body,
        response: answers(EmptyAnswer, ...linkRefusals),
      },
    },
    (request) => linkTo(request, moveDevice),
  );
}

/** Ends the link of a device, if it has one. @returns its vehicle, and the owner of the device; null without an owner */
async function endLinkOf(
  trx: Database,
  deviceId: string,
  request: OperatorRequest,
): Promise<{ applicationId: number | null; vehicleIds: number[] }> {
  const applicationId = await findDeviceOwner(trx, request.operator, deviceId);
  // A device without an owner has no link.
  if (applicationId === null) return { applicationId, vehicleIds: [] };
  const change = await unlinkDevice(trx, { applicationId }, deviceId);
  await recordLinkChange(trx, operatorOrigin(request, applicationId), deviceId, change);
  return { applicationId, vehicleIds: vehiclesOf(change) };
}

/** What the operator's routes for devices use. */
export interface DeviceOptions {
  readonly db: Kysely<Tables>;
  readonly changes: ChangeAnnouncer;
  /** Has the brokers check the MQTT session of a device again; it ends if its credentials are no longer valid. */
  readonly recheckSession: (deviceId: string) => Promise<void>;
}

/** Routes that end the link of a device: unlinking, releasing and deleting it. */
export function addUnlinkRoutes(http: Http, { db, changes, recheckSession }: DeviceOptions): void {
  const endLinkAnd = async <T>(
    { params: { id }, ip, operator }: OperatorRequest & { params: { id: string } },
    action: 'device.release' | 'device.delete',
    change: (trx: Database, deviceId: string) => Promise<T>,
  ): Promise<T> => {
    const made = await changeLinks(db, async (trx) => {
      const ended = await endLinkOf(trx, id, { ip, operator });
      const changed = await change(trx, id);
      const origin = operatorOrigin({ ip, operator }, ended.applicationId);
      await appendAudit(trx, { ...origin, action, subject: `device:${id}`, outcome: 'done' });
      return { changed, vehicleIds: ended.vehicleIds };
    });
    await changes.announce(made);
    return made.changed;
  };

  http.delete(
    '/v1/x/admin/devices/:id/link',
    {
      schema: {
        summary: 'Unlink a device from its vehicle',
        params: DevicePath,
        response: answers(EmptyAnswer, 'UNKNOWN_DEVICE'),
      },
    },
    async ({ params, ip, operator }) => {
      await changes.announce(await changeLinks(db, (trx) => endLinkOf(trx, params.id, { ip, operator })));
      return {};
    },
  );
  http.post(
    '/v1/x/admin/devices/:id/release',
    {
      schema: {
        summary: 'Unlink a device and take it from its application; the new claim code is shown only once',
        params: DevicePath,
        response: answers(ReleasedDevice, 'UNKNOWN_DEVICE'),
      },
    },
    async (request) => ({
      deviceId: request.params.id,
      claimCode: await endLinkAnd(request, 'device.release', releaseDevice),
    }),
  );
  http.delete(
    '/v1/x/admin/devices/:id',
    {
      schema: {
        summary: 'Delete a device: its link and session end, and it cannot connect again',
        params: DevicePath,
        response: answers(EmptyAnswer, 'UNKNOWN_DEVICE'),
      },
    },
    async (request) => {
      await endLinkAnd(request, 'device.delete', deleteDevice);
      await recheckSession(request.params.id);
      return {};
    },
  );
}
