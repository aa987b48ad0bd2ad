import { commandService } from '@odograph/command/service';
import { clientWithToken } from '@odograph/testkit/api-client';
import { createApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type CommandHouse, expectFailure, reportDriving, startCommandHouse, timed } from './command-house.ts';

let house: CommandHouse;

beforeAll(async () => {
  house = await startCommandHouse();
});

afterEach(() => house.disconnectAll());

afterAll(() => house?.stop());

it('answers UNKNOWN_VEHICLE for a vehicle of another application, or not granted to the user', async () => {
  const vehicle = await house.createVehicle();
  const device = await house.connected(vehicle);
  const other = await createApplication(house.platform.db);
  const userToken = await house.createUserToken();
  for (const token of [other.token, userToken]) {
    const stranger = clientWithToken(house.platform.httpUrl, token);
    for (const answer of [
      await house.act('unlock', vehicle, stranger),
      await stranger.get(`/v1/vehicle/actions?vehicleId=${vehicle.id}`),
      await stranger.get(`/v1/x/commands?vehicleId=${vehicle.id}`),
    ]) {
      expect(answer.body).toMatchObject({ error: 'UNKNOWN_VEHICLE' });
      expect(answer.status).toBe(404);
    }
  }
  expect(device.heard).toEqual([]);
});

it('answers VEHICLE_ARCHIVED for an archived vehicle', async () => {
  const vehicle = await house.createVehicle();
  const device = await house.connected(vehicle);
  const archive = house.platform.db.updateTable('vehicle').set({ archived_at: new Date() });
  await archive.where('id', '=', Number(vehicle.id)).execute();
  expectFailure(await house.act('unlock', vehicle), 'VEHICLE_ARCHIVED');
  expect((await house.client.get(`/v1/vehicle/actions?vehicleId=${vehicle.id}`)).body).toEqual({ actions: [] });
  expect(device.heard).toEqual([]);
});

it('answers NO_DEVICE for a vehicle whose link has ended', async () => {
  const vehicle = await house.createVehicle();
  const device = await house.connected(vehicle);
  const link = house.platform.db.updateTable('device_link').set({ period: sql`tstzrange(null, now())` });
  await link.where('device_id', '=', vehicle.deviceId).execute();
  expectFailure(await house.act('unlock', vehicle), 'NO_DEVICE');
  expectFailure(await house.client.get(`/v1/vehicle/actions?vehicleId=${vehicle.id}`), 'NO_DEVICE');
  expect(device.heard).toEqual([]);
});

it('answers ACTION_NOT_SUPPORTED for a device model without the action', async () => {
  const vehicle = await house.createVehicle({ model: 'tracker' });
  const device = await house.connected(vehicle);
  expectFailure(await house.act('lock', vehicle), 'ACTION_NOT_SUPPORTED');
  expect((await house.client.get(`/v1/vehicle/actions?vehicleId=${vehicle.id}`)).body).toEqual({ actions: [] });
  expect(device.heard).toEqual([]);
});

it('lists the actions of the device model', async () => {
  const vehicle = await house.createVehicle();
  const { body } = await house.client.get(`/v1/vehicle/actions?vehicleId=${vehicle.id}`);
  expect(body).toEqual({
    actions: ['IMMOBILIZE', 'CENTRAL-LOCK', 'HONK', 'TURNING-LIGHTS', 'UNLOCK-TRUNK', 'CLOSE-WINDOWS', 'OPEN-WINDOWS'],
  });
});

it('refuses to immobilize a vehicle that drives, and only that', async () => {
  const vehicle = await house.createVehicle();
  const device = await house.connected(vehicle);
  await reportDriving(house, vehicle, true, 5.1);
  expectFailure(await house.act('immobilize', vehicle), 'VEHICLE_MOVING');
  expect(device.heard).toEqual([]);
  expect((await house.act('lock', vehicle)).status).toBe(200);
  await reportDriving(house, vehicle, true, 5);
  expect((await house.act('immobilize', vehicle)).body).toEqual({ Status: 'LOCKED' });
  await reportDriving(house, vehicle, false, 80);
  expect((await house.act('immobilize', vehicle)).body).toEqual({ Status: 'LOCKED' });
});

it('names the parameter that is missing or malformed', async () => {
  for (const body of ['', {}, { vehicleId: ['1000000001'] }, { vehicleId: {} }]) {
    const answer = await house.client.post('/v1/vehicle/unlock', body);
    expect(answer.body).toMatchObject({ error: 'INVALID_PARAMETER', field: 'vehicleId' });
    expect(answer.status).toBe(400);
  }
  for (const vehicleId of ['', 'x', '0', '9999999999', "1' or true", '\u0000', null, -1, 1e300]) {
    expect((await house.client.post('/v1/vehicle/unlock', { vehicleId })).body).toMatchObject({
      error: 'UNKNOWN_VEHICLE',
    });
  }
  expect((await clientWithToken(house.platform.httpUrl, 'x').post('/v1/vehicle/unlock', {})).status).toBe(401);
});

it('answers PLATFORM_UNAVAILABLE at once while there is no broker', async () => {
  const vehicle = await house.createVehicle();
  const brokerless = await startTestPlatform([commandService]);
  const by = clientWithToken(brokerless.httpUrl, house.application.token);
  const [answer, milliseconds] = await timed(house.act('lock', vehicle, by));
  await brokerless.stop();
  expectFailure(answer, 'PLATFORM_UNAVAILABLE');
  expect(milliseconds).toBeLessThan(brokerless.config.ACK_TIMEOUT_MS);
  expect(await house.rowsOf(vehicle)).toEqual([]);
});
