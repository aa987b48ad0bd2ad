import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import {
  brokerKey,
  brokerOfSession,
  disconnectedKey,
  presenceKey,
  sessionNumberKey,
} from '@odograph/contracts/presence';
import { BackgroundFailures } from '@odograph/runtime/background-failures';
import { createLogger } from '@odograph/runtime/logger';
import { Gauge, Registry } from '@odograph/runtime/metrics';
import { SessionRegistry } from '@odograph/sessions/session-registry';
import { DeviceThrottle } from '@odograph/sessions/throttle';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { hasRedisServer } from '@odograph/testkit/programs';
import { usePlatform } from '@odograph/testkit/scopes';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import type { Client } from 'aedes';
import { afterAll, describe, expect, it } from 'vitest';
import { closed, openRedis, startOwnRedis } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { brokerTasks, createBrokerMetrics } from './metrics.ts';
import { createDeviceSession } from './session-registry.ts';

const platform = await usePlatform([brokerService]);
const redis = await openRedis(platform.config.REDIS_URL);
afterAll(() => redis.disconnect());

const sessionOf = (deviceId: string) => redis.hget(presenceKey(platform.config.QUEUE_PREFIX), deviceId);
const endOf = async (deviceId: string) =>
  Number(await redis.hget(disconnectedKey(platform.config.QUEUE_PREFIX), deviceId));
const gone = (deviceId: string) => eventually(async () => expect(await sessionOf(deviceId)).toBeNull());

it('has a session in Redis when its CONNACK arrives, with the key of its broker', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  const session = await sessionOf(identity.deviceId);
  const key = brokerKey(platform.config.QUEUE_PREFIX, brokerOfSession(session ?? ''));
  expect(await redis.pttl(key)).toBeGreaterThan(1000);
  expect(await redis.pttl(key)).toBeLessThanOrEqual(10_000);
  await device.close();
  await gone(identity.deviceId);
});

it('removes the session of a broken connection', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  expect(await sessionOf(identity.deviceId)).not.toBeNull();
  await device.close('cut');
  await gone(identity.deviceId);
});

it('keeps the time at which the last session of a device ended, not that of one that was replaced', async () => {
  const identity = await createDevice(platform.db);
  const first = await connectDevice(platform.mqttUrl, identity);
  const second = await connectDevice(platform.mqttUrl, identity);
  await closed(first);
  // Written on the same connection to Redis as the removal of the first session, after it.
  const other = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
  expect(await redis.hexists(disconnectedKey(platform.config.QUEUE_PREFIX), identity.deviceId)).toBe(0);
  const before = Date.now();
  await second.close();
  await gone(identity.deviceId);
  expect(await endOf(identity.deviceId)).toBeGreaterThanOrEqual(before);
  expect(await endOf(identity.deviceId)).toBeLessThanOrEqual(Date.now());
  await other.close();
});

it('closes the older of two connections with one id and keeps the session of the newer, many times', async () => {
  const identity = await createDevice(platform.db);
  let current = await connectDevice(platform.mqttUrl, identity);
  for (let round = 0; round < 20; round += 1) {
    const next = await connectDevice(platform.mqttUrl, identity);
    await closed(current);
    current = next;
  }
  await current.upload({ timestamp: 1 });
  // The removal of the last but one is done by the time a later write is answered.
  const other = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
  expect(await sessionOf(identity.deviceId)).not.toBeNull();
  expect(current.client.connected).toBe(true);
  await Promise.all([current.close(), other.close()]);
  await gone(identity.deviceId);
});

it('keeps one live session when many clients connect concurrently with one id', async () => {
  const identity = await createDevice(platform.db);
  const attempts = await Promise.allSettled(
    Array.from({ length: 12 }, () => connectDevice(platform.mqttUrl, identity)),
  );
  const devices = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
  await eventually(async () => expect(devices.filter(({ client }) => client.connected)).toHaveLength(1));
  await eventually(async () => expect(await sessionOf(identity.deviceId)).not.toBeNull());
  await Promise.all(devices.map((device) => device.close('cut')));
  await gone(identity.deviceId);
});

const openConnections = () => Promise.all([openRedis(platform.config.REDIS_URL), openRedis(platform.config.REDIS_URL)]);

/** Opens a registry without a broker. */
function openRegistry(prefix: string, brokerId: string, connection = redis, subscriber = redis) {
  const registry = new SessionRegistry({
    ...{ redis: connection, subscriber, prefix, brokerId },
    onMessage: () => undefined,
    onSuperseded: () => undefined,
    connectedDevices: new Gauge({ name: 'connected', help: 'of the test', registers: [] }),
    failures: new BackgroundFailures(
      brokerTasks,
      createLogger('silent'),
      createBrokerMetrics(new Registry()).backgroundFailures,
    ),
  });
  const arrive = (deviceId: string) => {
    const conn = new EventEmitter();
    const client = { id: deviceId, conn, close: () => conn.emit('close') } as unknown as Client;
    const session = createDeviceSession(client, {
      deviceId,
      credentials: [],
      replaces: undefined,
      throttle: new DeviceThrottle({ uploadsPerSecond: 1, bytesPerSecond: 1 }, 0),
    });
    return { added: registry.add(session), close: () => session.close() };
  };
  return { registry, arrive };
}

it('writes no session of a connection that closed before the write, and all others', async () => {
  const prefix = `test-${randomUUID()}`;
  const { arrive } = openRegistry(prefix, 'broker');
  const closing = ['first', 'second', 'twice'].map(arrive);
  for (const { close } of closing) close();
  const staying = ['third', 'twice'].map(arrive);
  await Promise.all([...closing, ...staying].map(({ added }) => added));
  const last = Number(await redis.get(sessionNumberKey(prefix)));
  const written = await redis.hgetall(presenceKey(prefix));
  expect(written).toEqual({ third: `broker ${last - 2}`, twice: `broker ${last}` });
  await redis.del(presenceKey(prefix), sessionNumberKey(prefix));
});

it('keeps the sessions of a broker that returns while another removes those of dead brokers', async () => {
  const prefix = `test-${randomUUID()}`;
  await redis.hset(presenceKey(prefix), 'device', 'returning 8');
  const [connection, subscriber] = await openConnections();
  const exists = connection.exists.bind(connection);
  connection.exists = (async (key: string) => {
    const answer = await exists(key);
    if (key === brokerKey(prefix, 'returning')) await redis.set(key, '1', 'PX', 60_000);
    return answer;
  }) as typeof connection.exists;
  const { registry } = openRegistry(prefix, 'other', connection, subscriber);
  await registry.start();
  expect(await redis.hget(presenceKey(prefix), 'device')).toBe('returning 8');
  await registry.stop();
  for (const one of [connection, subscriber]) one.disconnect();
  await redis.del(presenceKey(prefix), sessionNumberKey(prefix), brokerKey(prefix, 'returning'));
});

it('keeps the newer session even if Redis has lost the latest numbers', async () => {
  const prefix = `test-${randomUUID()}`;
  const [connection, subscriber] = await openConnections();
  const older = openRegistry(prefix, 'older', connection, subscriber);
  await older.registry.start();
  const half = ['device', 'other'].map(older.arrive);
  await Promise.all(half.map(({ added }) => added));
  await redis.set(sessionNumberKey(prefix), '2');
  connection.disconnect(true);
  await eventually(async () => expect(Number(await redis.get(sessionNumberKey(prefix)))).toBeGreaterThan(2));
  const newer = openRegistry(prefix, 'newer');
  // The older one may still be writing its sessions: without this key, it takes the other broker for dead.
  await redis.set(brokerKey(prefix, 'newer'), '1', 'PX', 60_000);
  await newer.arrive('device').added;
  expect(newer.registry.size).toBe(1);
  expect(brokerOfSession((await redis.hget(presenceKey(prefix), 'device')) ?? '')).toBe('newer');
  await older.registry.stop();
  for (const one of [connection, subscriber]) one.disconnect();
  await redis.del(presenceKey(prefix), sessionNumberKey(prefix), brokerKey(prefix, 'newer'));
});

it('survives messages that it cannot read', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  const channel = brokerKey(platform.config.QUEUE_PREFIX, brokerOfSession((await sessionOf(identity.deviceId)) ?? ''));
  const commandless = JSON.stringify({ kind: 'command', deviceId: 'elsewhere' });
  for (const text of ['no JSON', 'null', commandless]) expect(await redis.publish(channel, text)).toBe(1);
  await device.upload({ timestamp: 1 });
  expect(device.client.connected).toBe(true);
  await device.close();
});

it('removes the sessions of a dead broker and keeps those of a live one', async () => {
  const prefix = platform.config.QUEUE_PREFIX;
  const [dead, alive] = [randomUUID(), randomUUID()];
  await redis.set(brokerKey(prefix, alive), '1', 'PX', 60_000);
  await redis.hset(presenceKey(prefix), 'of-dead', `${dead} 1`, 'of-alive', `${alive} 1`);
  const second = await startTestPlatform([brokerService], { QUEUE_PREFIX: prefix });
  expect(await sessionOf('of-dead')).toBeNull();
  expect(await sessionOf('of-alive')).toBe(`${alive} 1`);
  expect(Date.now() - (await endOf('of-dead'))).toBeLessThan(10_000);
  await second.stop();
});

it('removes the broker and its sessions when it stops', async () => {
  const second = await startTestPlatform([brokerService]);
  const identity = await createDevice(second.db);
  const device = await connectDevice(second.mqttUrl, identity);
  await second.stop();
  await closed(device);
  expect(await redis.hgetall(presenceKey(second.config.QUEUE_PREFIX))).toEqual({});
  expect(await redis.keys(brokerKey(second.config.QUEUE_PREFIX, '*'))).toEqual([]);
});

describe.skipIf(!hasRedisServer)('when Redis returns', () => {
  it('has the current sessions: those that stayed and those that began, not those that ended', async () => {
    const own = await startOwnRedis();
    const second = await startTestPlatform([brokerService], { REDIS_URL: own.url });
    const [stays, leaves, comes] = await Promise.all([1, 2, 3].map(() => createDevice(second.db)));
    if (!stays || !leaves || !comes) throw new Error('three devices');
    const first = await connectDevice(second.mqttUrl, stays);
    const short = await connectDevice(second.mqttUrl, leaves);
    await own.kill();
    await short.close();
    const late = await connectDevice(second.mqttUrl, comes);
    await own.restart();
    const control = await openRedis(own.url);
    await eventually(async () => {
      const sessions = await control.hgetall(presenceKey(second.config.QUEUE_PREFIX));
      expect(Object.keys(sessions).sort()).toEqual([stays.deviceId, comes.deviceId].sort());
    });
    await Promise.all([first.close(), late.close()]);
    control.disconnect();
    await second.stop();
    await own.remove();
  });
});
