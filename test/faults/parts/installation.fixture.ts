import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, openDatabase } from '@odograph/database/database';
import { createLogger } from '@odograph/runtime/logger';
import { ShutdownHooks } from '@odograph/runtime/shutdown-hooks';
import { type ChildPlatform, spawnPlatform } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { freePort } from '@odograph/testkit/free-port';
import { canReplicate, type PostgresServer, startPostgresCluster } from '@odograph/testkit/postgres-cluster';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { testAdminToken, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { expect } from 'vitest';
import { type RedisCluster, startRedisCluster } from './redis-members.fixture.ts';
import { startTcpProxy } from './tcp-proxy.fixture.ts';

const servicesOf = {
  broker: ['broker'],
  gateway: ['gateway'],
  ingest: ['ingest'],
  http: ['query', 'fleet', 'access', 'registration', 'command', 'events'],
} as const;
type Role = keyof typeof servicesOf;

/** How many processes there are of each role. */
export type Replicas = Readonly<Record<Role, number>>;

interface Member {
  readonly role: Role;
  readonly httpPort: number;
  /** Of MQTT or of Teltonika. */
  readonly devicePort: number;
  readonly settings: Record<string, string>;
  process: ChildPlatform;
}

/** A fault that `run` injects and ends; clients may still be recovering when it resolves. */
interface Fault {
  readonly name: string;
  run(): Promise<void>;
}

/** Several processes of each service behind HAProxy, on a Redis Cluster and a database with a standby. */
export interface Installation {
  readonly db: Database;
  readonly httpUrl: string;
  readonly mqttUrl: string;
  readonly teltonikaPort: number;
  readonly faults: readonly Fault[];
  /** Replaces every process by a new one, one at a time. @returns the number of processes */
  upgrade(): Promise<number>;
  close(): Promise<void>;
}

/** Writes a configuration as docs/scaling.md advises. */
function describeBalancer(
  members: readonly Member[],
  ports: Readonly<Record<Exclude<Role, 'ingest'>, number>>,
): string {
  const listen = (role: Exclude<Role, 'ingest'>, mode: 'tcp' | 'http', lines: readonly string[]) => [
    `listen ${role}`,
    `  bind 127.0.0.1:${ports[role]}`,
    `  mode ${mode}`,
    '  option httpchk GET /health',
    '  default-server inter 1s fall 2 rise 1',
    ...members
      .filter((member) => member.role === role)
      .map(({ httpPort, devicePort }, index) =>
        mode === 'tcp'
          ? `  server ${role}${index} 127.0.0.1:${devicePort} check port ${httpPort} send-proxy-v2`
          : `  server ${role}${index} 127.0.0.1:${httpPort} check`,
      ),
    ...lines,
  ];
  const timeouts = ['connect 2s', 'client 60s', 'server 60s', 'tunnel 1h'].map((timeout) => `  timeout ${timeout}`);
  return [
    'defaults',
    ...timeouts,
    '  option redispatch',
    ...listen('broker', 'tcp', ['  balance leastconn']),
    ...listen('gateway', 'tcp', ['  balance leastconn']),
    ...listen('http', 'http', ['  retry-on conn-failure', '  http-request disable-l7-retry unless METH_GET']),
    '',
  ].join('\n');
}

interface DatabaseServers {
  readonly url: string;
  /** Absent on an engine that cannot replicate. */
  readonly failOver?: () => Promise<void>;
}

/** Starts a primary and a synchronous standby behind a balancer, if the engine of this run can replicate. */
async function startDatabase(hooks: ShutdownHooks): Promise<DatabaseServers> {
  if (!canReplicate()) return { url: testDatabaseUrl() };
  const cluster = await startPostgresCluster();
  hooks.add('database', () => cluster.stop());
  let primary: PostgresServer = cluster.primary;
  const balancer = await startTcpProxy(() => Number(new URL(primary.url).port));
  hooks.add('balancer of the database', () => balancer.close());
  let standbys = 0;
  const addStandby = async (): Promise<PostgresServer> => {
    standbys += 1;
    const standby = await cluster.addStandby(`standby${standbys}`, 'synchronous', primary);
    await eventually(async () => {
      const rows = await primary.query(
        `select from pg_stat_replication where sync_state = 'sync' and state = 'streaming'`,
      );
      expect(rows).toHaveLength(1);
    }, 60_000);
    return standby;
  };
  let standby = await addStandby();
  return {
    url: `postgres://postgres@127.0.0.1:${balancer.port}/postgres`,
    async failOver() {
      await primary.end('SIGKILL');
      await standby.query('select pg_promote()');
      primary = standby;
      standby = await addStandby();
    },
  };
}

async function startMembers(
  replicas: Replicas,
  common: Record<string, string>,
  hooks: ShutdownHooks,
): Promise<Member[]> {
  const roles = (Object.keys(replicas) as Role[]).flatMap((role) => Array.from({ length: replicas[role] }, () => role));
  const starts = roles.map(async (role): Promise<Member> => {
    const [httpPort, devicePort] = [await freePort(), await freePort()];
    const devices = { MQTT_PORT: '0', TELTONIKA_PORT: '0' };
    if (role === 'broker') devices.MQTT_PORT = String(devicePort);
    if (role === 'gateway') devices.TELTONIKA_PORT = String(devicePort);
    const settings = { ...common, ...devices, HTTP_PORT: String(httpPort) };
    const process = await spawnPlatform(servicesOf[role], settings);
    const member = { role, httpPort, devicePort, settings, process };
    hooks.add(role, () => member.process.end('SIGKILL'));
    return member;
  });
  // Wait for all: if one fails to start, the hooks must know every process that did.
  await Promise.allSettled(starts);
  return Promise.all(starts);
}

/** Downtime of a killed process, and duration of a suspension; the latter exceeds the timeouts of its peers. */
const awayMs = 2000;
const suspendedMs = 15_000;

function listFaults(members: readonly Member[], redis: RedisCluster, database: DatabaseServers, random: () => number) {
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
  const ofRole = (role: Role) => members.filter((member) => member.role === role);
  const kills = (Object.keys(servicesOf) as Role[]).map((role) => ({
    name: `${role} killed`,
    async run() {
      const victim = pick(ofRole(role));
      await victim.process.end('SIGKILL');
      await delay(awayMs);
      victim.process = await spawnPlatform(servicesOf[role], victim.settings);
    },
  }));
  const suspension = {
    name: 'broker suspended',
    async run() {
      const { process } = pick(ofRole('broker')).process;
      process.kill('SIGSTOP');
      await delay(suspendedMs);
      process.kill('SIGCONT');
    },
  };
  const loss = {
    name: 'Redis primary lost with its data',
    async run() {
      const victim = pick(redis.primaries());
      await victim.lose();
      await eventually(async () => expect(redis.primaries(victim)).toHaveLength(3), 60_000);
      await victim.restart();
    },
  };
  const { failOver } = database;
  const failOvers = failOver ? [{ name: 'database failed over', run: failOver }] : [];
  return [...kills, suspension, loss, ...failOvers];
}

async function openInstallation(
  replicas: Replicas,
  random: () => number,
  hooks: ShutdownHooks,
): Promise<Omit<Installation, 'close'>> {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-installation-'));
  hooks.add('directory', () => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  const database = await startDatabase(hooks);
  const redis = await startRedisCluster(directory);
  hooks.add('Redis', () => redis.end());
  const common = {
    ...{ DATABASE_URL: database.url, REDIS_URL: redis.url, REDIS_REPLICAS: '1', UPLOAD_SHARDS: '4' },
    ...{ DATA_DIR: directory, ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys, LOG_LEVEL: 'error' },
    ...{ PROXY_PROTOCOL_NETWORKS: '127.0.0.1', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' },
    ...{ HTTP_REQUESTS_PER_MINUTE: '1000000', SHUTDOWN_DRAIN_MS: '1500' },
  };
  const members = await startMembers(replicas, common, hooks);
  const ports = { broker: await freePort(), gateway: await freePort(), http: await freePort() };
  const file = join(directory, 'haproxy.cfg');
  await writeFile(file, describeBalancer(members, ports));
  const balancer: ChildProcess = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
  hooks.add('balancer', async () => {
    const exited = once(balancer, 'exit');
    balancer.kill('SIGKILL');
    await exited;
  });
  const httpUrl = `http://127.0.0.1:${ports.http}`;
  await eventually(async () => expect((await fetch(`${httpUrl}/health`)).status).toBe(200), 30_000);
  const db = openDatabase({ url: database.url, name: 'faults', size: 4 });
  hooks.add('connections of the test', () => db.destroy());
  return {
    ...{ db, httpUrl, mqttUrl: `mqtt://127.0.0.1:${ports.broker}`, teltonikaPort: ports.gateway },
    faults: listFaults(members, redis, database, random),
    async upgrade() {
      for (const member of members) {
        expect(await member.process.end('SIGTERM')).toBe(0);
        member.process = await spawnPlatform(servicesOf[member.role], member.settings);
      }
      return members.length;
    },
  };
}

/**
 * Starts an installation; the caller closes it.
 * @param random chooses the victims of faults
 * @throws when a part does not start, after ending the parts that did
 */
export async function startInstallation(replicas: Replicas, random: () => number): Promise<Installation> {
  const hooks = new ShutdownHooks(createLogger('error'));
  try {
    const installation = await openInstallation(replicas, random, hooks);
    return { ...installation, close: () => hooks.run() };
  } catch (error) {
    await hooks.run();
    throw error;
  }
}
