import { type Operator, type OperatorRequest, seesApplication } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import { findApplicationId } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import type { Tables } from '@odograph/database/tables';
import { findVehicle, type GrantRole, grantRoles, raiseListVersions } from '@odograph/database/vehicle-access';
import { lockGroups } from '@odograph/database/vehicle-groups';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, text, VehicleId, word } from '@odograph/http/schemas';
import { type Kysely, sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { GroupId } from '../groups/schemas.ts';
import { hashPassword, NewPassword, requirePasswordLength } from './passwords.ts';
import { removeFactor } from './second-factors.ts';
import { endSessions } from './tokens.ts';

export const UserId = Type.String({ examples: ['0197a1de-5f0e-7000-8000-000000000006'] });
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
    hasSecondFactor: Type.Boolean(),
    vehicleIds: Type.Array(VehicleId),
    grants: Type.Array(
      Type.Object(
        { vehicleId: VehicleId, plate: Type.String({ examples: ['AB-123-CD'] }), role: word(grantRoles) },
        { title: 'Grant' },
      ),
    ),
    groupGrants: Type.Array(
      Type.Object({ groupId: GroupId, name: Type.String(), role: word(grantRoles) }, { title: 'GroupGrant' }),
      {
        description: 'roles on all vehicles of groups and their subgroups; the strongest of several roles applies',
      },
    ),
  },
  { title: 'User' },
);
export const Role = Type.Unsafe<GrantRole>({
  ...word(grantRoles),
  default: 'driver',
  description: 'viewer: reads; driver: own bookings and authorizations and actions within them; manager: everything',
});
export const UserPath = Type.Object({ userId: UserId });

/** The operator's routes for the users of an application and their vehicles. */
export const users: FleetRoutes = { operator: [addUserRoutes, addGrantRoutes, addRevocationRoutes] };

function addUserRoutes(http: Http, { db }: Fleet): void {
  const createSchema = {
    summary: 'Create a user of an application',
    body: NewUser,
    response: answers(
      Type.Object({ userId: UserId }),
      'INVALID_PASSWORD_LENGTH',
      'UNKNOWN_APPLICATION',
      'ALREADY_EXISTS',
    ),
  };
  http.post('/v1/x/admin/users', { schema: createSchema }, async ({ body, ip, operator }) => {
    requirePasswordLength(body.password);
    const applicationId = await findApplicationId(db, body.appId, operator.applicationIds);
    const passwordHash = await hashPassword(body.password);
    return db.transaction().execute(async (trx) => {
      const userId = await createUser(trx, applicationId, body, passwordHash);
      await auditChange(trx, operatorOrigin({ ip, operator }, applicationId), 'user.create', `user:${userId}`);
      return { userId };
    });
  });

  const listSchema = {
    summary: 'List the users of an application',
    querystring: Type.Object({ appId: AppId }),
    response: answers(Type.Object({ users: Type.Array(User) }), 'UNKNOWN_APPLICATION'),
  };
  http.get('/v1/x/admin/users', { schema: listSchema }, async ({ query, operator }) => ({
    users: await listUsers(db, await findApplicationId(db, query.appId, operator.applicationIds)),
  }));
}

function addGrantRoutes(http: Http, { db }: Fleet): void {
  const grantOptions = {
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
  };
  http.post(
    '/v1/x/admin/users/:userId/vehicles',
    grantOptions,
    async ({ params: { userId }, body: { vehicleId, role, fromRole }, ip, operator }) => {
      await db.transaction().execute(async (trx) => {
        const chain = await grantVehicle(trx, operator, { userId, vehicleId, role, fromRole });
        const origin = operatorOrigin({ ip, operator }, chain);
        await auditChange(trx, origin, 'grant.give', `vehicle:${vehicleId}`, { userId, role });
      });
      return {};
    },
  );

  const revokeSchema = {
    summary: 'Revoke the access of a user to a vehicle',
    params: Type.Object({ userId: UserId, vehicleId: VehicleId }),
    response: answers(EmptyAnswer, 'UNKNOWN_USER', 'UNKNOWN_VEHICLE', 'NOT_FOUND'),
  };
  http.delete(
    '/v1/x/admin/users/:userId/vehicles/:vehicleId',
    { schema: revokeSchema },
    async ({ params: { userId, vehicleId }, ip, operator }) => {
      await db.transaction().execute(async (trx) => {
        const chain = await revokeVehicle(trx, operator, { userId, vehicleId });
        const origin = operatorOrigin({ ip, operator }, chain);
        await auditChange(trx, origin, 'grant.take', `vehicle:${vehicleId}`, { userId });
      });
      return {};
    },
  );
}

/** Changes a user that the operator sees, ends its sessions and records the change. @throws Failure UNKNOWN_USER */
async function changeUser(
  db: Kysely<Tables>,
  { params: { userId }, ip, operator }: OperatorRequest & { params: { userId: string } },
  action: string,
  change?: (trx: Database, applicationId: number) => Promise<unknown>,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const applicationId = await applicationOf(trx, operator, userId);
    await change?.(trx, applicationId);
    await endSessions(trx, { applicationId, userId });
    await auditChange(trx, operatorOrigin({ ip, operator }, applicationId), action, `user:${userId}`);
  });
}

/** Ends all grants, bookings and authorizations of a user. */
export async function endAccess(db: Database, applicationId: number, userId: string): Promise<void> {
  await lockGroups(db, applicationId);
  await endUngranted(db, applicationId, userId);
  // The database also ends what follows from a grant, such as the authorizations that a manager issued to others.
  await db.deleteFrom('vehicle_grant').where('user_id', '=', userId).execute();
  await db.deleteFrom('group_grant').where('user_id', '=', userId).execute();
}

/** Ends bookings and authorizations on vehicles without a grant, for which the application can name the user as driver. */
async function endUngranted(db: Database, applicationId: number, userId: string): Promise<void> {
  const isBooked = sql`application_id = ${applicationId} and account_id = ${userId} and deleted_at is null
    and stopped_at is null and coalesce(ends_at, 'infinity') > statement_timestamp()`;
  const isUnrevoked = sql`revoked_at is null and lower(driver_id) = any (array(
    select unnest(array[id::text, lower(username)]) from user_account where id = ${userId}))`;
  // A booking or a replacement in flight holds the vehicle, and is visible only to a statement that starts after the lock.
  const { rows } = await sql<{ id: number }>`select id from vehicle where application_id = ${applicationId} and id in (
      select vehicle_id from booking where ${isBooked}
      union select vehicle_id from bluetooth_authorization where ${isUnrevoked})
    order by id for no key update`.execute(db);
  const ids = sql`any (${rows.map(({ id }) => id)}::integer[])`;
  await sql`update booking set stopped_at = statement_timestamp(), ends_at = greatest(starts_at, statement_timestamp())
    where vehicle_id = ${ids} and ${isBooked}`.execute(db);
  const ended = await sql<{ vehicleId: number }>`update bluetooth_authorization set revoked_at = statement_timestamp()
    where vehicle_id = ${ids} and ${isUnrevoked} and valid_until > statement_timestamp()
    returning vehicle_id as "vehicleId"`.execute(db);
  await raiseListVersions(
    db,
    ended.rows.map(({ vehicleId }) => vehicleId),
  );
}

/** Adds the routes that end a user's sessions: deletion, password and second factor reset, and sign-out. */
function addRevocationRoutes(http: Http, { db }: Fleet): void {
  const deleteSchema = {
    summary: 'Delete a user; its sessions, grants, bookings and authorizations end',
    params: UserPath,
    response: answers(EmptyAnswer, 'UNKNOWN_USER'),
  };
  http.delete('/v1/x/admin/users/:userId', { schema: deleteSchema }, async (request) => {
    const { userId } = request.params;
    await changeUser(db, request, 'user.delete', async (trx, applicationId) => {
      await trx.updateTable('user_account').set({ deleted_at: sql<Date>`now()` }).where('id', '=', userId).execute();
      await endAccess(trx, applicationId, userId);
      await removeFactor(trx, { user_id: userId });
    });
    return {};
  });
  const passwordSchema = {
    summary: 'Reset the password of a user; its sessions end',
    params: UserPath,
    body: Type.Object({ password: NewPassword, mustChangePassword: Type.Boolean({ default: true }) }),
    response: answers(EmptyAnswer, 'UNKNOWN_USER', 'INVALID_PASSWORD_LENGTH'),
  };
  http.post('/v1/x/admin/users/:userId/password', { schema: passwordSchema }, async (request) => {
    const { password, mustChangePassword } = request.body;
    requirePasswordLength(password);
    const replacement = { password_hash: await hashPassword(password), must_change_password: mustChangePassword };
    await changeUser(db, request, 'user.reset', (trx) =>
      trx.updateTable('user_account').set(replacement).where('id', '=', request.params.userId).execute(),
    );
    return {};
  });
  const factorSchema = {
    summary: 'Remove the lost second factor of a user; its sessions end',
    params: UserPath,
    response: answers(EmptyAnswer, 'UNKNOWN_USER'),
  };
  http.delete('/v1/x/admin/users/:userId/second-factor', { schema: factorSchema }, async (request) => {
    const { userId } = request.params;
    await changeUser(db, request, 'user.second-factor.reset', (trx) => removeFactor(trx, { user_id: userId }));
    return {};
  });
  const sessionsSchema = {
    summary: 'End all sessions of a user',
    params: UserPath,
    response: answers(EmptyAnswer, 'UNKNOWN_USER'),
  };
  http.delete('/v1/x/admin/users/:userId/sessions', { schema: sessionsSchema }, async (request) => {
    await changeUser(db, request, 'user.sessions.end');
    return {};
  });
}

const nameIsTaken = 'the application has a user of this name already, in upper or lower case';

/** Creates a user of an application. @throws Failure ALREADY_EXISTS if the name is taken, ignoring case */
export async function createUser(
  db: Database,
  applicationId: number,
  { username, mustChangePassword }: Type.Static<typeof NewUser>,
  passwordHash: string,
): Promise<string> {
  const account = { username, password_hash: passwordHash, must_change_password: mustChangePassword };
  const insertion = db.insertInto('user_account').values({ application_id: applicationId, ...account });
  const { id } = await failOnConstraint({ user_account_username: ['ALREADY_EXISTS', nameIsTaken] }, () =>
    insertion.returning('id').executeTakeFirstOrThrow(),
  );
  return id;
}

/** Lists the users of an application by name, with their grants. */
async function listUsers(db: Database, applicationId: number): Promise<Type.Static<typeof User>[]> {
  const rows = await db
    .selectFrom('user_account')
    .leftJoin('vehicle_grant', 'vehicle_grant.user_id', 'user_account.id')
    .leftJoin('vehicle', 'vehicle.id', 'vehicle_grant.vehicle_id')
    .select(['user_account.id', 'username', 'must_change_password'])
    .select([
      sql<boolean>`exists (select from second_factor where user_id = user_account.id and confirmed_at is not null)`.as(
        'has_second_factor',
      ),
      sql<Type.Static<typeof User>['grants']>`coalesce(json_agg(
        json_build_object('vehicleId', vehicle_grant.vehicle_id::text, 'plate', vehicle.plate, 'role', vehicle_grant.role)
        order by vehicle_grant.vehicle_id) filter (where vehicle_grant.vehicle_id is not null), '[]')`.as('grants'),
      sql<Type.Static<typeof User>['groupGrants']>`(select coalesce(json_agg(json_build_object('groupId', group_id,
          'name', vehicle_group.name, 'role', role) order by vehicle_group.name, group_id), '[]')
        from group_grant join vehicle_group on vehicle_group.id = group_id
        where group_grant.user_id = user_account.id)`.as('groupGrants'),
    ])
    .where('user_account.application_id', '=', applicationId)
    .where('user_account.deleted_at', 'is', null)
    .groupBy('user_account.id')
    .orderBy('username')
    .execute();
  return rows.map((row) => ({
    userId: row.id,
    username: row.username,
    mustChangePassword: row.must_change_password,
    hasSecondFactor: row.has_second_factor,
    vehicleIds: row.grants.map(({ vehicleId }) => vehicleId),
    grants: row.grants,
    groupGrants: row.groupGrants,
  }));
}

/** Finds the application of a user that an operator sees. @throws Failure UNKNOWN_USER */
export async function applicationOf(db: Database, operator: Operator, userId: string): Promise<number> {
  if (!isUuid(userId)) throw new Failure('UNKNOWN_USER');
  const row = await db
    .selectFrom('user_account')
    .select('application_id')
    .where('id', '=', userId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!row || !seesApplication(operator, row.application_id)) throw new Failure('UNKNOWN_USER');
  return row.application_id;
}

/**
 * Grants a user access to a vehicle of its application, or changes the role of the grant.
 * @returns the application of both
 * @throws Failure UNKNOWN_USER, UNKNOWN_VEHICLE; CHANGED_MEANWHILE if the role is no longer `fromRole`
 */
export async function grantVehicle(
  db: Database,
  operator: Operator,
  {
    userId,
    vehicleId,
    role,
    fromRole,
  }: { userId: string; vehicleId: string; role: GrantRole; fromRole?: GrantRole | undefined },
): Promise<number> {
  const applicationId = await applicationOf(db, operator, userId);
  await lockGroups(db, applicationId);
  const vehicle = await findVehicle(db, { applicationId }, vehicleId);
  if (fromRole !== undefined) {
    const grant = await db
      .selectFrom('vehicle_grant')
      .select('role')
      .where('user_id', '=', userId)
      .where('vehicle_id', '=', vehicle.id)
      .forUpdate()
      .executeTakeFirst();
    if (grant?.role !== fromRole) throw new Failure('CHANGED_MEANWHILE');
  }
  await db
    .insertInto('vehicle_grant')
    .values({ user_id: userId, vehicle_id: vehicle.id, role })
    .onConflict((conflict) => conflict.columns(['user_id', 'vehicle_id']).doUpdateSet({ role }))
    .execute();
  return applicationId;
}

/**
 * Revokes a grant. The database also ends the bookings and authorizations of the user on the vehicle.
 * @returns the application of user and vehicle
 * @throws Failure UNKNOWN_USER, UNKNOWN_VEHICLE; NOT_FOUND without a grant
 */
async function revokeVehicle(
  db: Database,
  operator: Operator,
  { userId, vehicleId }: { userId: string; vehicleId: string },
): Promise<number> {
  const applicationId = await applicationOf(db, operator, userId);
  await lockGroups(db, applicationId);
  const vehicle = await findVehicle(db, { applicationId }, vehicleId);
  const { numDeletedRows } = await db
    .deleteFrom('vehicle_grant')
    .where('user_id', '=', userId)
    .where('vehicle_id', '=', vehicle.id)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw new Failure('NOT_FOUND', 'the user has no grant for this vehicle');
  return applicationId;
}
