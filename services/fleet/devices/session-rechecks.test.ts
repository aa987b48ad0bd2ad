import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deviceRevokedChannel } from '@odograph/contracts/presence';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { hasRedisServer } from '@odograph/testkit/programs';
import { spawnRedis } from '@odograph/testkit/redis-server';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { expect, it } from 'vitest';
import { fleetService } from '../service.ts';

it.skipIf(!hasRedisServer)(
  'brokers are notified of new credentials once Redis takes it, and /health fails until then',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'odograph-redis-'));
    const server = await spawnRedis(directory);
    const control = connectRedis(server.url, createLogger('silent'));
    const subscriber = connectRedis(server.url, createLogger('silent'));
    await Promise.all([once(control, 'ready'), once(subscriber, 'ready')]);
    const grant = (...rules: string[]) => control.call('ACL', 'SETUSER', 'limited', ...rules);
    await grant('on', '>secret', '~*', '&*', '+@all', '-publish');
    const platform = await startTestPlatform([fleetService], {
      REDIS_URL: server.url.replace('redis://', 'redis://limited:secret@'),
    });
    const heard: string[] = [];
    try {
      await subscriber.subscribe(deviceRevokedChannel(platform.config.QUEUE_PREFIX));
      subscriber.on('message', (_channel, deviceId: string) => heard.push(deviceId));
      const { deviceId } = await createDevice(platform.db);
      const { admin } = platform;
      expect((await admin.post(`/v1/x/admin/devices/${deviceId}/secret`)).status).toBe(200);
      const health = () => platform.anonymous.get('/health');
      expect(await health()).toMatchObject({ status: 503, body: { services: { fleet: { ok: false } } } });
      const failures = await platform.metrics.getSingleMetricAsString('odograph_fleet_revocation_failures_total');
      expect(failures).toMatch(/ [1-9]/);
      expect(heard).toEqual([]);
      await grant('+publish');
      await eventually(async () => expect(heard).toEqual([deviceId]));
      await eventually(async () => expect((await health()).status).toBe(200));
    } finally {
      subscriber.disconnect();
      await platform.stop();
      control.disconnect();
      await server.end('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    }
  },
);
