import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokerService } from '@odograph/broker/service';
import { ingestService } from '@odograph/ingest/service';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { eventually } from '@odograph/testkit/eventually';
import { freePort } from '@odograph/testkit/free-port';
import { hasRedisSentinel, hasRedisServer } from '@odograph/testkit/programs';
import { type RedisServer, spawnRedis } from '@odograph/testkit/redis-server';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startLoad } from './parts/load.fixture.ts';
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

/** A server of a group. Killed, it loses its data; started again, it gets them from its primary. */
interface Member {
  readonly port: number;
  /** Ends it with all it keeps on disk, except what it knows of the group. */
  lose(): Promise<void>;
  restart(): Promise<void>;
}

async function spawnMember(settings: readonly string[]): Promise<Member> {
  const port = await freePort();
  const own = join(directory, String(port));
  await mkdir(own);
  let server: RedisServer | undefined = await spawnRedis(own, port, settings);
  const end = async () => {
    await server?.end('SIGKILL');
    server = undefined;
  };
  closes.push(end);
  return {
    port,
    async lose() {
      await end();
      await rm(join(own, 'appendonlydir'), { recursive: true });
    },
    async restart() {
      server = await spawnRedis(own, port, settings);
    },
  };
}

/** Starts a primary with two replicas and a Sentinel. */
async function startSentinelGroup() {
  const primary = await spawnMember([]);
  const replicaOf = ['--replicaof', `127.0.0.1 ${primary.port}`];
  for (let replica = 0; replica < 2; replica += 1) await spawnMember(replicaOf);
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

/** Starts a cluster of three primaries with a replica each. */
async function startCluster() {
  const settings = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'];
  const members: Member[] = [];
  for (let member = 0; member < 6; member += 1) {
    // By default the port of clients + 10000, which may be taken.
    const ports = ['--cluster-port', String(await freePort())];
    members.push(await spawnMember([...settings, '--cluster-require-full-coverage', 'no', ...ports]));
  }
  const addresses = members.map(({ port }) => `127.0.0.1:${port}`);
  const create = ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'];
  const { status, stdout } = spawnSync('redis-cli', create, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`no cluster: ${stdout}`);
  return { members, url: `redis+cluster://${addresses.join(',')}` };
}

function connectTo(url: string): Redis {
  const redis = connectRedis(url, createLogger('silent'));
  closes.push(() => redis.disconnect());
  return redis;
}

async function startPlatform(settings: Record<string, string>) {
  const platform = await startTestPlatform([brokerService, ingestService], { ...settings, REDIS_REPLICAS: '1' });
  closes.push(() => platform.stop());
  return platform;
}

describe('nothing acknowledged is lost with the primary that had it', () => {
  it.skipIf(!hasRedisServer || !hasRedisSentinel)(
    'when Sentinel promotes a replica',
    async () => {
      const { primary, url } = await startSentinelGroup();
      const watched = connectTo(`redis://127.0.0.1:${primary.port}`);
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
    'when a cluster promotes a replica, of each primary in turn',
    async () => {
      const { members, url } = await startCluster();
      const { db, mqttUrl } = await startPlatform({ REDIS_URL: url, UPLOAD_SHARDS: '4' });
      const load = await startLoad({ db, mqttUrl, devices: 20 });
      await load.progress(5);
      for (const member of members.slice(0, 3)) {
        await member.lose();
        const other = members.find((one) => one !== member);
        const redis = connectTo(`redis://127.0.0.1:${other?.port}`);
        await eventually(async () => {
          const primaries = String(await redis.call('CLUSTER', 'NODES'))
            .split('\n')
            .filter((line) => / (myself,)?master - .* \d+-\d+/.test(line));
          expect(primaries).toHaveLength(3);
        }, 60_000);
        // Without a replica, the new primary acknowledges nothing.
        await member.restart();
        await load.progress(10);
      }
      await report('fail-over of a cluster', { stored: await load.finish() });
    },
    timeoutMs,
  );
});
