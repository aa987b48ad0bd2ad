import type { Operator, OperatorRequest } from '@odograph/contracts/caller';
import { findApplicationId } from '@odograph/database/accounts';
import { type AuditOrigin, appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { type GrantRole, grantRoles } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, text, VehicleId, word } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { hashPassword, requirePasswordLength } from '../../accounts/passwords.ts';
import { NewPassword } from '../../accounts/routes.ts';
import {
  createUser,
  deleteUser,
  endUserSessions,
  grantVehicle,
  listUsers,
  resetPassword,
  revokeVehicle,
} from './queries.ts';

const UserId = Type.String({ examples: ['0197a1de-5f0e-7000-8000-000000000006'] });
const NewUser = Type.Object({
  appId: AppId,
  username: text(1, 256, { examples: ['alex'] }),
  password: NewPassword,
  mustChangePassword: Type.Boolean({ default: false }),
});
const User = Type.Object(
  {
    userId: UserId,
    username: Type.String({ examples: ['alex'] }),
    mustChangePassword: Type.Boolean(),
    vehicleIds: Type.Array(VehicleId),
    grants: Type.Array(
      Type.Object(
        { vehicleId: VehicleId, plate: Type.String({ examples: ['AB-123-CD'] }), role: word(grantRoles) },
        { title: 'Grant' },
      ),
    ),
  },
  { title: 'User' },
);
const Role = Type.Unsafe<GrantRole>({
  ...word(grantRoles),
  default: 'driver',
  description: 'viewer: reads; driver: own bookings and authorizations and actions within them; manager: everything',
});
const UserPath = Type.Object({ userId: UserId });

/** The operator's routes for the users of an application and their vehicles. */
export function operatorUserRoutes(db: Kysely<Tables>): RoutePlugin {
  return (http) => {
    addUserRoutes(http, db);
    addGrantRoutes(http, db);
    addRevocationRoutes(http, db);
  };
}

function addUserRoutes(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/users',
    {
      schema: {
        summary: 'Create a user of an application',
        body: NewUser,
        response: answers(
          Type.Object({ userId: UserId }),
          'INVALID_PASSWORD_LENGTH',
          'UNKNOWN_APPLICATION',
          'ALREADY_EXISTS',
        ),
      },
    },
    async ({ body: { appId, username, password, mustChangePassword }, ip, operator }) => {
      requirePasswordLength(password);
      const applicationId = await findApplicationId(db, appId, operator.applicationIds);
      const user = { applicationId, username, passwordHash: await hashPassword(password), mustChangePassword };
      return db.transaction().execute(async (trx) => {
        const userId = await createUser(trx, user);
        const origin = operatorOrigin({ ip, operator }, applicationId);
        await appendAudit(trx, { ...origin, action: 'user.create', subject: `user:${userId}`, outcome: 'done' });
        return { userId };
      });
    },
  );

  http.get(
    '/v1/x/admin/users',
    {
      schema: {
        summary: 'List the users of an application',
        querystring: Type.Object({ appId: AppId }),
        response: answers(Type.Object({ users: Type.Array(User) }), 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ query, operator }) => ({
      users: await listUsers(db, await findApplicationId(db, query.appId, operator.applicationIds)),
    }),
  );
}

async function recordGrant(
  trx: Database,
  origin: AuditOrigin,
  action: 'grant.give' | 'grant.take',
  { vehicleId, ...details }: { userId: string; vehicleId: string; role?: GrantRole },
): Promise<void> {
  const subject = `vehicle:${vehicleId}`;
  await appendAudit(trx, { ...origin, action, subject, details, outcome: 'done' });
}

function addGrantRoutes(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/users/:userId/vehicles',
    {
      preValidation: leaveOutEmpty('role', 'fromRole'),
      schema: {
        summary: 'Grant a user access to a vehicle, or change the role of the grant',
        params: UserPath,
        body: Type.Object({
          vehicleId: VehicleId,
          role: Role,
          fromRole: Type.Optional(
            word(grantRoles, { description: 'the role that the grant must still have: else CHANGED_MEANWHILE' }),
          ),
        }),
        response: answers(EmptyAnswer, 'UNKNOWN_USER', 'UNKNOWN_VEHICLE', 'CHANGED_MEANWHILE'),
      },
    },
    async ({ params: { userId }, body: { vehicleId, role, fromRole }, ip, operator }) => {
      await db.transaction().execute(async (trx) => {
        const chain = await grantVehicle(trx, operator, { userId, vehicleId, role, fromRole });
        await recordGrant(trx, operatorOrigin({ ip, operator }, chain), 'grant.give', { userId, vehicleId, role });
      });
      return {};
    },
  );

  http.delete(
    '/v1/x/admin/users/:userId/vehicles/:vehicleId',
    {
      schema: {
        summary: 'Revoke the access of a user to a vehicle',
        params: Type.Object({ userId: UserId, vehicleId: VehicleId }),
        response: answers(EmptyAnswer, 'UNKNOWN_USER', 'UNKNOWN_VEHICLE', 'NOT_FOUND'),
      },
    },
    async ({ params: { userId, vehicleId }, ip, operator }) => {
      await db.transaction().execute(async (trx) => {
        const chain = await revokeVehicle(trx, operator, { userId, vehicleId });
        await recordGrant(trx, operatorOrigin({ ip, operator }, chain), 'grant.take', { userId, vehicleId });
      });
      return {};
    },
  );
}

/** Makes a change of a user that returns its application, and records it in the audit. */
async function changeUser(
  db: Kysely<Tables>,
  { params: { userId }, ip, operator }: OperatorRequest & { params: { userId: string } },
  action: string,
  change: (trx: Database, operator: Operator, userId: string) => Promise<number>,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const origin = operatorOrigin({ ip, operator }, await change(trx, operator, userId));
    await appendAudit(trx, { ...origin, action, subject: `user:${userId}`, outcome: 'done' });
  });
}

/** Deleting a user, resetting its password, and ending its sessions. */
function addRevocationRoutes(http: Http, db: Kysely<Tables>): void {
  http.delete(
    '/v1/x/admin/users/:userId',
    {
      schema: {
        summary: 'Delete a user; its sessions, grants, bookings and authorizations end',
        params: UserPath,
        response: answers(EmptyAnswer, 'UNKNOWN_USER'),
      },
    },
    async (request) => {
      await changeUser(db, request, 'user.delete', deleteUser);
      return {};
    },
  );
  http.post(
    '/v1/x/admin/users/:userId/password',
    {
      schema: {
        summary: 'Reset the password of a user; its sessions end',
        params: UserPath,
        body: Type.Object({ password: NewPassword, mustChangePassword: Type.Boolean({ default: true }) }),
        response: answers(EmptyAnswer, 'UNKNOWN_USER', 'INVALID_PASSWORD_LENGTH'),
      },
    },
    async (request) => {
      const { password, mustChangePassword } = request.body;
      requirePasswordLength(password);
      const passwordHash = await hashPassword(password);
      await changeUser(db, request, 'user.reset', (trx, operator, userId) =>
        resetPassword(trx, operator, { userId, passwordHash, mustChangePassword }),
      );
      return {};
    },
  );
  http.delete(
    '/v1/x/admin/users/:userId/sessions',
    {
      schema: {
        summary: 'End all sessions of a user',
        params: UserPath,
        response: answers(EmptyAnswer, 'UNKNOWN_USER'),
      },
    },
    async (request) => {
      await changeUser(db, request, 'user.sessions.end', endUserSessions);
      return {};
    },
  );
}
