import type { ApiClient } from '@odograph/testkit/api-client';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { expectFailure, inHours, inMinutes, type TestUser, useAccess } from './access.fixture.ts';
import { book, floating, pathOf, planned } from './bookings/bookings.fixture.ts';

const access = await useAccess();
const { issuedId } = access;

const wish = (userId: string, changes: object = {}) => ({
  ...{ vehicleId: access.vehicle.id, userId, level: 'DRIVE', from: inHours(-1), until: inHours(1) },
  ...changes,
});
const issueAs = ({ api }: TestUser, userId: string, changes: object = {}) =>
  api.post('/v1/bluetooth-token', wish(userId, changes));
const revokeGrant = ({ id }: TestUser) =>
  access.platform.db.deleteFrom('vehicle_grant').where('user_id', '=', id).execute();
const listVersion = async () => {
  const { deviceId } = access.vehicle;
  const row = await access.platform.db
    .selectFrom('device_key')
    .select('list_version')
    .where('device_id', '=', deviceId)
    .executeTakeFirstOrThrow();
  return row.list_version;
};

/** Reads all lists of authorizations of the vehicle. @returns the ids */
async function listed(api: ApiClient, userId: string): Promise<string[]> {
  const ids = new Set<string>();
  for (const path of [
    '/v1/vehicles/authorizations/current',
    `/v1/vehicle/${access.vehicle.id}/authorizations/current`,
    `/v1/user/${userId}/authorizations/scheduled`,
  ]) {
    const { body } = await api.get(path);
    for (const { authorizationId } of body.authorizations) ids.add(authorizationId);
  }
  return [...ids];
}

const calls = (id: string) => (api: ApiClient) => [
  () => api.get(`/v1/bluetooth-token/${id}`),
  () => api.get(`/v1/bluetooth-token/${id}/params`),
  () => api.get(`/v1/bluetooth-token/${id}/commands`),
  () => api.post(`/v1/bluetooth-token/${id}`, { until: inHours(2) }),
  () => api.post('/v1/bluetooth-token/invalidate', { authorizationId: id, until: inHours(0.5) }),
  () => api.post('/v1/bluetooth-token/validate', { authorizationId: id }),
  () => api.delete('/v1/bluetooth-token', { authorizationId: id }),
];

describe('below manager, a user', () => {
  it.each(['viewer', 'driver'] as const)('as %s neither sees nor changes authorizations of others', async (role) => {
    const user = await access.createUser(role);
    const foreign = await issuedId();
    for (const call of calls(foreign)(user.api)) expectFailure(await call(), 404, 'UNKNOWN_AUTHORIZATION');
    expect(await listed(user.api, 'driver-1')).toEqual([]);
    expect((await user.api.get('/v1/user/driver-1/vehicles')).body).toEqual([]);
    expect((await user.api.delete('/v1/user/driver-1')).status).toBe(200);
    expect((await access.api.get(`/v1/bluetooth-token/${foreign}`)).status).toBe(200);
  });

  it.each(['viewer', 'driver'] as const)('as %s neither sees nor changes bookings of others', async (role) => {
    const user = await access.createUser(role);
    const { bookingId } = await book(access.api, access.vehicle, floating());
    for (const answer of [
      await user.api.get(`/v1/booking/${bookingId}`),
      await user.api.put(`/v1/booking/${bookingId}`, { until: inMinutes(5) }),
      await user.api.post(`/v1/booking/${bookingId}/stop`),
      await user.api.delete(`/v1/booking/${bookingId}`),
    ]) {
      expectFailure(answer, 404, 'NOT_FOUND');
    }
    expect((await user.api.get('/v1/bookings')).body.bookings).toEqual([]);
    expect((await user.api.get(pathOf(access.vehicle))).body.bookings).toEqual([]);
  });
});

describe('a viewer', () => {
  it('reads its own authorization and booking, and neither issues, books nor changes', async () => {
    const viewer = await access.createUser('viewer');
    const id = await issuedId({ userId: viewer.username.toUpperCase() });
    const request = { ...planned(), driver: viewer.username };
    const { bookingId } = await book(access.api, access.vehicle, request);
    expect((await viewer.api.get(`/v1/bluetooth-token/${id}`)).status).toBe(200);
    expect((await viewer.api.get(`/v1/booking/${bookingId}`)).status).toBe(200);
    for (const answer of [
      await issueAs(viewer, viewer.id),
      await viewer.api.post(`/v1/bluetooth-token/${id}`, { until: inHours(2) }),
      await viewer.api.post('/v1/bluetooth-token/invalidate', { authorizationId: id, until: inHours(0.5) }),
      await viewer.api.delete('/v1/bluetooth-token', { authorizationId: id }),
      await viewer.api.delete(`/v1/user/${viewer.username}`),
      await viewer.api.post(pathOf(access.vehicle), { ...request, from: inMinutes(300), until: inMinutes(310) }),
      await viewer.api.put(`/v1/booking/${bookingId}`, { until: inMinutes(100) }),
      await viewer.api.post(`/v1/booking/${bookingId}/stop`),
      await viewer.api.delete(`/v1/booking/${bookingId}`),
    ]) {
      expectFailure(answer, 403, 'UNAUTHORIZED');
    }
  });
});

describe('a driver', () => {
  it('issues, lists, changes and revokes authorizations for itself, under each of its names', async () => {
    const driver = await access.createUser('driver');
    for (const name of [driver.id, driver.username, driver.username.toUpperCase()]) {
      const { status, body } = await issueAs(driver, name);
      expect(status).toBe(200);
      expect((await driver.api.get(`/v1/bluetooth-token/${body.authorizationId}`)).body.userId).toBe(driver.id);
      expect(await listed(driver.api, driver.username)).toEqual([body.authorizationId]);
      expect((await driver.api.get(`/v1/user/${driver.username}/vehicles`)).body).toHaveLength(1);
      expect((await driver.api.delete('/v1/bluetooth-token', { authorizationId: body.authorizationId })).status).toBe(
        200,
      );
    }
  });

  it('issues none for another user, or for a name without account', async () => {
    expect.hasAssertions();
    const [driver, other] = [await access.createUser('driver'), await access.createUser('driver')];
    for (const name of [other.id, other.username, 'driver-1']) {
      expectFailure(await issueAs(driver, name), 403, 'UNAUTHORIZED');
    }
  });

  it('holds at most 100 unexpired authorizations of a vehicle, revoked ones included', async () => {
    expect.hasAssertions();
    const driver = await access.createUser('driver');
    await issueAs(driver, driver.id);
    await sql`insert into bluetooth_authorization
        (vehicle_id, driver_id, level, valid_from, valid_until, revoked_at)
      select ${Number(access.vehicle.id)}, ${driver.id}, 'DRIVE', now(), now() + interval '1 hour', now()
      from generate_series(1, 99)`.execute(access.platform.db);
    expectFailure(await issueAs(driver, driver.id), 429, 'TOO_MANY_REQUESTS');
    await issuedId({ userId: driver.id });
  });
});

describe('a manager', () => {
  it('sees and changes all authorizations and bookings of the vehicle, and issues for others', async () => {
    const manager = await access.createUser('manager');
    const id = await issuedId();
    const expected = [200, 200, 200, 200];
    const statuses = [];
    for (const call of calls(id)(manager.api).slice(0, 4)) statuses.push((await call()).status);
    expect(statuses).toEqual(expected);
    const { bookingId, userId } = await book(manager.api, access.vehicle, planned());
    expect(userId).toBe('driver-1');
    expect((await manager.api.delete(`/v1/booking/${bookingId}`)).body).toEqual({ deleted: true });
    expect((await issueAs(manager, 'driver-2')).status).toBe(200);
  });

  it('has no rights on another vehicle', async () => {
    expect.hasAssertions();
    const manager = await access.createUser('manager', await access.newVehicle());
    const id = await issuedId();
    for (const call of calls(id)(manager.api)) expectFailure(await call(), 404, 'UNKNOWN_AUTHORIZATION');
    expectFailure(await issueAs(manager, manager.id), 404, 'UNKNOWN_VEHICLE');
  });
});

describe('the end of a grant', () => {
  it('revokes what the user had and issued, and makes a new key list due', async () => {
    const manager = await access.createUser('manager');
    const own = (await issueAs(manager, manager.id)).body.authorizationId;
    const issued = (await issueAs(manager, 'driver-2')).body.authorizationId;
    const others = await issuedId();
    const booked = await book(manager.api, access.vehicle, { ...planned(), driver: manager.id });
    const before = await listVersion();
    await revokeGrant(manager);
    for (const id of [own, issued, booked.authorizationId]) {
      expectFailure(await access.api.get(`/v1/bluetooth-token/${id}`), 404, 'UNKNOWN_AUTHORIZATION');
    }
    expect((await access.api.get(`/v1/bluetooth-token/${others}`)).status).toBe(200);
    const { body } = await access.api.get(`/v1/booking/${booked.bookingId}`);
    expect(body.until).toBe(body.from);
    expect(await listVersion()).toBeGreaterThan(before);
  });

  it('of a group has the same effect, unless another grant confers as much', async () => {
    const { platform, application, vehicle } = access;
    const user = await access.createUser();
    const { rows } = await sql<{ id: string }>`with created as (
        insert into vehicle_group (application_id, name) values (${application.id}, 'vans') returning id),
      joined as (insert into vehicle_group_member select id, ${Number(vehicle.id)} from created)
      insert into group_grant (user_id, application_id, group_id, role)
        select ${user.id}, ${application.id}, id, 'driver' from created returning group_id as id`.execute(platform.db);
    const own = (await issueAs(user, user.id)).body.authorizationId;
    const status = async () => (await access.api.get(`/v1/bluetooth-token/${own}`)).status;
    await sql`insert into vehicle_grant values (${user.id}, ${Number(vehicle.id)}, 'driver')`.execute(platform.db);
    await sql`delete from vehicle_group_member where group_id = ${rows[0]?.id}`.execute(platform.db);
    expect(await status()).toBe(200);
    await revokeGrant(user);
    expect(await status()).toBe(404);
  });

  it('of a manager who becomes a driver revokes what it issued for others only', async () => {
    const manager = await access.createUser('manager');
    const own = (await issueAs(manager, manager.id)).body.authorizationId;
    const issued = (await issueAs(manager, 'driver-2')).body.authorizationId;
    await access.platform.db
      .updateTable('vehicle_grant')
      .set({ role: 'driver' })
      .where('user_id', '=', manager.id)
      .execute();
    expectFailure(await access.api.get(`/v1/bluetooth-token/${issued}`), 404, 'UNKNOWN_AUTHORIZATION');
    expect((await manager.api.get(`/v1/bluetooth-token/${own}`)).status).toBe(200);
  });

  it('takes effect on an authorization or a booking requested while it is in flight', async () => {
    expect.hasAssertions();
    for (const request of [
      (user: TestUser) => issueAs(user, user.id),
      (user: TestUser) => user.api.post(pathOf(access.vehicle), { ...planned(), driver: user.id }),
    ]) {
      const user = await access.createUser('driver');
      const answer = await access.platform.db.transaction().execute(async (trx) => {
        await trx.deleteFrom('vehicle_grant').where('user_id', '=', user.id).execute();
        const pending = request(user);
        await waitForLock(trx);
        return { pending };
      });
      expectFailure(await answer.pending, 404, 'UNKNOWN_VEHICLE');
    }
  });
});

describe('the longest validity of a token', () => {
  const days = (count: number) => inHours(count * 24);

  it('is 366 days from its start, or from now if it has started, else INVALID_INTERVAL', async () => {
    expect.hasAssertions();
    const refused = [
      { until: '9999-12-31' },
      { from: days(-400), until: days(367) },
      { from: days(10), until: days(377) },
    ];
    for (const interval of refused) expectFailure(await access.issue(interval), 400, 'INVALID_INTERVAL');
    const id = await issuedId({ from: days(-400), until: days(365.9) });
    const moved = await access.api.post(`/v1/bluetooth-token/${id}`, { until: '9999-12-31' });
    expectFailure(moved, 400, 'INVALID_INTERVAL');
    await issuedId({ from: days(1000), until: days(1365) });
  });

  it('also ends the authorization of a longer booking', async () => {
    const body = await book(access.api, access.vehicle, { ...planned(), until: days(1000) });
    const { until } = (await access.api.get(`/v1/bluetooth-token/${body.authorizationId}`)).body;
    expect((Date.parse(until) - Date.parse(body.from)) / 86_400_000).toBe(366);
  });
});
