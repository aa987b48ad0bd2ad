import { randomUUID } from 'node:crypto';
import type { GrantRole } from '@odograph/database/vehicle-access';
import type { ApiAnswer } from '@odograph/testkit/api-client';
import {
  createDevice,
  createUnlinkedVehicle,
  createUser,
  createVehicle,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application, as } = await startFleet();
const spot = { name: 'A', address: 'B', zipcode: 'C', city: 'D', country: 'E' };

async function userOf(vehicle: TestVehicle, role: GrantRole) {
  const user = await createUser(platform.db, application, { vehicleIds: [vehicle.id], role });
  return { ...user, client: as(user.token) };
}

type User = Awaited<ReturnType<typeof userOf>>;

/** Tries every call that changes the fleet. @returns the status and error of each */
async function changeFleet({ client }: User, { id, deviceId }: TestVehicle): Promise<string[]> {
  const free = await createDevice(platform.db, { applicationId: application.id });
  const empty = await createUnlinkedVehicle(platform.db, application);
  const parkingId = randomUUID();
  const answers = [
    await client.post('/v1/vehicle', { plate: 'AB-1' }),
    await client.post('/v1/parkings', spot),
    await client.post(`/v1/parkings/${parkingId}`, spot),
    await client.delete(`/v1/parkings/${parkingId}`),
    await client.post(`/v1/vehicle/${id}/parking`, { parkingId }),
    await client.delete(`/v1/vehicle/${id}/parking`),
    await client.put('/v1/device', { deviceId, vehicleId: id }),
    await client.post('/v1/device', { deviceId: free.deviceId, vehicleId: id }),
    await client.post('/v1/device', { deviceId: free.deviceId, vehicleId: empty }),
    await client.delete('/v1/device', { deviceId }),
    await client.put('/v1/vehicle', { id, archived: false }),
    await client.delete('/v1/vehicle', { id }),
  ];
  return answers.map(({ status, body }) => `${status} ${body.error ?? ''}`.trim());
}

/** Sets every state and switches privacy. @returns the different outcomes */
async function useVehicle({ client }: User, { id }: TestVehicle): Promise<string[]> {
  const answers = [];
  for (const state of ['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable']) {
    answers.push(await client.post(`/v1/vehicle/${id}/${state}`, { state: true }));
  }
  for (const change of ['on', 'off'])
    answers.push(await client.post(`/v1/vehicle/privacy/${change}`, { vehicleId: id }));
  return [...new Set(answers.map(({ status, body }) => `${status} ${body.error ?? ''}`.trim()))];
}

const hour = (hours: number) => new Date(Date.now() + hours * 3_600_000);

function authorize({ username }: User, { id }: TestVehicle, fromHours: number, ended: object = {}) {
  const interval = { valid_from: hour(fromHours), valid_until: hour(fromHours + 2) };
  return platform.db
    .insertInto('bluetooth_authorization')
    .values({ vehicle_id: Number(id), driver_id: username, level: 'LOCK_UNLOCK', ...interval, ...ended })
    .execute();
}

function book({ id: userId }: User, { id }: TestVehicle, fromHours: number, ended: object = {}) {
  return platform.db
    .insertInto('booking')
    .values({
      application_id: application.id,
      vehicle_id: Number(id),
      user_id: userId,
      account_id: userId,
      type: 'BOOKING',
      authorization_id: randomUUID(),
      starts_at: hour(fromHours),
      ends_at: hour(fromHours + 2),
      ...ended,
    })
    .execute();
}

async function bookAndAuthorize(user: User, vehicle: TestVehicle): Promise<void> {
  await book(user, vehicle, -1);
  await authorize(user, vehicle, -1);
}

describe('the role of a grant', () => {
  it('permits a viewer and a driver to read a vehicle but not to change the fleet, even during a booking', async () => {
    for (const role of ['viewer', 'driver'] as const) {
      const vehicle = await createVehicle(platform.db, application);
      const user = await userOf(vehicle, role);
      await book(user, vehicle, -1);
      const outcomes = await changeFleet(user, vehicle);
      // The vehicle without a grant stays hidden.
      expect(outcomes.splice(8, 1)).toEqual(['404 UNKNOWN_VEHICLE']);
      expect(new Set(outcomes)).toEqual(new Set(['403 UNAUTHORIZED']));
      expect((await user.client.get(`/v1/vehicle/${vehicle.id}`)).status).toBe(200);
    }
  });

  it('permits a manager to change the vehicle and the spots, but no vehicle without a grant', async () => {
    const vehicle = await createVehicle(platform.db, application);
    expect(await changeFleet(await userOf(vehicle, 'manager'), vehicle)).toEqual([
      ...['200', '200', '404 NOT_FOUND', '404 NOT_FOUND', '404 NOT_FOUND', '200'],
      ...['200', '409 VEHICLE_ALREADY_LINKED', '404 UNKNOWN_VEHICLE', '200', '200', '200'],
    ]);
  });

  it('of another user, or on another vehicle, gives no access to a vehicle and its device', async () => {
    const [own, other] = [await createVehicle(platform.db, application), await createVehicle(platform.db, application)];
    const user = await userOf(own, 'manager');
    await userOf(other, 'manager');
    expect((await user.client.get(`/v1/vehicle/${other.id}`)).body.error).toBe('UNKNOWN_VEHICLE');
    expect(await useVehicle(user, other)).toEqual(['404 UNKNOWN_VEHICLE']);
    const { devices } = (await user.client.get('/v1/x/devices')).body;
    expect(devices.map(({ deviceId }: { deviceId: string }) => deviceId)).toEqual([own.deviceId]);
  });

  const [permitted, refused] = [['200'], ['403 UNAUTHORIZED']];
  it.each<[GrantRole, string, (user: User, vehicle: TestVehicle) => Promise<unknown>, string[]]>([
    ['viewer', 'a current booking and authorization', bookAndAuthorize, refused],
    ['driver', 'no booking or authorization', async () => undefined, refused],
    ['driver', 'a current booking', (user, vehicle) => book(user, vehicle, -1), permitted],
    ['driver', 'a later booking', (user, vehicle) => book(user, vehicle, 1), refused],
    ['driver', 'an ended booking', (user, vehicle) => book(user, vehicle, -3), refused],
    ['driver', 'a deleted booking', (user, vehicle) => book(user, vehicle, -1, { deleted_at: hour(0) }), refused],
    ['driver', 'a current authorization', (user, vehicle) => authorize(user, vehicle, -1), permitted],
    ['driver', 'a later authorization', (user, vehicle) => authorize(user, vehicle, 1), refused],
    ['driver', 'an expired authorization', (user, vehicle) => authorize(user, vehicle, -3), refused],
    [
      ...(['driver', 'a revoked authorization'] as const),
      (user, vehicle) => authorize(user, vehicle, -1, { revoked_at: hour(0) }),
      refused,
    ],
    [
      ...(['driver', 'a suspended authorization'] as const),
      (user, vehicle) => authorize(user, vehicle, -1, { suspended_until: hour(1) }),
      refused,
    ],
    [
      'driver',
      'those of another driver',
      async (_, vehicle) => bookAndAuthorize(await userOf(vehicle, 'driver'), vehicle),
      refused,
    ],
    [
      ...(['driver', 'those of another vehicle'] as const),
      async (user) => bookAndAuthorize(user, await createVehicle(platform.db, application)),
      refused,
    ],
    ['manager', 'no booking or authorization', async () => undefined, permitted],
  ])('decides whether a %s with %s sets states and privacy', async (role, _, prepare, expected) => {
    const vehicle = await createVehicle(platform.db, application);
    const user = await userOf(vehicle, role);
    await prepare(user, vehicle);
    expect(await useVehicle(user, vehicle)).toEqual(expected);
  });

  it('permits no change of states and privacy of an archived vehicle', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const manager = await userOf(vehicle, 'manager');
    await manager.client.put('/v1/vehicle', { id: vehicle.id, archived: true });
    for (const answer of [
      await manager.client.post(`/v1/vehicle/${vehicle.id}/stolen?state=true`),
      await manager.client.post('/v1/vehicle/privacy/on', { vehicleId: vehicle.id }),
      await manager.client.post('/v1/vehicle/privacy/off', { vehicleId: vehicle.id }),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([409, 'VEHICLE_ARCHIVED']);
    }
  });
});

describe('the end of a grant', () => {
  it.each<[string, (user: User, vehicle: TestVehicle) => Promise<ApiAnswer>]>([
    ['a deletion', ({ client }, { id }) => client.delete('/v1/vehicle', { id })],
    ['an archiving', ({ client }, { id }) => client.put('/v1/vehicle', { id, archived: true })],
    ['a state', ({ client }, { id }) => client.post(`/v1/vehicle/${id}/stolen`, { state: true })],
    ['privacy', ({ client }, { id }) => client.post('/v1/vehicle/privacy/on', { vehicleId: id })],
  ])('takes effect on %s requested while it is in flight', async (_, request) => {
    expect.hasAssertions();
    const vehicle = await createVehicle(platform.db, application);
    const ends = {
      '404 UNKNOWN_VEHICLE': (id: string) => sql`delete from vehicle_grant where user_id = ${id}`,
      '403 UNAUTHORIZED': (id: string) => sql`update vehicle_grant set role = 'driver' where user_id = ${id}`,
    };
    for (const [outcome, end] of Object.entries(ends)) {
      const manager = await userOf(vehicle, 'manager');
      const answer = await platform.db.transaction().execute(async (trx) => {
        await end(manager.id).execute(trx);
        const pending = request(manager, vehicle);
        await waitForLock(trx);
        return { pending };
      });
      const { status, body } = await answer.pending;
      expect(`${status} ${body.error}`).toBe(outcome);
    }
  });
});
