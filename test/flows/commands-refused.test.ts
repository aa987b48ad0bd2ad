import { randomUUID } from 'node:crypto';
import { commandService } from '@odograph/command/service';
import type { GrantRole } from '@odograph/database/vehicle-access';
import { type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import { createUser } from '@odograph/testkit/fixtures';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type CommandFixture, expectFailure, reportDriving, startCommandFixture, timed } from './command.fixture.ts';

let fixture: CommandFixture;

beforeAll(async () => {
  fixture = await startCommandFixture();
});

afterEach(() => fixture.disconnectAll());

afterAll(() => fixture?.stop());

it('refuses every command of a viewer, and those of a driver without a current booking or authorization', async () => {
  const { db, httpUrl } = fixture.platform;
  const { application } = fixture;
  const vehicle = await fixture.createVehicle();
  const device = await fixture.connected(vehicle);
  const newUser = async (role: GrantRole) => {
    const user = await createUser(db, application, { vehicleIds: [vehicle.id], role });
    return { ...user, client: clientWithToken(httpUrl, user.token) };
  };
  const honk = async ({ client }: { client: ApiClient }) => {
    const { status, body } = await fixture.act('honk', vehicle, client);
    return [status, body.error];
  };
  const [viewer, booked, authorized, other] = [
    await newUser('viewer'),
    await newUser('driver'),
    await newUser('driver'),
    await newUser('driver'),
  ];
  const start = async ({ client }: { client: ApiClient }) => (await fixture.act('start', vehicle, client)).status;
  const refused = [403, 'UNAUTHORIZED'];
  for (const user of [viewer, booked, authorized]) expect(await honk(user)).toEqual(refused);
  const hours = (from: number, until: number) => ({
    starts_at: new Date(Date.now() + from * 3_600_000),
    ends_at: new Date(Date.now() + until * 3_600_000),
  });
  const book = (user: { id: string }, interval: ReturnType<typeof hours>) =>
    db
      .insertInto('booking')
      .values({
        application_id: application.id,
        vehicle_id: Number(vehicle.id),
        user_id: user.id,
        account_id: user.id,
        type: 'BOOKING',
        authorization_id: randomUUID(),
        ...interval,
      })
      .execute();
  await book(booked, hours(3, 4));
  await book(viewer, hours(-3, -2));
  expect(await honk(booked)).toEqual(refused);
  await book(booked, hours(-1, 1));
  await db
    .insertInto('bluetooth_authorization')
    .values({
      vehicle_id: Number(vehicle.id),
      driver_id: authorized.username.toUpperCase(),
      level: 'LOCK_UNLOCK',
      valid_from: hours(-1, 1).starts_at,
      valid_until: hours(-1, 1).ends_at,
    })
    .execute();
  for (const user of [booked, authorized, await newUser('manager')]) expect((await honk(user))[0]).toBe(200);
  for (const user of [viewer, other]) expect(await honk(user)).toEqual(refused);
  // The level LOCK_UNLOCK does not start an engine.
  expect(await start(authorized)).toBe(403);
  expect((await viewer.client.get(`/v1/x/commands?vehicleId=${vehicle.id}`)).body.commands).toHaveLength(3);
  await db
    .updateTable('bluetooth_authorization')
    .set({ suspended_until: hours(0, 1).ends_at })
    .where('driver_id', '=', authorized.username.toUpperCase())
    .execute();
  expect(await honk(authorized)).toEqual(refused);
  expect(device.heard).toHaveLength(3);
});

it('answers VEHICLE_ARCHIVED for an archived vehicle', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.connected(vehicle);
  const archive = fixture.platform.db.updateTable('vehicle').set({ archived_at: new Date() });
  await archive.where('id', '=', Number(vehicle.id)).execute();
  expectFailure(await fixture.act('unlock', vehicle), 'VEHICLE_ARCHIVED');
  expect((await fixture.client.get(`/v1/vehicle/actions?vehicleId=${vehicle.id}`)).body).toEqual({ actions: [] });
  expect(device.heard).toEqual([]);
});

it('answers NO_DEVICE for a vehicle whose link has ended', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.connected(vehicle);
  const link = fixture.platform.db.updateTable('device_link').set({ period: sql`tstzrange(null, now())` });
  await link.where('device_id', '=', vehicle.deviceId).execute();
  expectFailure(await fixture.act('unlock', vehicle), 'NO_DEVICE');
  expectFailure(await fixture.client.get(`/v1/vehicle/actions?vehicleId=${vehicle.id}`), 'NO_DEVICE');
  expect(device.heard).toEqual([]);
});

it('answers ACTION_NOT_SUPPORTED for a device model without the action', async () => {
  const vehicle = await fixture.createVehicle({ model: 'tracker' });
  const device = await fixture.connected(vehicle);
  expectFailure(await fixture.act('lock', vehicle), 'ACTION_NOT_SUPPORTED');
  expect((await fixture.client.get(`/v1/vehicle/actions?vehicleId=${vehicle.id}`)).body).toEqual({ actions: [] });
  expect(device.heard).toEqual([]);
});

it('lists the actions of the device model', async () => {
  const vehicle = await fixture.createVehicle();
  const { body } = await fixture.client.get(`/v1/vehicle/actions?vehicleId=${vehicle.id}`);
  expect(body).toEqual({
    actions: ['IMMOBILIZE', 'CENTRAL-LOCK', 'HONK', 'TURNING-LIGHTS', 'UNLOCK-TRUNK', 'CLOSE-WINDOWS', 'OPEN-WINDOWS'],
  });
});

it('refuses to immobilize a moving vehicle, and no other action', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.connected(vehicle);
  await reportDriving(fixture, vehicle, true, 5.1);
  expectFailure(await fixture.act('immobilize', vehicle), 'VEHICLE_MOVING');
  expect(device.heard).toEqual([]);
  expect((await fixture.act('lock', vehicle)).status).toBe(200);
  await reportDriving(fixture, vehicle, true, 5);
  expect((await fixture.act('immobilize', vehicle)).body).toEqual({ Status: 'LOCKED' });
  await reportDriving(fixture, vehicle, false, 80);
  expect((await fixture.act('immobilize', vehicle)).body).toEqual({ Status: 'LOCKED' });
  // As in a tunnel.
  await sql`update vehicle_latest set status = '{"ignition": true, "movement": true}', location = location - 'speed'
    where vehicle_id = ${Number(vehicle.id)}`.execute(fixture.platform.db);
  expectFailure(await fixture.act('immobilize', vehicle), 'VEHICLE_MOVING');
});

it('names the missing or malformed parameter', async () => {
  const malformed = [['1000000001'], {}, null, -1, 1e300].map((vehicleId) => ({ vehicleId }));
  for (const body of ['', {}, ...malformed]) {
    const answer = await fixture.client.post('/v1/vehicle/unlock', body);
    expect(answer.body).toMatchObject({ error: 'INVALID_PARAMETER', field: 'vehicleId' });
    expect(answer.status).toBe(400);
  }
  for (const vehicleId of ['', 'x', '0', '9999999999', "1' or true", '\u0000']) {
    expect((await fixture.client.post('/v1/vehicle/unlock', { vehicleId })).body).toMatchObject({
      error: 'UNKNOWN_VEHICLE',
    });
  }
  expect((await clientWithToken(fixture.platform.httpUrl, 'x').post('/v1/vehicle/unlock', {})).status).toBe(401);
});

it('answers DEVICE_OFFLINE immediately while no broker runs', async () => {
  const vehicle = await fixture.createVehicle();
  const brokerless = await startTestPlatform([commandService]);
  const by = clientWithToken(brokerless.httpUrl, fixture.application.token);
  const [answer, milliseconds] = await timed(fixture.act('lock', vehicle, by));
  await brokerless.stop();
  expectFailure(answer, 'DEVICE_OFFLINE');
  expect(milliseconds).toBeLessThan(brokerless.config.ACK_TIMEOUT_MS);
  expect(await fixture.rowsOf(vehicle)).toEqual([]);
});

it('refuses to immobilize a driving vehicle after another command, whatever speed it reported before its position', async () => {
  const vehicle = await fixture.createVehicle();
  const device = await fixture.connected(vehicle);
  await reportDriving(fixture, vehicle, true, 80);
  // Privacy intervals move the speed to this group.
  await sql`update vehicle_latest set fleet = '{"speed": 0}', fleet_time = now() - interval '1 hour'
    where vehicle_id = ${Number(vehicle.id)}`.execute(fixture.platform.db);
  expect((await fixture.act('lock', vehicle)).body).toEqual({ Status: 'CLOSED' });
  expectFailure(await fixture.act('immobilize', vehicle), 'VEHICLE_MOVING');
  expect(device.heard).toHaveLength(1);
});
