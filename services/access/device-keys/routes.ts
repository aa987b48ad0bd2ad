import { auditChange, operatorOrigin } from '@odograph/database/audit';
import { findDeviceOwner } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { answers, DeviceId } from '@odograph/http/schemas';
import Type from 'typebox';
import { type AccessOptions, changeAccess } from '../shared/access-options.ts';
import { endTokens, findKeyState, KeyState, resealDeviceKeys, rotateDeviceKey } from './queries.ts';

const DevicePath = Type.Object({ id: DeviceId });
const NewKey = Type.Object(
  {
    deviceId: DeviceId,
    key: Type.String({
      description: '32 bytes in base64url',
      examples: ['q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA'],
    }),
    keyVersion: Type.Integer({ minimum: 1 }),
  },
  { title: 'DeviceKey' },
);
function addRotation(http: Http, options: AccessOptions): void {
  http.post(
    '/v1/x/admin/devices/:id/key',
    {
      schema: {
        summary: 'Create or rotate the key of a device for keyless access; only this answer shows it',
        params: DevicePath,
        response: answers(NewKey, 'UNKNOWN_DEVICE'),
      },
    },
    async (request) => {
      const { id } = request.params;
      const { key, keyVersion } = await changeAccess(options, async (trx) => {
        await findDeviceOwner(trx, request.operator, id);
        const rotated = await rotateDeviceKey(trx, options.sealer, id);
        const action = rotated.keyVersion === 1 ? 'device-key.create' : 'device-key.rotate';
        await auditChange(trx, operatorOrigin(request), action, `device:${id}`, { keyVersion: rotated.keyVersion });
        return rotated;
      });
      return { deviceId: id, key: key.toString('base64url'), keyVersion };
    },
  );
}

function addKeyState(http: Http, { db }: AccessOptions): void {
  http.get(
    '/v1/x/admin/devices/:id/key',
    {
      schema: {
        summary: 'Key version of a device, and the versions of its key list that are due, published and confirmed',
        params: DevicePath,
        response: answers(KeyState, 'UNKNOWN_DEVICE'),
      },
    },
    async ({ params: { id }, operator }) => {
      await findDeviceOwner(db, operator, id);
      return findKeyState(db, id);
    },
  );
}

function addEndOfTokens(http: Http, options: AccessOptions): void {
  http.delete(
    '/v1/x/admin/devices/:id/tokens',
    {
      schema: {
        summary: 'End every authorization token of a device; its authorizations stay and have new tokens',
        params: DevicePath,
        response: answers(Type.Object({ epoch: Type.Integer() }), 'UNKNOWN_DEVICE'),
      },
    },
    async (request) =>
      changeAccess(options, async (trx) => {
        const { id } = request.params;
        await findDeviceOwner(trx, request.operator, id);
        const epoch = await endTokens(trx, id);
        await auditChange(trx, operatorOrigin(request), 'device-tokens.end', `device:${id}`, { epoch });
        return { epoch };
      }),
  );
}

function addReseal(http: Http, { db, sealer }: AccessOptions): void {
  http.post(
    '/v1/x/admin/device-keys/reseal',
    {
      schema: {
        summary: 'Seal every device key under the first of ENCRYPTION_KEYS, so that the others can be removed',
        response: answers(
          Type.Object(
            { resealed: Type.Integer(), unreadable: Type.Integer(), total: Type.Integer() },
            { title: 'Resealed' },
          ),
        ),
      },
    },
    async (request) => {
      const counted = await resealDeviceKeys(db, sealer);
      await auditChange(db, operatorOrigin(request), 'device-key.reseal', 'device-keys', { ...counted });
      return counted;
    },
  );
}

/** The operator routes for device keys (docs/keyless.md). */
export function deviceKeyRoutes(options: AccessOptions): RoutePlugin {
  return (http) => {
    addRotation(http, options);
    addKeyState(http, options);
    addEndOfTokens(http, options);
    addReseal(http, options);
  };
}
