import type { OperatorRequest } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { findListed } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { findDeviceOwner, findVehicleOwner } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, DeviceId, EmptyAnswer, moment, pageLimit, text, VehicleId } from '@odograph/http/schemas';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { changeLinks, linkDevice, moveDevice, recordLinkChange, unlinkDevice, vehiclesOf } from './links.ts';
import {
  assignOwner,
  DeviceSecret,
  deleteDevice,
  listDevices,
  NewDevice,
  NewSecrets,
  type ProvisionedDevice,
  provisionDevice,
  recordProvisioning,
  releaseDevice,
  replaceSecret,
  revokeCertificates,
} from './provisioning.ts';

const maxOverlapSeconds = 30 * 86_400;
const optionalText = (example: string) => Type.Unsafe<string>({ ...text(0, 64, { examples: [example] }), default: '' });
const DevicePath = Type.Object({ id: DeviceId });
const ListedDevice = Type.Object(
  {
    deviceId: DeviceId,
    model: Type.String({ examples: ['generic'] }),
    appId: Type.Union([AppId, Type.Null()]),
    vehicleId: Type.Union([VehicleId, Type.Null()]),
    createdAt: moment('when it was created'),
  },
  { title: 'ListedDevice' },
);
const Rotation = Type.Object({
  overlapSeconds: Type.Integer({
    minimum: 0,
    maximum: maxOverlapSeconds,
    default: 0,
    description: 'how long the old secret stays valid, at most until the new one is used; 0 ends it at once',
  }),
});

/** The operator's routes for devices, their links and their credentials. */
export const operatedDevices: FleetRoutes = {
  operator: [
    ...[addCreation, addList, addLinking, addUnlinking, addRelease, addDeletion],
    ...[addCredentialRoutes, addConnection],
  ],
};

function addCreation(http: Http, { db, changes }: Fleet): void {
  const createOptions = {
    preValidation: leaveOutEmpty('appId', 'vehicleId', 'bluetoothName', 'bluetoothPin'),
    schema: {
      summary: 'Create a device and link it to a vehicle if one is given; its secret is shown only once',
      body: NewDevice,
      response: answers(
        NewSecrets,
        'UNKNOWN_APPLICATION',
        'UNKNOWN_VEHICLE',
        'ALREADY_EXISTS',
        'VEHICLE_ARCHIVED',
        'VEHICLE_ALREADY_LINKED',
      ),
    },
  };
  http.post('/v1/x/admin/devices', createOptions, async (request) => {
    const { body, operator } = request;
    const provision = async (trx: Database): Promise<ProvisionedDevice> => {
      const provisioned = await provisionDevice(trx, operator, body);
      await recordProvisioning(trx, request, provisioned);
      return provisioned;
    };
    if (body.vehicleId === undefined) return (await db.transaction().execute(provision)).secrets;
    const { secrets, link } = await changeLinks(db, provision);
    await changes.announce({ vehicleIds: vehiclesOf(link ?? {}) });
    return secrets;
  });
}

/**
 * The addresses for devices, the best one first: MQTT_PUBLIC_URL, else the ports at the name by which the request reached
 * the platform. Teltonika devices connect to the same host; they have no address while their ports are closed.
 */
function addressesOf(config: ResolvedConfig, hostname: string): { urls: string[]; teltonika: string[] } {
  const { MQTT_PUBLIC_URL: publicUrl, TELTONIKA_PORT: port, TELTONIKA_TLS_PORT: tlsPort } = config;
  const host = publicUrl === undefined ? hostname : new URL(publicUrl).hostname;
  return {
    urls: publicUrl === undefined ? mqttAddresses(config, hostname) : [publicUrl],
    teltonika: [
      ...(tlsPort > 0 ? [`tls://${host}:${tlsPort}`] : []),
      ...(port > 0 ? [`tcp://${host}:${port}`] : []),
      ...(port > 0 && config.TELTONIKA_UDP ? [`udp://${host}:${port}`] : []),
    ],
  };
}

function mqttAddresses(config: ResolvedConfig, hostname: string): string[] {
  const plain = `mqtt://${hostname}:${config.MQTT_PORT}`;
  return config.MQTT_TLS_CERTIFICATE === undefined ? [plain] : [`mqtts://${hostname}:${config.MQTTS_PORT}`, plain];
}

function addConnection(http: Http, { config }: Fleet): void {
  const connectionSchema = {
    summary: 'Addresses at which devices reach the platform: over MQTT, and in the protocol of Teltonika',
    response: answers(
      Type.Object(
        {
          urls: Type.Array(Type.String({ examples: ['mqtts://telematics.example.com:8883'] })),
          teltonika: Type.Array(Type.String({ examples: ['tcp://telematics.example.com:5027'] })),
        },
        { title: 'DeviceConnection' },
      ),
    ),
  };
  http.get('/v1/x/admin/device-connection', { schema: connectionSchema }, async ({ hostname }) =>
    addressesOf(config, hostname),
  );
}

function addList(http: Http, { db }: Fleet): void {
  const listOptions = {
    preValidation: leaveOutEmpty('appId', 'limit', 'after'),
    schema: {
      summary: 'List the devices of one application or of all',
      querystring: Type.Object({ appId: Type.Optional(AppId), limit: pageLimit, after: optionalText('unit-0001') }),
      response: answers(Type.Object({ devices: Type.Array(ListedDevice) }), 'UNKNOWN_APPLICATION'),
    },
  };
  http.get('/v1/x/admin/devices', listOptions, async ({ query: { appId, after, limit }, operator }) => {
    const among = await findListed(db, operator, appId);
    return { devices: await listDevices(db, { among, after, limit }) };
  });
}

function addCredentialRoutes(http: Http, { db, recheckSession }: Fleet): void {
  const changeCredentials = async <T>(
    { ip, operator, params: { id } }: OperatorRequest & { params: { id: string } },
    action: string,
    change: (trx: Database) => Promise<T>,
  ): Promise<T> => {
    const changed = await db.transaction().execute(async (trx) => {
      const applicationId = await findDeviceOwner(trx, operator, id);
      const result = await change(trx);
      await auditChange(trx, operatorOrigin({ ip, operator }, applicationId), action, `device:${id}`);
      return result;
    });
    await recheckSession(id);
    return changed;
  };

  const secretSchema = {
    summary: 'Replace the secret of a device, shown only once; sessions with an invalid secret end',
    params: DevicePath,
    body: Rotation,
    response: answers(DeviceSecret, 'UNKNOWN_DEVICE'),
  };
  http.post('/v1/x/admin/devices/:id/secret', { schema: secretSchema }, async (request) => {
    const { id } = request.params;
    const replace = (trx: Database) => replaceSecret(trx, id, request.body.overlapSeconds);
    return { deviceId: id, secret: await changeCredentials(request, 'device.secret', replace) };
  });
  const certificatesSchema = {
    summary: 'Revoke all client certificates issued to a device before now; sessions opened with one end',
    params: DevicePath,
    response: answers(EmptyAnswer, 'UNKNOWN_DEVICE'),
  };
  http.delete('/v1/x/admin/devices/:id/certificates', { schema: certificatesSchema }, async (request) => {
    const revoke = (trx: Database) => revokeCertificates(trx, request.params.id);
    await changeCredentials(request, 'device.certificates.revoke', revoke);
    return {};
  });
}

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
function addLinking(http: Http, { db, changes }: Fleet): void {
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

  const linkSchema = {
    params: DevicePath,
    summary: 'Link a device to a vehicle',
    body,
    response: answers(EmptyAnswer, ...linkRefusals, 'DEVICE_ALREADY_LINKED'),
  };
  http.post('/v1/x/admin/devices/:id/link', { schema: linkSchema }, (request) => linkTo(request, linkDevice));
  const moveOptions = {
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
  };
  http.put('/v1/x/admin/devices/:id/link', moveOptions, (request) => linkTo(request, moveDevice));
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

function addUnlinking(http: Http, { db, changes }: Fleet): void {
  const unlinkOptions = {
    preValidation: leaveOutEmpty('vehicleId'),
    schema: {
      summary: 'Unlink a device from its vehicle',
      params: DevicePath,
      body: Type.Object({
        vehicleId: Type.Optional(Type.Unsafe<string>({ ...VehicleId, description: onlyIfLinked })),
      }),
      response: answers(EmptyAnswer, 'UNKNOWN_DEVICE', 'CHANGED_MEANWHILE'),
    },
  };
  http.delete('/v1/x/admin/devices/:id/link', unlinkOptions, async ({ params, body, ip, operator }) => {
    const ended = await changeLinks(db, async (trx) => {
      await findDeviceOwner(trx, operator, params.id);
      await requireLinkTo(trx, params.id, body.vehicleId);
      return endLinkOf(trx, params.id, { ip, operator });
    });
    await changes.announce(ended);
    return {};
  });
}

/** Ends the link of a device and makes a further change of it. @returns what the change returns */
async function endLinkAnd<T>(
  { db, changes }: Fleet,
  { params: { id }, ip, operator }: OperatorRequest & { params: { id: string } },
  action: 'device.release' | 'device.delete',
  change: (trx: Database, deviceId: string) => Promise<T>,
): Promise<T> {
  const { changed, vehicleIds } = await changeLinks(db, async (trx) => {
    const ended = await endLinkOf(trx, id, { ip, operator });
    const result = await change(trx, id);
    await auditChange(trx, operatorOrigin({ ip, operator }, ended.applicationId), action, `device:${id}`);
    return { changed: result, vehicleIds: ended.vehicleIds };
  });
  await changes.announce({ vehicleIds });
  return changed;
}

function addRelease(http: Http, fleet: Fleet): void {
  const releaseSchema = {
    summary: 'Unlink a device and take it from its application; the new claim code is shown only once',
    params: DevicePath,
    response: answers(ReleasedDevice, 'UNKNOWN_DEVICE'),
  };
  http.post('/v1/x/admin/devices/:id/release', { schema: releaseSchema }, async (request) => ({
    deviceId: request.params.id,
    claimCode: await endLinkAnd(fleet, request, 'device.release', releaseDevice),
  }));
}

function addDeletion(http: Http, fleet: Fleet): void {
  const deleteSchema = {
    summary: 'Delete a device: its link and session end, and it cannot connect again',
    params: DevicePath,
    response: answers(EmptyAnswer, 'UNKNOWN_DEVICE'),
  };
  http.delete('/v1/x/admin/devices/:id', { schema: deleteSchema }, async (request) => {
    await endLinkAnd(fleet, request, 'device.delete', deleteDevice);
    await fleet.recheckSession(request.params.id);
    return {};
  });
}
