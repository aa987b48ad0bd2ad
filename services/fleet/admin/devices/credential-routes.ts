import { appendAudit } from '@odograph/database/audit';
import { operatorOrigin } from '@odograph/database/audit-origin';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { adminRoute } from '@odograph/http/operator-routes';
import { answers, DeviceId, EmptyAnswer } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { DeviceSecret } from '../schemas.ts';
import { findOwner, replaceSecret, revokeCertificates } from './queries.ts';

const DevicePath = Type.Object({ id: DeviceId });
const longestOverlapSeconds = 30 * 86_400;
const Rotation = Type.Object({
  overlapSeconds: Type.Integer({
    minimum: 0,
    maximum: longestOverlapSeconds,
    default: 0,
    description: 'how long the old secret holds too, at the longest until the new one is used; 0 ends it at once',
  }),
});

/** Has the brokers look again at the MQTT session of a device: it ends when what it was let in by holds no more. */
export type RecheckSession = (deviceId: string) => Promise<void>;

/** Changes what a device is let in by, and records that in the audit of its application. */
function changeCredentials<T>(
  db: Kysely<Tables>,
  { id, ip, action }: { id: string; ip: string; action: string },
  change: (trx: Database) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async (trx) => {
    const changed = await change(trx);
    const chain = (await findOwner(trx, id)) ?? undefined;
    await appendAudit(trx, { ...operatorOrigin({ ip }, chain), action, subject: `device:${id}`, outcome: 'done' });
    return changed;
  });
}

/** What a device is let in by: its secret replaced, its certificates revoked. */
export function addCredentialRoutes(http: Http, db: Kysely<Tables>, recheckSession: RecheckSession): void {
  http.post(
    '/v1/x/admin/devices/:id/secret',
    {
      schema: {
        ...adminRoute,
        summary: 'Give a device a new secret, shown only now; a session with a secret that holds no more ends',
        params: DevicePath,
        body: Rotation,
        response: answers(DeviceSecret, 'UNKNOWN_DEVICE'),
      },
    },
    async ({ params: { id }, body: { overlapSeconds }, ip }) => {
      const secret = await changeCredentials(db, { id, ip, action: 'device.secret' }, (trx) =>
        replaceSecret(trx, id, overlapSeconds),
      );
      await recheckSession(id);
      return { deviceId: id, secret };
    },
  );

  http.delete(
    '/v1/x/admin/devices/:id/certificates',
    {
      schema: {
        ...adminRoute,
        summary: 'Revoke every client certificate issued to a device before now; a session opened with one ends',
        params: DevicePath,
        response: answers(EmptyAnswer, 'UNKNOWN_DEVICE'),
      },
    },
    async ({ params: { id }, ip }) => {
      await changeCredentials(db, { id, ip, action: 'device.certificates.revoke' }, (trx) =>
        revokeCertificates(trx, id),
      );
      await recheckSession(id);
      return {};
    },
  );
}
