import { deviceRevokedChannel } from '@odograph/contracts/presence';
import { hashSecret } from '@odograph/runtime/secrets';
import { connectDevice } from '@odograph/simulator/device-connection';
import { createDevice } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { closed, hasRedisServer, openRedis, startOwnRedis } from './broker.fixture.ts';
import { brokerService } from './service.ts';

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startTestPlatform([brokerService]);
});
afterAll(() => platform.stop());

it('closes the session of the device that is named, and no other', async () => {
  const [one, two] = await Promise.all([createDevice(platform.db), createDevice(platform.db)]);
  const revoked = await connectDevice(platform.mqttUrl, one);
  const other = await connectDevice(platform.mqttUrl, two);
  const redis = await openRedis(platform.config.REDIS_URL);
  const channel = deviceRevokedChannel(platform.config.QUEUE_PREFIX);
  await redis.publish(channel, 'nobody');
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
