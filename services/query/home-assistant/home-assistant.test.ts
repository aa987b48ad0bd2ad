import { once } from 'node:events';
import { type AddressInfo, connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { roleSettings } from '@odograph/testkit/database-roles';
import { eventually } from '@odograph/testkit/eventually';
import {
  archiveVehicle,
  createApplication,
  createVehicle,
  type TestApplication,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { Aedes } from 'aedes';
import { sql } from 'kysely';
import { connectAsync, type MqttClient } from 'mqtt';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { storeLatest, turnPrivacyOn } from '../query.fixture.ts';
import { queryService } from '../service.ts';
import { untilReaderWaits } from '../shared/change-reader.fixture.ts';

let platform: TestPlatform | undefined;
let application: TestApplication;
let other: TestApplication;
let vehicle: TestVehicle;
let broker: Awaited<ReturnType<typeof startBroker>>;
let homeAssistant: MqttClient;
/** The last message of each topic, as Home Assistant has received it. */
const heard = new Map<string, string>();
/** The topics of announcements that were removed. */
const removed: string[] = [];

/** Starts a broker that keeps retained messages while its listener is stopped. */
async function startBroker() {
  const aedes = new Aedes();
  await aedes.listen();
  const sockets = new Set<Socket>();
  const accept = (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    aedes.handle(socket);
  };
  let server: Server = createServer(accept).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `mqtt://127.0.0.1:${port}`,
    async stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
    async start() {
      server = createServer(accept).listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    async close() {
      await new Promise<void>((resolve) => aedes.close(() => resolve()));
      server.close();
    },
  };
}

const start = (redisUrl = shared.config.REDIS_URL) =>
  startTestPlatform([queryService], {
    ...roleSettings(testDatabaseUrl()),
    HOME_ASSISTANT_MQTT_URL: broker.url,
    HOME_ASSISTANT_APPLICATIONS: application.appId,
    QUEUE_PREFIX: shared.config.QUEUE_PREFIX,
    REDIS_URL: redisUrl,
  });

const configTopic = (component: string, name: string, id = vehicle.id) =>
  `homeassistant/${component}/odograph_${application.appId}/${id}_${name}/config`;
const stateOf = (id = vehicle.id) => JSON.parse(heard.get(`odograph/${application.appId}/${id}`) ?? 'null');
const configOf = (component: string, name: string, id = vehicle.id) =>
  JSON.parse(heard.get(configTopic(component, name, id)) || 'null');

async function change(id: string, work: () => Promise<unknown>): Promise<void> {
  await work();
  const logger = createLogger('silent');
  const host = { config: shared.config, metrics: shared.metrics, logger, onStop: () => undefined };
  await new ChangeAnnouncer(redis, host).announce({ vehicleIds: [Number(id)] });
}

const shared = await usePlatform([]);
const redis = connectRedis(shared.config.REDIS_URL, createLogger('silent'));
await once(redis, 'ready');
afterAll(() => redis.disconnect());
beforeEach(async () => {
  application = await createApplication(shared.db);
  other = await createApplication(shared.db);
  vehicle = await createVehicle(shared.db, application);
  broker = await startBroker();
  heard.clear();
  removed.length = 0;
  homeAssistant = await connectAsync(broker.url, { reconnectPeriod: 100 });
  homeAssistant.on('message', (topic, payload) => {
    heard.set(topic, payload.toString());
    if (payload.length === 0) removed.push(topic);
  });
  await homeAssistant.subscribeAsync('#');
});
afterEach(async () => {
  await platform?.stop();
  platform = undefined;
  await homeAssistant.endAsync(true);
  await broker.close();
});

describe('Home Assistant', () => {
  it('shows the vehicles of the chosen applications with position, battery, range and lock', async () => {
    const foreign = await createVehicle(shared.db, other);
    await storeLatest(shared.db, vehicle.id, '2025-11-21T08:00:00Z', {
      location: { latitude: 48.8566, longitude: 2.3522 },
      status: { autonomy: 310 },
      electric: { soc: 80 },
      fleet: { lock: 'LOCKED' },
    });
    platform = await start();
    await eventually(async () =>
      expect(stateOf()).toEqual({ latitude: 48.8566, longitude: 2.3522, battery: 80, range: 310, lock: 'LOCKED' }),
    );
    expect(heard.get('odograph/status')).toBe('online');
    const tracker = configOf('device_tracker', 'position');
    expect(tracker).toMatchObject({
      source_type: 'gps',
      json_attributes_topic: `odograph/${application.appId}/${vehicle.id}`,
    });
    expect(tracker.device.identifiers).toEqual([`odograph_${vehicle.id}`]);
    expect(configOf('sensor', 'battery')).toMatchObject({
      device_class: 'battery',
      value_template: '{{ value_json.battery }}',
    });
    expect(configOf('sensor', 'range')).toMatchObject({ unit_of_measurement: 'km' });
    expect(configOf('binary_sensor', 'lock')).toMatchObject({ device_class: 'lock', payload_on: 'UNLOCKED' });
    expect([...heard.keys()].filter((topic) => topic.includes(foreign.id))).toEqual([]);
  });

  it('receives changes, and no position of a private vehicle', async () => {
    await storeLatest(shared.db, vehicle.id, '2025-11-21T08:00:00Z', { location: { latitude: 1, longitude: 2 } });
    platform = await start();
    await eventually(async () => expect(stateOf()).toMatchObject({ latitude: 1 }));
    await change(vehicle.id, () => turnPrivacyOn(shared.db, vehicle.id));
    await eventually(async () => expect(stateOf()).toEqual({ battery: null, range: null, lock: null }));
  });

  it('loses the position of a vehicle that becomes private while Redis is away', async () => {
    await storeLatest(shared.db, vehicle.id, '2025-11-21T08:00:00Z', { location: { latitude: 1, longitude: 2 } });
    const redis = new URL(shared.config.REDIS_URL);
    const through = new URL(redis);
    let isCut = false;
    const sockets: Socket[] = [];
    const proxy = createServer((socket) => {
      if (isCut) return void socket.destroy();
      const upstream = connectTcp(Number(redis.port), redis.hostname);
      sockets.push(socket, upstream);
      for (const one of [socket, upstream]) one.on('error', () => undefined);
      socket.pipe(upstream).pipe(socket);
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    through.port = String((proxy.address() as AddressInfo).port);
    platform = await start(through.href);
    await eventually(async () => expect(stateOf()).toMatchObject({ latitude: 1, longitude: 2 }));
    isCut = true;
    for (const socket of sockets) socket.destroy();
    await turnPrivacyOn(shared.db, vehicle.id);
    await eventually(async () => expect(stateOf()).not.toHaveProperty('latitude'));
    isCut = false;
    await platform.stop();
    platform = undefined;
    proxy.close();
  });

  it('receives every state again, and removes no vehicle, when it or its broker restarts', async () => {
    await storeLatest(shared.db, vehicle.id, '2025-11-21T08:00:00Z', { electric: { soc: 55 } });
    platform = await start();
    await eventually(async () => expect(stateOf()).toMatchObject({ battery: 55 }));
    await untilReaderWaits(shared.config.REDIS_URL, shared.config.QUEUE_PREFIX);
    heard.clear();
    await homeAssistant.publishAsync('homeassistant/status', 'online');
    await eventually(async () => expect(stateOf()).toMatchObject({ battery: 55 }));
    await broker.stop();
    heard.clear();
    await broker.start();
    await eventually(async () => expect(stateOf()).toMatchObject({ battery: 55 }));
    expect(removed).toEqual([]);
  });

  it('retains announcements but no state, and is told that Odograph is offline when it stops', async () => {
    await storeLatest(shared.db, vehicle.id, '2025-11-21T08:00:00Z', { location: { latitude: 1, longitude: 2 } });
    platform = await start();
    await eventually(async () => expect(stateOf()).toMatchObject({ latitude: 1 }));
    await platform.stop();
    platform = undefined;
    const later = await connectAsync(broker.url);
    const retained = new Map<string, string>();
    later.on('message', (topic, payload) => retained.set(topic, payload.toString()));
    await later.subscribeAsync('#');
    await eventually(async () => expect(retained.size).toBe(5));
    expect(retained.get('odograph/status')).toBe('offline');
    expect([...retained.values()].join()).not.toContain('latitude');
    await later.endAsync(true);
  });

  it('removes the vehicles of a deleted application, also while they are being deleted', async () => {
    platform = await start();
    await eventually(async () => expect(configOf('sensor', 'range')).toBeTruthy());
    await change(vehicle.id, () =>
      sql`update application set deleted_at = now() where id = ${application.id}`.execute(shared.db),
    );
    await eventually(async () => expect(heard.get(configTopic('sensor', 'range'))).toBe(''));
  });

  it('removes archived vehicles, also those archived while the platform was stopped', async () => {
    const second = await createVehicle(shared.db, application);
    platform = await start();
    await eventually(async () => expect(configOf('sensor', 'range', second.id)).toBeTruthy());
    await change(second.id, () => archiveVehicle(shared.db, second.id));
    await eventually(async () => expect(heard.get(configTopic('sensor', 'range', second.id))).toBe(''));
    await platform.stop();
    await archiveVehicle(shared.db, vehicle.id);
    platform = await start();
    await eventually(async () => expect(heard.get(configTopic('device_tracker', 'position'))).toBe(''));
  });
});
