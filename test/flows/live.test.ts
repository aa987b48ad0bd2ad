import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import { fleetService } from '@odograph/fleet/service';
import { ingestService } from '@odograph/ingest/service';
import { EventClient } from '@odograph/query/live/event-client.fixture';
import { untilReaderWaits } from '@odograph/query/shared/change-reader.fixture';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import type { ApiClient } from '@odograph/testkit/api-client';
import { type ChildPlatform, settingsFrom, spawnPlatform } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { hasRedisServer } from '@odograph/testkit/programs';
import { type RedisServer, spawnRedis } from '@odograph/testkit/redis-server';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

let directory: string;
let redis: RedisServer;
/** All services that change vehicles, in this process. */
let platform: TestPlatform;
/** The service that streams, in a process of its own that tests kill. */
let query: ChildPlatform;
let application: TestApplication;
let api: ApiClient;
let vehicle: TestVehicle;
let device: DeviceConnection;
const clients: EventClient[] = [];

const startQuery = async () => spawnPlatform(['query'], await settingsFrom(platform.config));

async function open(token = application.token): Promise<EventClient> {
  const client = new EventClient(query.httpUrl, '', { 'x-service-token': token });
  clients.push(client);
  return client.open();
}

const upload = (latitude: number, more: object = {}) =>
  device.upload({
    timestamp: Date.now() / 1000,
    location: { latitude, longitude: 2.2 },
    status: { ignition: true },
    ...more,
  });

const latitudeIn = ({ state }: EventClient) => state.vehicles.get(vehicle.id)?.location?.latitude;
const stateIn = ({ state }: EventClient) => state.vehicles.get(vehicle.id)?.state;
const setPrivacy = async (mode: 'on' | 'off') =>
  expect((await api.post(`/v1/vehicle/privacy/${mode}`, { vehicleId: vehicle.id })).status).toBe(200);

describe.skipIf(!hasRedisServer)('a browser', () => {
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'odograph-live-'));
    redis = await spawnRedis(directory);
    const services = [brokerService, ingestService, fleetService, commandService];
    platform = await startTestPlatform(services, { REDIS_URL: redis.url });
    query = await startQuery();
    application = await createApplication(platform.db);
    api = platform.as(application.token);
  });
  afterAll(async () => {
    await query?.end('SIGKILL');
    await platform?.stop();
    await redis?.end('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  });
  beforeEach(async () => {
    vehicle = await createVehicle(platform.db, application);
    device = await connectDevice(platform.mqttUrl, vehicle);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await device.close();
  });

  it('sees the kind of an open alarm on its vehicle until the alarm ends, also without a reading', async () => {
    const rule = { name: 'rule', kind: 'crash', vehicleIds: [vehicle.id] };
    const { id } = (await api.post('/v1/x/alarm-rules', rule)).body;
    const client = await open();
    const alarmsIn = ({ state }: EventClient) => state.vehicles.get(vehicle.id)?.alarms.join();
    await upload(48.1, { alarms: { crash: true } });
    await client.until(() => alarmsIn(client) === 'crash');
    await api.delete(`/v1/x/alarm-rules/${id}`);
    await client.until(() => alarmsIn(client) === '');
    expect(latitudeIn(client)).toBe(48.1);
  });

  it('sees a position soon after its PUBACK', async () => {
    const client = await open();
    await client.until((state) => state.isComplete);
    await upload(48.1);
    const start = performance.now();
    await client.until(() => latitudeIn(client) === 48.1);
    expect(performance.now() - start).toBeLessThan(5000);
    expect(client.state.vehicles.get(vehicle.id)).toMatchObject({ state: 'moving', deviceId: vehicle.deviceId });
  });

  it('sees no position of a privacy interval, and none at all from its start on', async () => {
    const client = await open();
    await upload(48.1);
    await client.until(() => latitudeIn(client) === 48.1);
    await setPrivacy('on');
    await client.until(() => stateIn(client) === 'private');
    expect(latitudeIn(client)).toBeUndefined();
    const shownBefore = client.text.length;
    for (let n = 0; n < 20; n += 1) await upload(48.7654321, { fleet: { speed: 31 } });
    await setPrivacy('off');
    await client.until(() => stateIn(client) !== 'private');
    await upload(48.2);
    await client.until(() => latitudeIn(client) === 48.2);
    expect(client.text).not.toContain('48.7654321');
    const whilePrivate = client.text.slice(shownBefore, client.text.indexOf('"state":"moving"', shownBefore));
    expect(whilePrivate).not.toContain('latitude');
  });

  it('sees no position of an alarm that a fast device clock dated into a privacy interval, even after it reconnects', async () => {
    await api.post('/v1/x/alarm-rules', { name: 'rule', kind: 'crash', vehicleIds: [vehicle.id] });
    const client = await open();
    await client.until((state) => state.isComplete);
    const { lastEventId } = client;
    await upload(48.654321, { timestamp: Date.now() / 1000 + 200, alarms: { crash: true } });
    await client.until(({ alarms }) => alarms.at(-1)?.location?.latitude === 48.654321);
    await setPrivacy('on');
    await client.until(({ alarms }) => alarms.at(-1)?.location === undefined);
    const returned = new EventClient(query.httpUrl, '', { 'x-service-token': application.token });
    clients.push(returned);
    returned.lastEventId = lastEventId;
    await returned.open();
    await returned.until(({ alarms }) => alarms.length > 0);
    expect(returned.text).not.toContain('48.654321');
  });

  it('sees each step of a command, with its outcome; other applications do not', async () => {
    const stranger = await open((await createApplication(platform.db)).token);
    const client = await open();
    await upload(48.1);
    await client.until(() => latitudeIn(client) === 48.1);
    await device.obey(async () => {
      await client.until(({ commands }) => commands.some(({ state }) => state === 'sent'));
      return { ok: true, status: 'CLOSED' };
    });
    await eventually(async () => {
      expect((await api.post('/v1/vehicle/lock', { vehicleId: vehicle.id })).status).toBe(200);
    });
    await client.until(({ commands }) => commands.at(-1)?.state === 'acknowledged');
    expect(client.state.commands.at(-1)).toMatchObject({
      vehicleId: vehicle.id,
      action: 'LOCK',
      status: 'CLOSED',
      endedAt: expect.any(String),
    });
    await stranger.until((state) => state.isComplete);
    expect(stranger.state.commands).toEqual([]);
  });

  it('sees an alarm raised, acknowledged and cleared; other applications do not', async () => {
    const stranger = await open((await createApplication(platform.db)).token);
    const client = await open();
    await client.until((state) => state.isComplete);
    const rule = { name: 'too fast', kind: 'speed', parameters: { limitKmh: 100 }, vehicleIds: [vehicle.id] };
    expect((await api.post('/v1/x/alarm-rules', rule)).status).toBe(200);
    await upload(48.1, { location: { latitude: 48.1, longitude: 2.2, speed: 140 } });
    await client.until(({ alarms }) => alarms.length === 1);
    const [raised] = client.state.alarms;
    expect(raised).toMatchObject({ vehicleId: vehicle.id, kind: 'speed', value: 140, late: false });
    await api.post(`/v1/x/alarms/${raised.id}/acknowledge`, { note: 'called the driver' });
    await client.until(({ alarms }) => alarms.at(-1).note === 'called the driver');
    await upload(48.2, { location: { latitude: 48.2, longitude: 2.2, speed: 40 } });
    await client.until(({ alarms }) => alarms.at(-1).clearedAt !== undefined);
    expect(stranger.state.alarms).toEqual([]);
  });

  it('sees created, linked and archived vehicles, and raised states', async () => {
    const client = await open();
    await client.until((state) => state.isComplete);
    await upload(48.1);
    await client.until(() => latitudeIn(client) === 48.1);
    await api.post(`/v1/vehicle/${vehicle.id}/breakdown`, { state: true });
    await client.until((state) => state.vehicles.get(vehicle.id)?.flags.includes('breakdown') === true);
    await api.delete('/v1/device', { deviceId: vehicle.deviceId });
    await client.until((state) => state.vehicles.get(vehicle.id)?.deviceId === '');
    await api.put('/v1/vehicle', { id: vehicle.id, archived: true });
    await client.until((state) => !state.vehicles.has(vehicle.id));
    await api.put('/v1/vehicle', { id: vehicle.id, archived: false });
    await client.until((state) => state.vehicles.has(vehicle.id));
    await api.delete('/v1/vehicle', { id: vehicle.id });
    await client.until((state) => !state.vehicles.has(vehicle.id));
    expect(client.named('reset')).toHaveLength(1);
  });

  it('sees at another server what it missed after its own was killed, and commands of the time in between', async () => {
    const other = await startQuery();
    const client = await open();
    await upload(48.1);
    await client.until(() => latitudeIn(client) === 48.1);
    await query.end('SIGKILL');
    await eventually(async () => expect(client.hasEnded).toBe(true));
    await upload(48.2);
    await device.obey(() => ({ ok: true }));
    await eventually(async () => {
      expect((await api.post('/v1/vehicle/lock', { vehicleId: vehicle.id })).status).toBe(200);
    });
    query = other;
    client.moveTo(query.httpUrl);
    await client.open();
    await client.until(() => latitudeIn(client) === 48.2);
    await client.until(({ commands }) => commands.at(-1)?.state === 'acknowledged');
    expect(client.named('reset').map(({ data }) => data.reason)).toEqual(['START']);
    expect(client.named('snapshot').filter(({ data }) => data.complete)).toHaveLength(1);
  });

  it('ends its stream when the server stops, which does not wait for it', async () => {
    const client = await open();
    await client.until((state) => state.isComplete);
    const start = performance.now();
    expect(await query.end('SIGTERM')).toBe(0);
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(client.hasEnded).toBe(true);
    query = await startQuery();
  });

  it('stays up to date when Redis restarts, and loses a vehicle that becomes private meanwhile', async () => {
    const client = await open();
    await upload(48.1);
    await client.until(() => latitudeIn(client) === 48.1);
    await untilReaderWaits(redis.url, platform.config.QUEUE_PREFIX);
    await redis.end('SIGKILL');
    await setPrivacy('on');
    await client.until(() => stateIn(client) === 'private', 20_000);
    redis = await spawnRedis(directory, redis.port);
    await setPrivacy('off');
    await upload(48.3);
    await client.until(() => latitudeIn(client) === 48.3, 20_000);
    expect(client.named('reset')).toHaveLength(1);
  });
});
