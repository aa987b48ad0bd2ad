import { presenceKey } from '@odograph/contracts/presence';
import type { Limits } from '@odograph/runtime/limits';
import { hashSecret } from '@odograph/runtime/secrets';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { hasRedisServer } from '@odograph/testkit/programs';
import { openUploadQueues } from '@odograph/testkit/queued-uploads';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closed, type OwnRedis, openRedis, startOwnRedis } from './broker.fixture.ts';
import { brokerService } from './service.ts';

describe.skipIf(!hasRedisServer)('when Redis refuses a command', () => {
  let own: OwnRedis;
  let control: Awaited<ReturnType<typeof openRedis>>;
  let platform: TestPlatform | undefined;
  beforeEach(async () => {
    own = await startOwnRedis();
    control = await openRedis(own.url);
  });
  afterEach(async () => {
    await platform?.stop();
    control.disconnect();
    await own.remove();
  });

  /** Starts a broker whose Redis user has all rights but those that `rules` take. */
  async function startWith(rules: readonly string[], limits: Partial<Limits> = {}): Promise<TestPlatform> {
    await control.call('ACL', 'SETUSER', 'limited', 'on', '>secret', '~*', '&*', '+@all', ...rules);
    const url = own.url.replace('redis://', 'redis://limited:secret@');
    platform = await startTestPlatform([brokerService], { REDIS_URL: url }, limits);
    return platform;
  }
  const drainUploads = async ({ config }: TestPlatform) => {
    const queues = openUploadQueues({ ...config, REDIS_URL: own.url });
    await queues.drain();
    await queues.close();
  };
  const grant = (...rules: string[]) => control.call('ACL', 'SETUSER', 'limited', ...rules);
  const health = async ({ httpUrl }: TestPlatform) => {
    const response = await fetch(`${httpUrl}/health`);
    return `${response.status} ${await response.text()}`;
  };
  const failures = async ({ metrics }: TestPlatform, task: string) => {
    const values = (await metrics.getSingleMetric('odograph_broker_background_failures_total')?.get())?.values ?? [];
    return values.find(({ labels }) => labels['task'] === task)?.value ?? 0;
  };

  it('fails /health while revocations cannot be received, and closes revoked sessions once they can', async () => {
    const started = await startWith(['-subscribe']);
    const identity = await createDevice(started.db);
    const device = await connectDevice(started.mqttUrl, identity);
    await started.db
      .updateTable('device')
      .set({ secret_sha256: hashSecret('another') })
      .where('id', '=', identity.deviceId)
      .execute();
    await eventually(async () => expect(await health(started)).toMatch(/^503 .*revoked devices may stay connected/));
    expect(await failures(started, 'revocations')).toBeGreaterThan(0);
    expect(device.client.connected).toBe(true);
    await grant('+subscribe');
    await closed(device);
    await eventually(async () => expect(await health(started)).toMatch(/^200/));
  });

  it('fails /health while sessions cannot be written, and writes all once they can', async () => {
    const started = await startWith(['-hset']);
    const identity = await createDevice(started.db);
    const device = await connectDevice(started.mqttUrl, identity);
    await eventually(async () => expect(await health(started)).toMatch(/^503 .*session registry in Redis is stale/));
    expect(await failures(started, 'sessions')).toBeGreaterThan(0);
    await grant('+hset');
    await eventually(async () => expect(await health(started)).toMatch(/^200/));
    expect(await control.hget(presenceKey(started.config.QUEUE_PREFIX), identity.deviceId)).not.toBeNull();
    await device.close();
  });

  it('removes a session once it can, after the end of that session could not be written', async () => {
    const started = await startWith([]);
    const identity = await createDevice(started.db);
    const device = await connectDevice(started.mqttUrl, identity);
    const key = presenceKey(started.config.QUEUE_PREFIX);
    await grant('-hdel');
    await device.close();
    await eventually(async () => expect(await health(started)).toMatch(/^503 .*session registry in Redis is stale/));
    expect(await control.hget(key, identity.deviceId)).not.toBeNull();
    await grant('+hdel');
    await eventually(async () => expect(await control.hget(key, identity.deviceId)).toBeNull());
    await eventually(async () => expect(await health(started)).toMatch(/^200/));
  });

  it('fails /health while the memory of Redis is unknown, and still limits the jobs of the backlog', async () => {
    const started = await startWith([], { maxBacklogJobs: 5 });
    await grant('-info');
    await eventually(async () => expect(await health(started)).toMatch(/^503 .*backlog is unknown/));
    expect(await failures(started, 'backlog')).toBeGreaterThan(0);
    const device = await connectDevice(started.mqttUrl, await createDevice(started.db));
    for (let number = 0; number < 6; number += 1) await device.upload({ timestamp: number });
    await eventually(async () => expect(await health(started)).toMatch(/^503 .*backlog exceeds its limit/));
    await drainUploads(started);
    await device.close();
    await grant('+info');
    await eventually(async () => expect(await health(started)).toMatch(/^200/));
  });
});
