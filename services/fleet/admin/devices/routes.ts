import type { OperatorRequest } from '@odograph/contracts/caller';
import { invalidParameter } from '@odograph/contracts/failures';
import { serviceAccountPrefix } from '@odograph/contracts/service-accounts';
import { deviceIdPattern } from '@odograph/contracts/topics';
import { findApplicationId, findListed, findScope } from '@odograph/database/accounts';
import { type AuditOrigin, appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { findDeviceOwner, findVehicleOwner } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { AppId, pageLimit } from '@odograph/http/operator-routes';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, DeviceId, EmptyAnswer, moment, text, VehicleId } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { changeLinks, linkDevice, recordLinkChange } from '../../devices/queries.ts';
import { addLinkRoutes, addUnlinkRoutes, type DeviceOptions } from './link-routes.ts';
import {
  createDevice,
  type DeviceSecrets,
  listDevices,
  type NewDevice,
  replaceSecret,
  revokeCertificates,
} from './queries.ts';

const maximumOverlapSeconds = 30 * 86_400;
const optionalText = (example: string) => Type.Unsafe<string>({ ...text(0, 64, { examples: [example] }), default: '' });
const DevicePath = Type.Object({ id: DeviceId });
const DeviceSecret = Type.Object(
  { deviceId: DeviceId, secret: Type.String({ examples: ['c2VjcmV0LW9mLXRoZS1kZXZpY2U'] }) },
  { title: 'DeviceSecret' },
);
const NewSecrets = Type.Object(
  {
    ...DeviceSecret.properties,
    claimCode: Type.Optional(
      Type.String({ description: 'lets an application link a device without an owner', examples: ['K7QX-2M4P'] }),
    ),
  },
  { title: 'NewDevice' },
);
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
const NewDeviceBody = Type.Object({
  id: Type.String({ pattern: deviceIdPattern, description: '1 to 64 of A-Z a-z 0-9 . _ : -', examples: ['unit-0001'] }),
  model: text(1, 64, { examples: ['generic'] }),
  appId: Type.Optional(AppId),
  vehicleId: Type.Optional(VehicleId),
  bluetoothName: optionalText('ODO-0001'),
  bluetoothPin: optionalText('0000'),
});
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
  };
}

async function enterDevice(trx: Database, origin: AuditOrigin, device: NewDevice): Promise<DeviceSecrets> {
  const secrets = await createDevice(trx, device);
  const { id, model } = device;
  const subject = `device:${id}`;
  await appendAudit(trx, { ...origin, action: 'device.create', subject, details: { model }, outcome: 'done' });
  return secrets;
}

function addCreation(http: Http, { db, changes }: DeviceOptions): void {
  http.post(
    '/v1/x/admin/devices',
    {
      preValidation: leaveOutEmpty('appId', 'vehicleId', 'bluetoothName', 'bluetoothPin'),
      schema: {
        summary: 'Create a device and link it to a vehicle if one is given; its secret is shown only once',
        body: NewDeviceBody,
        response: answers(
          NewSecrets,
          'UNKNOWN_APPLICATION',
          'UNKNOWN_VEHICLE',
          'ALREADY_EXISTS',
          'VEHICLE_NOT_AVAILABLE',
          'VEHICLE_ALREADY_LINKED',
        ),
      },
    },
    async (request) => {
      const { operator } = request;
      const { id, appId, vehicleId, ...rest } = request.body;
      if (id.startsWith(serviceAccountPrefix)) {
        throw invalidParameter('id', `must not begin with ${serviceAccountPrefix}`);
      }
      if (vehicleId === undefined) {
        const device = { ...rest, id, applicationId: await findScope(db, operator, appId) };
        const origin = operatorOrigin(request, device.applicationId);
        return db.transaction().execute((trx) => enterDevice(trx, origin, device));
      }
      const named = appId === undefined ? undefined : await findApplicationId(db, appId, operator.applicationIds);
      const caller = { applicationId: await findVehicleOwner(db, operator, vehicleId) };
      if (named !== undefined && named !== caller.applicationId) {
        throw invalidParameter('vehicleId', 'is a vehicle of another application');
      }
      const secrets = await changeLinks(db, async (trx) => {
        const origin = operatorOrigin(request, caller.applicationId);
        const entered = await enterDevice(trx, origin, { ...rest, id, ...caller });
        await recordLinkChange(trx, origin, id, await linkDevice(trx, caller, { deviceId: id, vehicleId }));
        return entered;
      });
      await changes.announce({ vehicleIds: [Number(vehicleId)] });
      return secrets;
    },
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
