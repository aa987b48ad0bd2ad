import { randomUUID } from 'node:crypto';
import {
  createApplication,
  createUser,
  createVehicle,
  type TestUser,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { hashPassword } from './passwords.ts';

const { platform, application, admin, anonymous, as } = await startFleet();
const { db } = platform;
const newVehicle = async (appId = application.appId): Promise<string> =>
  (await admin.post('/v1/x/admin/vehicles', { appId, plate: randomUUID().slice(0, 20) })).body.id;

async function newVehicleWithKey(): Promise<TestVehicle> {
  const vehicle = await createVehicle(db, application);
  await db
    .insertInto('device_key')
    .values({ device_id: vehicle.deviceId, sealed_key: Buffer.alloc(32) })
    .execute();
  return vehicle;
}

/** Books a vehicle for an hour with an authorization that names the user in another case. @returns the booking's id */
async function bookAndAuthorize(user: TestUser, { id: vehicleId }: TestVehicle, fromHours: number): Promise<string> {
  const starts_at = new Date(Date.now() + fromHours * 3_600_000);
  const ends_at = new Date(starts_at.getTime() + 3_600_000);
  const { id: authorization_id } = await db
    .insertInto('bluetooth_authorization')
    .values({
      vehicle_id: Number(vehicleId),
      driver_id: user.username.toUpperCase(),
      level: 'DRIVE',
      valid_from: starts_at,
      valid_until: ends_at,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const { id } = await db
    .insertInto('booking')
    .values({
      application_id: application.id,
      vehicle_id: Number(vehicleId),
      user_id: user.username,
      account_id: user.id,
      type: 'BOOKING',
      starts_at,
      ends_at,
      authorization_id,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

describe('/v1/x/admin/users', () => {
  it('creates a user with a password of 8 characters and a name unique in the application', async () => {
    const user = {
      appId: application.appId,
      username: `user-${randomUUID()}`,
      password: '12345678',
      mustChangePassword: true,
    };
    const { status, body } = await admin.post('/v1/x/admin/users', user);
    expect(status).toBe(200);
    const { appId, appKey } = application;
    const login = await anonymous.post('/v1/login', { appKey, ...user });
    expect(login.body.update_password).toBe(true);

    const refused = async (change: object) =>
      (await admin.post('/v1/x/admin/users', { ...user, ...change })).body.error;
    const taken = await admin.post('/v1/x/admin/users', { ...user, username: user.username.toUpperCase() });
    expect(taken.body).toEqual({
      error: 'ALREADY_EXISTS',
      message: 'the application has a user of this name already, in upper or lower case',
    });
    expect(await refused({ password: '1234567' })).toBe('INVALID_PASSWORD_LENGTH');
    expect(await refused({ appId: 'none' })).toBe('UNKNOWN_APPLICATION');
    const { body: list } = await admin.get(`/v1/x/admin/users?appId=${appId}`);
    expect(list.users).toContainEqual({
      userId: body.userId,
      username: user.username,
      mustChangePassword: true,
      hasSecondFactor: false,
      vehicleIds: [],
      grants: [],
      groupGrants: [],
    });
  });

  it('grants vehicles of the application only, and revokes a grant', async () => {
    const { body: user } = await admin.post('/v1/x/admin/users', {
      appId: application.appId,
      username: `user-${randomUUID()}`,
      password: '12345678',
    });
    const own = await newVehicle();
    const foreign = await newVehicle((await createApplication(db)).appId);
    const grants = `/v1/x/admin/users/${user.userId}/vehicles`;
    expect((await admin.post(grants, { vehicleId: own })).status).toBe(200);
    expect((await admin.post(grants, { vehicleId: own })).status).toBe(200);
    for (const vehicleId of [foreign, '1', 'x\0', '9999999999']) {
      const { status, body } = await admin.post(grants, { vehicleId });
      expect([400, 404]).toContain(status);
      expect(['UNKNOWN_VEHICLE', 'INVALID_PARAMETER']).toContain(body.error);
    }
    for (const userId of ['none', '00000000-0000-0000-0000-000000000000', '%00']) {
      const { body } = await admin.post(`/v1/x/admin/users/${userId}/vehicles`, { vehicleId: own });
      expect(body.error).toBe('UNKNOWN_USER');
    }
    const change = (role: string, fromRole: string) => admin.post(grants, { vehicleId: own, role, fromRole });
    expect((await change('manager', 'driver')).status).toBe(200);
    const late = await change('viewer', 'driver');
    expect([late.status, late.body.error]).toEqual([412, 'CHANGED_MEANWHILE']);
    expect((await admin.delete(`${grants}/${own}`)).status).toBe(200);
    expect((await change('viewer', 'manager')).body.error).toBe('CHANGED_MEANWHILE');
    expect((await admin.delete(`${grants}/${own}`)).body.error).toBe('NOT_FOUND');
  });

  it('deletes a user, resets a password and ends sessions, each with all sessions of the user only', async () => {
    const password = 'the first password';
    const passwordHash = await hashPassword(password);
    const newUser = () => createUser(db, application, { passwordHash });
    const neighbour = await newUser();
    const { appId, appKey } = application;
    const login = async ({ username }: TestUser, given = password) =>
      (await anonymous.post('/v1/login', { appId, appKey, username, password: given })).body;
    const works = async ({ token }: { token: string }) =>
      (await as(token).delete('/v1/device', { deviceId: 'none' })).body.error;
    const path = ({ id }: TestUser) => `/v1/x/admin/users/${id}`;

    const [deleted, reset, signedOut] = [await newUser(), await newUser(), await newUser()];
    expect((await admin.delete(path(deleted))).status).toBe(200);
    expect((await admin.post(`${path(reset)}/password`, { password: 'short' })).body.error).toBe(
      'INVALID_PASSWORD_LENGTH',
    );
    expect((await admin.post(`${path(reset)}/password`, { password: 'the second password' })).status).toBe(200);
    expect((await admin.delete(`${path(signedOut)}/sessions`)).status).toBe(200);

    for (const user of [deleted, reset, signedOut]) expect(await works(user)).toBe('INVALID_TOKEN');
    expect(await works(neighbour)).toBe('UNKNOWN_DEVICE');
    expect((await login(deleted)).error).toBe('INVALID_CREDENTIALS');
    expect((await login(reset)).error).toBe('INVALID_CREDENTIALS');
    expect((await login(reset, 'the second password')).update_password).toBe(true);
    expect((await login(signedOut)).update_password).toBe(false);
    for (const answer of [
      await admin.delete(path(deleted)),
      await admin.post(`${path(deleted)}/password`, { password }),
      await admin.delete(`${path(deleted)}/sessions`),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([404, 'UNKNOWN_USER']);
    }
  });

  it('ends all bookings and authorizations of a deleted user, including those on vehicles without a grant', async () => {
    const [granted, ungranted] = [await newVehicleWithKey(), await newVehicleWithKey()];
    const user = await createUser(db, application, { vehicleIds: [granted.id] });
    const neighbour = await createUser(db, application);
    const past = await bookAndAuthorize(user, ungranted, -9);
    const own = [await bookAndAuthorize(user, granted, 1), await bookAndAuthorize(user, ungranted, -0.5)];
    const others = await bookAndAuthorize(neighbour, ungranted, 7);
    expect((await admin.delete(`/v1/x/admin/users/${user.id}`)).status).toBe(200);

    const { rows } = await sql<{ id: string }>`select booking.id
      from booking join bluetooth_authorization held on held.id = authorization_id
      where booking.id = any(${[past, others, ...own]}::uuid[]) and stopped_at is not null
        and ends_at <= greatest(starts_at, now()) and revoked_at is not null`.execute(db);
    expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(own));
    const { rows: keys } = await sql<{ version: number }>`select list_version as version from device_key
      where device_id in (${granted.deviceId}, ${ungranted.deviceId})`.execute(db);
    expect(keys).toEqual([{ version: 2 }, { version: 2 }]);
  });

  it('revokes the concurrent renewal of an expired authorization of a deleted user', async () => {
    const vehicle = await newVehicleWithKey();
    const user = await createUser(db, application);
    await bookAndAuthorize(user, vehicle, -9);
    const { id, deletion } = await db.transaction().execute(async (trx) => {
      await sql`select from vehicle where id = ${Number(vehicle.id)} for no key update`.execute(trx);
      const replacement = await sql<{ id: string }>`
        insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from, valid_until)
        select vehicle_id, driver_id, level, valid_from, now() + interval '1 hour' from bluetooth_authorization
        where vehicle_id = ${Number(vehicle.id)} returning id`.execute(trx);
      const pending = admin.delete(`/v1/x/admin/users/${user.id}`);
      await waitForLock(trx);
      return { id: replacement.rows[0]?.id ?? '', deletion: pending };
    });
    expect((await deletion).status).toBe(200);
    const held = db.selectFrom('bluetooth_authorization').select('revoked_at').where('id', '=', id);
    expect((await held.executeTakeFirstOrThrow()).revoked_at).not.toBeNull();
  });

  it.each(['revoked', 'reduced to viewer'])(
    'ends the bookings and authorizations of the user on the vehicle if its grant is %s, and nothing else',
    async (end) => {
      const [vehicle, other] = [await newVehicleWithKey(), await newVehicleWithKey()];
      const vehicleIds = [vehicle.id, other.id];
      const user = await createUser(db, application, { vehicleIds });
      const neighbour = await createUser(db, application, { vehicleIds });
      const past = await bookAndAuthorize(user, vehicle, -9);
      const current = await bookAndAuthorize(user, vehicle, -0.5);
      const planned = await bookAndAuthorize(user, vehicle, 5);
      const others = [await bookAndAuthorize(user, other, -0.5), await bookAndAuthorize(neighbour, vehicle, 7)];

      const grants = `/v1/x/admin/users/${user.id}/vehicles`;
      const { status } =
        end === 'revoked'
          ? await admin.delete(`${grants}/${vehicle.id}`)
          : await admin.post(grants, { vehicleId: vehicle.id, role: 'viewer' });
      expect(status).toBe(200);

      const { rows } = await sql<{ id: string; stopped: boolean; over: boolean; revoked: boolean }>`
        select booking.id, stopped_at is not null as stopped,
          not tstzrange(starts_at, ends_at) && tstzrange(now(), null) as over, revoked_at is not null as revoked
        from booking join bluetooth_authorization held on held.id = authorization_id
        where booking.vehicle_id = any(${vehicleIds}::integer[])`.execute(db);
      const ended = { stopped: true, over: true, revoked: true };
      expect(new Map(rows.map(({ id, ...row }) => [id, row]))).toEqual(
        new Map([
          [past, { stopped: false, over: true, revoked: false }],
          [current, ended],
          [planned, ended],
          ...others.map((id) => [id, { stopped: false, over: false, revoked: false }] as const),
        ]),
      );
      const versions = await db
        .selectFrom('device_key')
        .select(['device_id', 'list_version'])
        .where('device_id', 'in', [vehicle.deviceId, other.deviceId])
        .execute();
      expect(new Map(versions.map((row) => [row.device_id, row.list_version]))).toEqual(
        new Map([
          [vehicle.deviceId, 2],
          [other.deviceId, 1],
        ]),
      );
    },
  );
});
