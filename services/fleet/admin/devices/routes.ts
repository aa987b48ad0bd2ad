import type { OperatorRequest } from '@odograph/contracts/caller';
import { findListed } from '@odograph/database/accounts';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { findDeviceOwner } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, DeviceId, EmptyAnswer, moment, pageLimit, text, VehicleId } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { changeLinks, vehiclesOf } from '../../devices/queries.ts';
import { addLinkRoutes, addUnlinkRoutes, type DeviceOptions } from './link-routes.ts';
import {
  DeviceSecret,
  NewDevice,
  NewSecrets,
  type ProvisionedDevice,
  provisionDevice,
  recordProvisioning,
} from './provisioning.ts';
import { listDevices, replaceSecret, revokeCertificates } from './queries.ts';

const maximumOverlapSeconds = 30 * 86_400;
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
    maximum: maximumOverlapSeconds,
    default: 0,
    description: 'how long the old secret stays valid, at most until the new one is used; 0 ends it at once',
  }),
});

/** The operator's routes for devices, their links and their credentials. */
export function operatorDeviceRoutes(options: DeviceOptions): RoutePlugin {
  return (http) => {
    const { db, changes, recheckSession } = options;
    addCreation(http, options);
    addList(http, db);
    addLinkRoutes(http, db, changes);
    addUnlinkRoutes(http, options);
    addCredentialRoutes(http, db, recheckSession);
    addConnection(http, options);
  };
}

function addCreation(http: Http, { db, changes }: DeviceOptions): void {
  http.post(
    '/v1/x/admin/devices',
    {
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
    },
    async (request) => {
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
    },
  );
}

function addConnection(http: Http, { addressesFor }: DeviceOptions): void {
  http.get(
    '/v1/x/admin/device-connection',
    {
      schema: {
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
      },
    },
    async ({ hostname }) => addressesFor(hostname),
  );
}

function addList(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/x/admin/devices',
    {
      preValidation: leaveOutEmpty('appId', 'limit', 'after'),
      schema: {
        summary: 'List the devices of one application or of all',
        querystring: Type.Object({ appId: Type.Optional(AppId), limit: pageLimit, after: optionalText('unit-0001') }),
        response: answers(Type.Object({ devices: Type.Array(ListedDevice) }), 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ query: { appId, after, limit }, operator }) => {
      const among = await findListed(db, operator, appId);
      return { devices: await listDevices(db, { among, after, limit }) };
    },
  );
}

function addCredentialRoutes(http: Http, db: Kysely<Tables>, recheckSession: DeviceOptions['recheckSession']): void {
  const changeCredentials = async <T>(
    { ip, operator, params: { id } }: OperatorRequest & { params: { id: string } },
    action: string,
    change: (trx: Database) => Promise<T>,
  ): Promise<T> => {
    const changed = await db.transaction().execute(async (trx) => {
      const origin = operatorOrigin({ ip, operator }, await findDeviceOwner(trx, operator, id));
      const result = await change(trx);
      await appendAudit(trx, { ...origin, action, subject: `device:${id}`, outcome: 'done' });
      return result;
    });
    await recheckSession(id);
    return changed;
  };

  http.post(
    '/v1/x/admin/devices/:id/secret',
    {
      schema: {
        summary: 'Replace the secret of a device, shown only once; sessions with an invalid secret end',
        params: DevicePath,
        body: Rotation,
        response: answers(DeviceSecret, 'UNKNOWN_DEVICE'),
      },
    },
    async (request) => {
      const { id } = request.params;
      const replace = (trx: Database) => replaceSecret(trx, id, request.body.overlapSeconds);
      return { deviceId: id, secret: await changeCredentials(request, 'device.secret', replace) };
    },
  );
  http.delete(
    '/v1/x/admin/devices/:id/certificates',
    {
      schema: {
        summary: 'Revoke all client certificates issued to a device before now; sessions opened with one end',
        params: DevicePath,
        response: answers(EmptyAnswer, 'UNKNOWN_DEVICE'),
      },
    },
    async (request) => {
      const revoke = (trx: Database) => revokeCertificates(trx, request.params.id);
      await changeCredentials(request, 'device.certificates.revoke', revoke);
      return {};
    },
  );
}
