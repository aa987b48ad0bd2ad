import type { OperatorRequest } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { findDeviceOwner, findVehicleOwner } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, DeviceId, EmptyAnswer, VehicleId } from '@odograph/http/schemas';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { type Kysely, sql } from 'kysely';
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
const linkRefusals = ['UNKNOWN_DEVICE', 'UNKNOWN_VEHICLE', 'VEHICLE_ARCHIVED', 'VEHICLE_ALREADY_LINKED'] as const;

const onlyIfLinked = 'the vehicle that the device must still be linked to: else CHANGED_MEANWHILE';

interface LinkBody {
  readonly vehicleId: string;
  readonly fromVehicleId?: string;
}

/**
 * Checks that the link of a device is the one that a person saw; run it in changeLinks.
 * @throws Failure CHANGED_MEANWHILE
 */
async function requireLinkTo(trx: Database, deviceId: string, vehicleId: string | undefined): Promise<void> {
  if (vehicleId === undefined) return;
  const link = await trx
    .selectFrom('device_link')
    .select('vehicle_id')
    .where('device_id', '=', deviceId)
    .where(sql<boolean>`upper_inf(period)`)
    .executeTakeFirst();
  if (String(link?.vehicle_id) !== vehicleId) throw new Failure('CHANGED_MEANWHILE');
}

/** The rules are those of /v1/device, for the application of the vehicle. */
export function addLinkRoutes(http: Http, db: Kysely<Tables>, changes: ChangeAnnouncer): void {
  const body = Type.Object({ vehicleId: VehicleId });
  const linkTo = async (
    { params, body, ip, operator }: OperatorRequest & { params: { id: string }; body: LinkBody },
    change: typeof linkDevice,
  ): Promise<Record<string, never>> => {
    const target = { deviceId: params.id, vehicleId: body.vehicleId };
    const made = await changeLinks(db, async (trx) => {
      const applicationId = await findVehicleOwner(trx, operator, body.vehicleId);
      await findDeviceOwner(trx, operator, params.id);
      await requireLinkTo(trx, params.id, body.fromVehicleId);
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
      preValidation: leaveOutEmpty('fromVehicleId'),
      schema: {
        params: DevicePath,
        summary: 'Move a device to another vehicle',
        body: Type.Object({
          vehicleId: VehicleId,
          fromVehicleId: Type.Optional(Type.Unsafe<string>({ ...VehicleId, description: onlyIfLinked })),
        }),
        response: answers(EmptyAnswer, ...linkRefusals, 'CHANGED_MEANWHILE'),
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

function addUnlinking(http: Http, { db, changes }: DeviceOptions): void {
  http.delete(
    '/v1/x/admin/devices/:id/link',
    {
      preValidation: leaveOutEmpty('vehicleId'),
      schema: {
        summary: 'Unlink a device from its vehicle',
        params: DevicePath,
        body: Type.Object({
          vehicleId: Type.Optional(Type.Unsafe<string>({ ...VehicleId, description: onlyIfLinked })),
        }),
        response: answers(EmptyAnswer, 'UNKNOWN_DEVICE', 'CHANGED_MEANWHILE'),
      },
    },
    async ({ params, body, ip, operator }) => {
      const ended = await changeLinks(db, async (trx) => {
        await findDeviceOwner(trx, operator, params.id);
        await requireLinkTo(trx, params.id, body.vehicleId);
        return endLinkOf(trx, params.id, { ip, operator });
      });
      await changes.announce(ended);
      return {};
    },
  );
}

/** Where devices connect to, the best address first. */
export interface DeviceAddresses {
  /** Of the MQTT broker. */
  readonly urls: string[];
  /** For Teltonika devices: tcp://, udp:// or tls://; none while their ports are closed. */
  readonly teltonika: string[];
}

/** What the operator's routes for devices use. */
export interface DeviceOptions {
  readonly db: Kysely<Tables>;
  readonly changes: ChangeAnnouncer;
  /** Has the brokers check the MQTT session of a device again; it ends if its credentials are no longer valid. */
  readonly recheckSession: (deviceId: string) => Promise<void>;
  /** Where devices connect to. @param hostname the name by which the request reached the platform */
  readonly addressesFor: (hostname: string) => DeviceAddresses;
}

/** Routes that end the link of a device: unlinking, releasing and deleting it. */
export function addUnlinkRoutes(http: Http, options: DeviceOptions): void {
  addUnlinking(http, options);
  const { db, changes, recheckSession } = options;
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
