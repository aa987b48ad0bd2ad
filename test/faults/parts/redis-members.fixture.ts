import { spawnSync } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@odograph/testkit/free-port';
import { type RedisServer, spawnRedis } from '@odograph/testkit/redis-server';

/** A Redis server of a replication group. */
export interface RedisMember {
  readonly port: number;
  /** Kills the server and deletes its data, but keeps its cluster configuration. */
  lose(): Promise<void>;
  restart(): Promise<void>;
  end(): Promise<void>;
}

/** Starts a server whose data is in a folder of `directory`. */
export async function spawnMember(directory: string, settings: readonly string[]): Promise<RedisMember> {
  const port = await freePort();
  const own = join(directory, String(port));
  await mkdir(own);
  let server: RedisServer | undefined = await spawnRedis(own, port, settings);
  const end = async () => {
    await server?.end('SIGKILL');
    server = undefined;
  };
  return {
    ...{ port, end },
    async lose() {
      await end();
      await rm(join(own, 'appendonlydir'), { recursive: true });
    },
    async restart() {
      server = await spawnRedis(own, port, settings);
    },
  };
}

const clusterSettings = [
  ...['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', '--cluster-require-full-coverage', 'no'],
];

/** A cluster of three primaries with a replica each. */
export interface RedisCluster {
  readonly url: string;
  readonly members: readonly RedisMember[];
  /** Finds the members other than `except` that are primaries with slots at present, as one of them sees it. */
  primaries(except?: RedisMember): RedisMember[];
  end(): Promise<void>;
}

/** Starts a cluster; the caller ends it. */
export async function startRedisCluster(directory: string): Promise<RedisCluster> {
  const members: RedisMember[] = [];
  for (let member = 0; member < 6; member += 1) {
    // The default, client port + 10000, may be taken.
    const ports = ['--cluster-port', String(await freePort())];
    members.push(await spawnMember(directory, [...clusterSettings, ...ports]));
  }
  const end = async () => {
    for (const member of members) await member.end();
  };
  const addresses = members.map(({ port }) => `127.0.0.1:${port}`);
  const create = ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'];
  const { status, stdout } = spawnSync('redis-cli', create, { encoding: 'utf8' });
  if (status !== 0) {
    await end();
    throw new Error(`no cluster: ${stdout}`);
  }
  return {
    ...{ members, url: `redis+cluster://${addresses.join(',')}`, end },
    primaries(except) {
      const asked = members.find((member) => member !== except);
      const nodes = spawnSync('redis-cli', ['-p', String(asked?.port), 'cluster', 'nodes'], {
        encoding: 'utf8',
      }).stdout;
      const lines = nodes.split('\n').filter((line) => / (myself,)?master - .* \d+-\d+/.test(line));
      const isListed = ({ port }: RedisMember) => lines.some((line) => line.includes(`:${port}@`));
      return members.filter((member) => member !== except && isListed(member));
    },
  };
}
