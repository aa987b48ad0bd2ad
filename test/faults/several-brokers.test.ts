import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import { presenceKey } from '@odograph/contracts/presence';
import { deviceTopic } from '@odograph/contracts/topics';
import { fleetService } from '@odograph/fleet/service';
import { BackgroundFailures } from '@odograph/runtime/background-failures';
import { createLogger } from '@odograph/runtime/logger';
import { Counter, Gauge } from '@odograph/runtime/metrics';
import { connectRedis } from '@odograph/runtime/redis';
import { DeviceMessenger } from '@odograph/sessions/presence';
import { SessionRegistry } from '@odograph/sessions/session-registry';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { hasRedisServer } from '@odograph/testkit/programs';
import { type RedisServer, spawnRedis } from '@odograph/testkit/redis-server';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTcpProxy, type TcpProxy } from './parts/tcp-proxy.fixture.ts';

let directory: string;
let server: RedisServer;
beforeAll(async () => {
  if (!hasRedisServer) return;
  directory = await mkdtemp(join(tmpdir(), 'odograph-brokers-'));
  server = await spawnRedis(directory);
});
afterAll(async () => {
  await server?.end('SIGKILL');
  if (directory) await rm(directory, { recursive: true, force: true });
});

interface Broker {
  readonly platform: TestPlatform;
  /** Connects the broker to Redis. */
  readonly proxy: TcpProxy;
}

async function startBroker(prefix: string): Promise<Broker> {
  const proxy = await startTcpProxy(server.port);
  const settings = { QUEUE_PREFIX: prefix, REDIS_URL: `redis://127.0.0.1:${proxy.port}` };
  return { proxy, platform: await startTestPlatform([brokerService], settings) };
}

const isConnected = ({ client }: DeviceConnection) => client.connected;
const closed = (device: DeviceConnection) => eventually(async () => expect(isConnected(device)).toBe(false));

describe.skipIf(!hasRedisServer)('three brokers on one Redis', () => {
  const prefix = `brokers-${randomUUID()}`;
  const brokers: Broker[] = [];
  const open: DeviceConnection[] = [];
  let services: TestPlatform;
  let application: TestApplication;
  let vehicle: TestVehicle;

  beforeAll(async () => {
    for (let index = 0; index < 3; index += 1) brokers.push(await startBroker(prefix));
    services = await startTestPlatform([fleetService, commandService], {
      ...{ QUEUE_PREFIX: prefix, REDIS_URL: server.url },
      ACK_TIMEOUT_MS: '20000',
    });
    application = await createApplication(services.db);
  });
  afterEach(async () => {
    for (const { proxy } of brokers) proxy.mend();
    for (const device of open.splice(0)) await device.close('cut');
  });
  afterAll(async () => {
    for (const { platform } of brokers) await platform.stop();
    for (const { proxy } of brokers) proxy.close();
    await services?.stop();
  });

  const urlOf = (index: number) => brokers[index]?.platform.mqttUrl ?? '';
  const proxyOf = (index: number) => brokers[index]?.proxy as TcpProxy;
  /** Connects the device of the vehicle to a broker; it acknowledges commands and collects their ids. */
  async function connect(index: number) {
    const device = await connectDevice(urlOf(index), vehicle);
    open.push(device);
    const heard: string[] = [];
    await device.obey(({ id }) => {
      heard.push(id);
      return { ok: true };
    });
    return { ...device, heard };
  }
  const lock = () => services.as(application.token).post('/v1/vehicle/lock', { vehicleId: vehicle.id });
  const newVehicle = async () => {
    vehicle = await createVehicle(services.db, application);
  };
  /** Waits until the broker is registered again after its connection to Redis returned. */
  const registered = (index: number) =>
    eventually(async () => {
      const { status } = await fetch(`${brokers[index]?.platform.httpUrl}/health`);
      expect(status).toBe(200);
    });

  it('send a command once, to the broker that holds the device, wherever the device connects', async () => {
    await newVehicle();
    const devices: Awaited<ReturnType<typeof connect>>[] = [];
    for (const index of [0, 1, 2, 0, 2]) {
      devices.push(await connect(index));
      expect((await lock()).status).toBe(200);
      expect(devices.map(({ heard }) => heard.length)).toEqual(devices.map(() => 1));
    }
    expect(devices.map(isConnected)).toEqual([false, false, false, false, true]);
  });

  it('refuse a command whose session ended before it was sent', async () => {
    await newVehicle();
    const device = await connect(0);
    proxyOf(0).slow(300);
    const command = lock();
    await eventually(async () => {
      const row = services.db.selectFrom('command').select('state').where('device_id', '=', vehicle.deviceId);
      expect(await row.execute()).toHaveLength(1);
    });
    await device.close('cut');
    const { body } = await command;
    expect([body.error, body.reason]).toEqual(['COMMUNICATION_FAILED', 'REFUSED']);
    expect(body.message).toBe('the session ended before the command could be sent');
    expect(device.heard).toEqual([]);
  });

  it('send the newest key list on SUBSCRIBE, to a live session, and after a broker was cut off', async () => {
    await newVehicle();
    const messenger = new DeviceMessenger(server.url, prefix, createLogger('silent'));
    await eventually(async () => expect(messenger.isConnected).toBe(true));
    const list = (version: number) => messenger.sendKeyList(vehicle.deviceId, JSON.stringify({ version }));
    await list(1);
    const received: number[] = [];
    const device = await connect(1);
    device.client.on('message', (topic, payload) => {
      if (topic.endsWith('/keys')) received.push(JSON.parse(payload.toString()).version);
    });
    await device.client.subscribeAsync(deviceTopic(vehicle.deviceId, 'keys'), { qos: 1 });
    await eventually(async () => expect(received).toEqual([1]));
    await list(2);
    await eventually(async () => expect(received).toEqual([1, 2]));
    proxyOf(1).cut();
    await list(3);
    proxyOf(1).mend();
    await eventually(async () => expect(received).toEqual([1, 2, 3]));
    messenger.close();
  });

  it('close the sessions of a deleted device, even at a broker that was cut off when it was deleted', async () => {
    for (const isCut of [false, true]) {
      await newVehicle();
      const device = await connect(2);
      if (isCut) proxyOf(2).cut();
      expect((await services.admin.delete(`/v1/x/admin/devices/${vehicle.deviceId}`)).status).toBe(200);
      if (isCut) proxyOf(2).mend();
      await closed(device);
    }
  });

  it('keep the session that began elsewhere while the broker of the older one was cut off', async () => {
    await newVehicle();
    const older = await connect(0);
    proxyOf(0).cut();
    const newer = await connect(1);
    expect((await lock()).status).toBe(200);
    expect(isConnected(older)).toBe(true);
    proxyOf(0).mend();
    await closed(older);
    await registered(0);
    expect((await lock()).status).toBe(200);
    expect([older.heard.length, newer.heard.length, isConnected(newer)]).toEqual([0, 2, true]);
  });

  it('keep the session that began at a broker while it was cut off, over an older one elsewhere', async () => {
    await newVehicle();
    const older = await connect(0);
    // By then the broker knows the number of the older session.
    const other = await connectDevice(urlOf(1), await createVehicle(services.db, application));
    open.push(other);
    proxyOf(1).cut();
    const newer = await connect(1);
    expect(isConnected(older)).toBe(true);
    proxyOf(1).mend();
    await closed(older);
    expect((await lock()).status).toBe(200);
    expect([newer.heard.length, isConnected(newer)]).toEqual([1, true]);
  });
});

interface ModelSession {
  readonly deviceId: string;
  isOpen: boolean;
  onClose(listener: () => void): void;
  close(): void;
  end(): void;
}

type Step = { readonly verb: 'connect' | 'cut' | 'mend' | 'wait'; readonly broker: number };

describe.skipIf(!hasRedisServer)('of the sessions of a device at brokers that are cut off from Redis at times', () => {
  const brokers = 3;
  const logger = createLogger('silent');
  const failures = () =>
    new BackgroundFailures(
      { sessions: '', commands: '' },
      logger,
      new Counter({ name: 'failures', help: 'of the test', labelNames: ['task'] as const, registers: [] }),
    );

  async function startRegistry(prefix: string) {
    const proxy = await startTcpProxy(server.port);
    const redis = connectRedis(`redis://127.0.0.1:${proxy.port}`, logger);
    const subscriber = connectRedis(`redis://127.0.0.1:${proxy.port}`, logger);
    const registry = new SessionRegistry<ModelSession>({
      ...{ redis, subscriber, prefix, brokerId: randomUUID(), failures: failures() },
      connectedDevices: new Gauge({ name: 'connected', help: 'of the test', registers: [] }),
      onMessage: () => undefined,
      onSuperseded: () => undefined,
    });
    await eventually(async () => expect([redis.status, subscriber.status]).toEqual(['ready', 'ready']));
    await registry.start();
    return { proxy, registry, redis, subscriber };
  }

  function createSession(deviceId: string): ModelSession {
    const events = new EventEmitter();
    return {
      deviceId,
      isOpen: true,
      onClose: (listener) => void events.once('close', listener),
      close() {
        if (!this.isOpen) return;
        this.isOpen = false;
        events.emit('close');
      },
      end: () => undefined,
    };
  }

  /** A device that leaves its old connections half open, like a network that drops FINs. */
  function createModelDevice(parts: Awaited<ReturnType<typeof startRegistry>>[]) {
    const id = randomUUID();
    const sessions: ModelSession[] = [];
    const connect = async (index: number): Promise<void> => {
      const session = createSession(id);
      sessions.push(session);
      await parts[index]?.registry.add(session);
    };
    return {
      id,
      connect,
      /** Reconnects if its newest session was closed because the order was unknown. */
      async reconnect(): Promise<void> {
        if (sessions.at(-1)?.isOpen !== true) await connect(1);
      },
      expectNewestOnly: () => expect(sessions.filter(({ isOpen }) => isOpen)).toEqual([sessions.at(-1)]),
    };
  }

  const step: fc.Arbitrary<Step> = fc.record({
    verb: fc.constantFrom('connect', 'connect', 'connect', 'cut', 'mend', 'wait'),
    broker: fc.nat({ max: brokers - 1 }),
  });

  it('only the newest stays once all brokers are connected again', async () => {
    const prefix = `registry-${randomUUID()}`;
    const parts = await Promise.all(Array.from({ length: brokers }, () => startRegistry(prefix)));
    const control = connectRedis(server.url, logger);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        const device = createModelDevice(parts);
        await device.connect(0);
        for (const { verb, broker } of steps) {
          if (verb === 'connect') await device.connect(broker);
          else if (verb === 'wait') await control.ping();
          else parts[broker]?.proxy[verb]();
        }
        for (const { proxy } of parts) proxy.mend();
        await eventually(async () => {
          await device.reconnect();
          for (const { redis, subscriber } of parts)
            expect([redis.status, subscriber.status]).toEqual(['ready', 'ready']);
          device.expectNewestOnly();
          const holder = parts.find(({ registry }) => registry.find(device.id))?.registry.brokerId;
          expect((await control.hget(presenceKey(prefix), device.id))?.split(' ')[0]).toBe(holder);
        }, 20_000);
        device.expectNewestOnly();
      }),
      { numRuns: 15 },
    );
    for (const { proxy, registry, redis, subscriber } of parts) {
      await registry.stop();
      for (const connection of [redis, subscriber]) connection.disconnect();
      proxy.close();
    }
    control.disconnect();
  }, 180_000);
});
