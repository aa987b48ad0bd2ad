import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { deviceRevokedChannel } from '@odograph/contracts/presence';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { hashSecret } from '@odograph/runtime/secrets';
import type { Service } from '@odograph/runtime/service';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasRedisServer } from '@odograph/testkit/programs';
import { usePlatform } from '@odograph/testkit/scopes';
import { afterEachStatement, type StatementText } from '@odograph/testkit/statements';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import type { KyselyPlugin, Updateable } from 'kysely';
import { describe, expect, it } from 'vitest';
import { closed, connackOf, connectPacket, openRedis, openSocket, startOwnRedis } from '../broker.fixture.ts';
import { brokerService, openEngines, startBroker } from '../service.ts';

/** The broker with a plugin that watches its statements. */
const brokerWith = (plugin: KyselyPlugin): Service<Http> => ({
  name: 'broker',
  async start(host) {
    const engines = await openEngines(host);
    await startBroker(host, { ...engines, db: engines.db.withPlugin(plugin) });
    return { health: () => ({ ok: true, state: 'listening' }) };
  },
});

const platform = await usePlatform([brokerService]);

const replaceSecret = (deviceId: string, more: Updateable<Tables['device']>) =>
  platform.db
    .updateTable('device')
    .set({ secret_sha256: hashSecret('another'), ...more })
    .where('id', '=', deviceId)
    .execute();

const overlap = (secret: string, ms: number) => ({
  previous_secret_sha256: hashSecret(secret),
  previous_secret_until: new Date(Date.now() + ms),
});

const connackWith = ({ deviceId }: { deviceId: string }, password: string) =>
  connackOf(platform.mqttUrl, { clientId: deviceId, username: deviceId, password });

it('closes the session of a device whose secret was replaced, and no other', async () => {
  const [one, two] = await Promise.all([createDevice(platform.db), createDevice(platform.db)]);
  const revoked = await connectDevice(platform.mqttUrl, one);
  const other = await connectDevice(platform.mqttUrl, two);
  const redis = await openRedis(platform.config.REDIS_URL);
  const channel = deviceRevokedChannel(platform.config.QUEUE_PREFIX);
  await redis.publish(channel, 'nobody');
  await redis.publish(channel, two.deviceId);
  await replaceSecret(one.deviceId, {});
  await redis.publish(channel, one.deviceId);
  await closed(revoked);
  await other.upload({ timestamp: 1 });
  expect(other.client.connected).toBe(true);
  await other.close();
  redis.disconnect();
});

it.skipIf(!hasRedisServer)('closes a session whose secret was replaced while Redis was unavailable', async () => {
  const own = await startOwnRedis();
  const second = await startTestPlatform([brokerService], { REDIS_URL: own.url });
  const [rotated, kept] = await Promise.all([createDevice(second.db), createDevice(second.db)]);
  const revoked = await connectDevice(second.mqttUrl, rotated);
  const other = await connectDevice(second.mqttUrl, kept);
  await own.kill();
  await second.db
    .updateTable('device')
    .set({ secret_sha256: hashSecret('another') })
    .where('id', '=', rotated.deviceId)
    .execute();
  await own.restart();
  await closed(revoked);
  await other.upload({ timestamp: 1 });
  expect(other.client.connected).toBe(true);
  await other.close();
  await second.stop();
  await own.remove();
});

it.skipIf(!hasRedisServer)(
  'closes a session whose secret was replaced while the Redis Cluster subscription was down',
  async () => {
    const own = await startOwnRedis([
      ...['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
      ...['--cluster-port', String(await freePort())],
    ]);
    const redis = await openRedis(own.url);
    await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await eventually(async () => expect(await redis.call('CLUSTER', 'INFO')).toContain('cluster_state:ok'));
    const second = await startTestPlatform([brokerService], { REDIS_URL: own.url.replace('redis:', 'redis+cluster:') });
    const identity = await createDevice(second.db);
    const device = await connectDevice(second.mqttUrl, identity);
    await second.db
      .updateTable('device')
      .set({ secret_sha256: hashSecret('another') })
      .where('id', '=', identity.deviceId)
      .execute();
    const channel = deviceRevokedChannel(second.config.QUEUE_PREFIX);
    await redis.multi().call('CLIENT', 'KILL', 'TYPE', 'pubsub').publish(channel, identity.deviceId).exec();
    await closed(device);
    await second.stop();
    redis.disconnect();
    await own.remove();
  },
);

describe('while two secrets overlap', () => {
  it('accepts the previous one until the new one is used', async () => {
    const device = await createDevice(platform.db);
    await replaceSecret(device.deviceId, overlap(device.secret, 60_000));
    expect(await connackWith(device, device.secret)).toBe(0);
    expect(await connackWith(device, device.secret)).toBe(0);
    expect(await connackWith(device, 'another')).toBe(0);
    expect(await connackWith(device, device.secret)).toBe(4);
    expect(await connackWith(device, 'another')).toBe(0);
  });

  it('ends with its time, for open sessions too', async () => {
    const device = await createDevice(platform.db);
    await replaceSecret(device.deviceId, overlap(device.secret, 1500));
    const session = await connectDevice(platform.mqttUrl, device);
    await session.upload({ timestamp: 1 });
    await closed(session);
    expect(await connackWith(device, device.secret)).toBe(4);
  });

  it('keeps an open session that signed in with the previous one', async () => {
    const device = await createDevice(platform.db);
    const session = await connectDevice(platform.mqttUrl, device);
    const redis = await openRedis(platform.config.REDIS_URL);
    const recheck = () => redis.publish(deviceRevokedChannel(platform.config.QUEUE_PREFIX), device.deviceId);
    await replaceSecret(device.deviceId, overlap(device.secret, 60_000));
    await recheck();
    await session.upload({ timestamp: 1 });
    expect(session.client.connected).toBe(true);
    await replaceSecret(device.deviceId, overlap('another', 60_000));
    await recheck();
    await closed(session);
    redis.disconnect();
  });
});

it('closes a session whose secret is replaced while its first use ends the previous one', async () => {
  const device = await createDevice(platform.db);
  const redis = await openRedis(platform.config.REDIS_URL);
  const heard = await openRedis(platform.config.REDIS_URL);
  const replaceAgain = async (statement: StatementText): Promise<void> => {
    if (!statement?.includes('confirm_device_secret')) return;
    const channel = deviceRevokedChannel(second.config.QUEUE_PREFIX);
    // Subscribed after the broker, so it receives messages after it; a turn later the broker has handled them.
    await heard.subscribe(channel);
    await replaceSecret(device.deviceId, { previous_secret_sha256: null, previous_secret_until: null });
    await Promise.all([once(heard, 'message'), redis.publish(channel, device.deviceId)]);
    await turn();
  };
  const second = await startTestPlatform([brokerWith(afterEachStatement(replaceAgain))]);
  await replaceSecret(device.deviceId, { ...overlap('before', 60_000), secret_sha256: hashSecret(device.secret) });
  const socket = await openSocket(second.mqttUrl);
  const fields = { clientId: device.deviceId, username: device.deviceId, password: device.secret };
  socket.write(connectPacket(fields));
  socket.resume();
  await once(socket, 'close', { signal: AbortSignal.timeout(10_000) });
  expect(await connackOf(second.mqttUrl, fields)).toBe(4);
  await second.stop();
  for (const connection of [redis, heard]) connection.disconnect();
});
