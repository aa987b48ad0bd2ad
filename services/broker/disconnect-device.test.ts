import { deviceRevokedChannel } from '@odograph/contracts/presence';
import { hashSecret } from '@odograph/runtime/secrets';
import { connectDevice } from '@odograph/simulator/device-connection';
import { createDevice } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closed, connackOf, hasRedisServer, openRedis, startOwnRedis } from './broker.fixture.ts';
import { brokerService } from './service.ts';

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startTestPlatform([brokerService]);
});
afterAll(() => platform.stop());

const replaceSecret = (deviceId: string, more: { previous_secret_until?: Date; previous_secret_sha256?: Buffer }) =>
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

it('closes the session of the named device when its secret holds no more, and no other', async () => {
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

it.skipIf(!hasRedisServer)('closes a session whose secret changed while Redis was away', async () => {
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

describe('while two secrets overlap', () => {
  it('lets in with the old one until the new one was used', async () => {
    const device = await createDevice(platform.db);
    await replaceSecret(device.deviceId, overlap(device.secret, 60_000));
    expect(await connackWith(device, device.secret)).toBe(0);
    expect(await connackWith(device, device.secret)).toBe(0);
    expect(await connackWith(device, 'another')).toBe(0);
    expect(await connackWith(device, device.secret)).toBe(4);
    expect(await connackWith(device, 'another')).toBe(0);
  });

  it('ends with its time, for a session that is open too', async () => {
    const device = await createDevice(platform.db);
    await replaceSecret(device.deviceId, overlap(device.secret, 1500));
    const session = await connectDevice(platform.mqttUrl, device);
    await session.upload({ timestamp: 1 });
    await closed(session);
    expect(await connackWith(device, device.secret)).toBe(4);
  });

  it('keeps an open session that was let in with the old one when the brokers look again', async () => {
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
