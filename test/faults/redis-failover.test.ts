import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokerService } from '@odograph/broker/service';
import { ingestService } from '@odograph/ingest/service';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { eventually } from '@odograph/testkit/eventually';
import { freePort } from '@odograph/testkit/free-port';
import { hasRedisSentinel, hasRedisServer } from '@odograph/testkit/programs';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startLoad } from './parts/load.fixture.ts';
import { type RedisMember, spawnMember, startRedisCluster } from './parts/redis-members.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { report } from './parts/testbed.fixture.ts';

const timeoutMs = 300_000;
let directory: string;
const closes: (() => unknown)[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'odograph-failover-'));
  closes.push(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
});
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

async function startMember(settings: readonly string[]): Promise<RedisMember> {
  const member = await spawnMember(directory, settings);
  closes.push(member.end);
  return member;
}

/** Starts a primary with two replicas and a Sentinel. */
async function startSentinelGroup() {
  const primary = await startMember([]);
  const replicaOf = ['--replicaof', `127.0.0.1 ${primary.port}`];
  for (let replica = 0; replica < 2; replica += 1) await startMember(replicaOf);
  const port = await freePort();
  const file = join(directory, 'sentinel.conf');
  const lines = [
    ...[`port ${port}`, 'bind 127.0.0.1', `dir ${directory}`, `sentinel monitor uploads 127.0.0.1 ${primary.port} 1`],
    ...['sentinel down-after-milliseconds uploads 1000', 'sentinel failover-timeout uploads 10000'],
  ];
  await writeFile(file, lines.join('\n'));
  const sentinel = spawn('redis-sentinel', [file], { stdio: 'ignore' });
  const exited = once(sentinel, 'exit');
  closes.push(async () => {
    sentinel.kill('SIGKILL');
    await exited;
  });
  return { primary, url: `redis+sentinel://127.0.0.1:${port}/uploads` };
}

async function startPlatform(settings: Record<string, string>) {
  const platform = await startTestPlatform([brokerService, ingestService], { ...settings, REDIS_REPLICAS: '1' });
  closes.push(() => platform.stop());
  return platform;
}

describe('acknowledged uploads survive the loss of their primary', () => {
  it.skipIf(!hasRedisServer || !hasRedisSentinel)(
    'when Sentinel promotes a replica',
    async () => {
      const { primary, url } = await startSentinelGroup();
      const watched = connectRedis(`redis://127.0.0.1:${primary.port}`, createLogger('silent'));
      closes.push(() => watched.disconnect());
      await eventually(async () => expect(await watched.info('replication')).toContain('connected_slaves:2'), 30_000);
      const { db, mqttUrl } = await startPlatform({ REDIS_URL: url });
      const load = await startLoad({ db, mqttUrl, devices: 20 });
      await load.progress(10);
      await primary.lose();
      await load.progress(20);
      await report('fail-over by Sentinel', { stored: await load.finish() });
    },
    timeoutMs,
  );

  it.skipIf(!hasRedisServer)(
    'when a cluster promotes the replica of a primary, at full length of each in turn',
    async () => {
      const cluster = await startRedisCluster(directory);
      closes.push(cluster.end);
      const { db, mqttUrl } = await startPlatform({ REDIS_URL: cluster.url, UPLOAD_SHARDS: '4' });
      const load = await startLoad({ db, mqttUrl, devices: 20 });
      await load.progress(5);
      for (const member of cluster.members.slice(0, scale.isFullLength ? 3 : 1)) {
        await member.lose();
        await eventually(async () => expect(cluster.primaries(member)).toHaveLength(3), 60_000);
        // Without a replica, the new primary acknowledges nothing.
        await member.restart();
        await load.progress(10);
      }
      await report('fail-over of a cluster', { stored: await load.finish() });
    },
    timeoutMs,
  );
});
