import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { answers, EmptyAnswer } from '@odograph/http/schemas';
import Type from 'typebox';
import { hashPassword, requirePasswordLength } from '../../passwords.ts';
import { text, VehicleId } from '../../schemas.ts';
import { findApplicationId } from '../applications/queries.ts';
import { AppId, adminRoute } from '../schemas.ts';
import { createUser, grantVehicle, listUsers, revokeVehicle } from './queries.ts';

const NewUser = Type.Object({
  appId: AppId,
  username: text(1, 256),
  // Too short is a failure of its own, so the schema lets it pass.
  password: Type.String({ maxLength: 1024, description: 'at least 8 characters' }),
  mustChangePassword: Type.Boolean({ default: false }),
});
const User = Type.Object({
  userId: Type.String(),
  username: Type.String(),
  mustChangePassword: Type.Boolean(),
  vehicleIds: Type.Array(Type.String()),
});
const UserPath = Type.Object({ userId: Type.String() });

/** The operator's routes for the users of an application. */
export function addUserRoutes(http: Http, db: Database): void {
  http.post(
    '/v1/x/admin/users',
    {
      schema: {
        ...adminRoute,
        summary: 'Create a user of an application',
        body: NewUser,
        response: answers(
          Type.Object({ userId: Type.String() }),
          'INVALID_PASSWORD_LENGTH',
          'UNKNOWN_APPLICATION',
          'ALREADY_EXISTS',
        ),
      },
    },
    async ({ body: { appId, username, password, mustChangePassword } }) => {
      requirePasswordLength(password);
      const applicationId = await findApplicationId(db, appId);
      const passwordHash = await hashPassword(password);
      return { userId: await createUser(db, { applicationId, username, passwordHash, mustChangePassword }) };
    },
  );

  http.get(
    '/v1/x/admin/users',
    {
      schema: {
        ...adminRoute,
        summary: 'List the users of an application',
        querystring: Type.Object({ appId: AppId }),
        response: answers(Type.Object({ users: Type.Array(User) }), 'UNKNOWN_APPLICATION'),
      },
    },
    async ({ query }) => ({ users: await listUsers(db, await findApplicationId(db, query.appId)) }),
  );
}

/** The operator's routes for the vehicles a user may see. */
export function addGrantRoutes(http: Http, db: Database): void {
  http.post(
    '/v1/x/admin/users/:userId/vehicles',
    {
      schema: {
        ...adminRoute,
        summary: 'Let a user see a vehicle',
        params: UserPath,
        body: Type.Object({ vehicleId: VehicleId }),
        response: answers(EmptyAnswer, 'UNKNOWN_USER', 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ params, body }) => {
      await grantVehicle(db, params.userId, body.vehicleId);
      return {};
    },
  );

  http.delete(
    '/v1/x/admin/users/:userId/vehicles/:vehicleId',
    {
      schema: {
        ...adminRoute,
        summary: 'Hide a vehicle from a user again',
        params: Type.Object({ userId: Type.String(), vehicleId: VehicleId }),
        response: answers(EmptyAnswer, 'UNKNOWN_USER', 'UNKNOWN_VEHICLE', 'NOT_FOUND'),
      },
    },
    async ({ params }) => {
      await revokeVehicle(db, params.userId, params.vehicleId);
      return {};
    },
  );
}
