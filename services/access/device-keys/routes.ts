import { appendAudit } from '@odograph/database/audit';
import { operatorOrigin } from '@odograph/database/audit-origin';
import type { Http } from '@odograph/http/http';
import { adminRoute } from '@odograph/http/operator-routes';
import { answers, DeviceId } from '@odograph/http/schemas';
import Type from 'typebox';
import type { Keyless } from './keyless.ts';
import { findKeyState, resealDeviceKeys, rotateDeviceKey } from './queries.ts';

const DevicePath = Type.Object({ id: DeviceId });
const NewKey = Type.Object({
  deviceId: Type.String(),
  key: Type.String({ description: '32 bytes in base64url' }),
  keyVersion: Type.Integer(),
});
const nullable = Type.Union([Type.String(), Type.Null()]);
const State = Type.Object({
  deviceId: Type.String(),
  keyVersion: Type.Integer(),
  epoch: Type.Integer(),
  listVersion: Type.Integer(),
  publishedVersion: Type.Integer(),
  confirmedVersion: Type.Integer(),
  confirmedAt: nullable,
  refusedReason: nullable,
});

/** The operator's routes for the keys of devices (docs/keyless.md). */
export function addKeyRoutes(http: Http, keyless: Keyless): void {
  const { db, sealer } = keyless;
  http.post(
    '/v1/x/admin/devices/:id/key',
    {
      schema: {
        ...adminRoute,
        summary: 'Give a device a key for keyless access, or a new one; it is shown only now',
        params: DevicePath,
        response: answers(NewKey, 'UNKNOWN_DEVICE'),
      },
    },
    async ({ params: { id }, ip }) => {
      const { key, keyVersion } = await db.transaction().execute(async (trx) => {
        const rotated = await rotateDeviceKey(trx, sealer, id);
        await appendAudit(trx, {
          ...operatorOrigin({ ip }),
          action: rotated.keyVersion === 1 ? 'device-key.create' : 'device-key.rotate',
          subject: `device:${id}`,
          details: { keyVersion: rotated.keyVersion },
          outcome: 'done',
        });
        return rotated;
      });
      keyless.announce();
      return { deviceId: id, key: key.toString('base64url'), keyVersion };
    },
  );

  http.get(
    '/v1/x/admin/devices/:id/key',
    {
      schema: {
        ...adminRoute,
        summary: 'Which key a device has, and which list of keys it was sent and confirmed',
        params: DevicePath,
        response: answers(State, 'UNKNOWN_DEVICE'),
      },
    },
    async ({ params }) => findKeyState(db, params.id),
  );

  addResealRoute(http, keyless);
}

function addResealRoute(http: Http, { db, sealer }: Keyless): void {
  http.post(
    '/v1/x/admin/device-keys/reseal',
    {
      schema: {
        ...adminRoute,
        summary: 'Seal every device key under the newest of ENCRYPTION_KEYS, so that the older ones can be dropped',
        response: answers(Type.Object({ resealed: Type.Integer(), unreadable: Type.Integer(), total: Type.Integer() })),
      },
    },
    async ({ ip }) => {
      const counted = await resealDeviceKeys(db, sealer);
      await appendAudit(db, {
        ...operatorOrigin({ ip }),
        action: 'device-key.reseal',
        subject: 'device-keys',
        details: { ...counted },
        outcome: 'done',
      });
      return counted;
    },
  );
}
