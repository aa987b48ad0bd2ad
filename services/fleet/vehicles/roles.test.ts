import { randomUUID } from 'node:crypto';
import { clientWithToken } from '@odograph/testkit/api-client';
import {
  createDevice,
  createUnlinkedVehicle,
  createUser,
  createVehicle,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application } = await startFleet();
const spot = { name: 'A', address: 'B', zipcode: 'C', city: 'D', country: 'E' };

async function userOf(vehicle: TestVehicle, role: 'viewer' | 'driver' | 'manager') {
  const user = await createUser(platform.db, application, { vehicleIds: [vehicle.id], role });
  return { ...user, client: clientWithToken(platform.httpUrl, user.token) };
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

/** Sets a state and starts privacy. @returns the statuses */
async function useVehicle({ client }: User, { id }: TestVehicle): Promise<number[]> {
  const answers = [
    await client.post(`/v1/vehicle/${id}/breakdown`, { state: true }),
    await client.post('/v1/vehicle/privacy/on', { vehicleId: id }),
  ];
  return answers.map(({ status }) => status);
}

function book({ id: userId }: User, { id }: TestVehicle, fromHours: number) {
  const hour = (hours: number) => new Date(Date.now() + hours * 3_600_000);
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
    })
    .execute();
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

  it('permits a driver to set states and privacy only during an own booking, a viewer never', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const [viewer, driver, manager] = [
      await userOf(vehicle, 'viewer'),
      await userOf(vehicle, 'driver'),
      await userOf(vehicle, 'manager'),
    ];
    expect(await useVehicle(driver, vehicle)).toEqual([403, 403]);
    await book(driver, vehicle, 2);
    await book(viewer, vehicle, -5);
    expect(await useVehicle(driver, vehicle)).toEqual([403, 403]);
    expect(await useVehicle(manager, vehicle)).toEqual([200, 200]);
    await book(driver, vehicle, -1);
    expect(await useVehicle(driver, vehicle)).toEqual([200, 200]);
    expect(await useVehicle(viewer, vehicle)).toEqual([403, 403]);
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
