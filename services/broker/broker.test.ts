import { connectDevice } from '@odograph/simulator/device-connection';
import { createDevice } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { brokerService } from './service.ts';

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startTestPlatform([brokerService]);
});
afterAll(() => platform.stop());

it('takes an upload', async () => {
  const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
  await device.upload({ timestamp: 1 });
  await device.close();
  expect(1).toBe(1);
});
