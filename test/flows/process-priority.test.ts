import { constants, getPriority } from 'node:os';
import { spawnPlatform } from '@odograph/testkit/child-platform';
import { freePort } from '@odograph/testkit/free-port';
import { testAdminToken, testConfig, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { expect, it, onTestFinished } from 'vitest';

const { PRIORITY_BELOW_NORMAL, PRIORITY_NORMAL } = constants.priority;

it.each([
  [['ingest'], PRIORITY_BELOW_NORMAL],
  [['ingest', 'broker'], PRIORITY_NORMAL],
])('%j in one process run at priority %i: storing alone gives way to acknowledging', async (services, priority) => {
  const { DATABASE_URL, REDIS_URL, QUEUE_PREFIX, DATA_DIR, MQTT_PORT } = await testConfig();
  const platform = await spawnPlatform(services, {
    ...{ DATABASE_URL, REDIS_URL, QUEUE_PREFIX, DATA_DIR, MQTT_PORT: String(MQTT_PORT) },
    ...{ HTTP_PORT: String(await freePort()), ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys },
  });
  onTestFinished(async () => void (await platform.end('SIGKILL')));
  expect(getPriority(platform.process.pid)).toBe(priority);
  expect(await platform.end('SIGTERM')).toBe(0);
});
