import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '@odograph/database/database';
import { type ChildPlatform, spawnPlatform } from '@odograph/testkit/child-platform';
import { freePort } from '@odograph/testkit/free-port';
import { type RedisServer, spawnRedis } from '@odograph/testkit/redis-server';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { testAdminToken, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { inject } from 'vitest';
import { createDisk, type Disk } from './full-disk.fixture.ts';
import { type Load, type LoadOptions, startLoad } from './load.fixture.ts';
import { scale } from './scale.fixture.ts';
import { createSteppedClock, type SteppedClock } from './stepped-clock.fixture.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.fixture.ts';

/** Network connections between two parts, each through a proxy. */
export type LineName = 'device-broker' | 'broker-Redis' | 'ingest-Redis' | 'ingest-database';
export type ProcessName = 'broker' | 'ingest' | 'Redis' | 'database';

/** Broker and ingest in separate processes on a separate Redis, connected through proxies. */
export interface Testbed {
  readonly db: Database;
  /** Through the devices' proxy. */
  readonly mqttUrl: string;
  /** Port of the broker itself. */
  readonly mqttPort: number;
  readonly lines: Readonly<Record<LineName, TcpProxy>>;
  readonly disk: Disk;
  readonly clocks: Readonly<Record<'broker' | 'ingest', SteppedClock>>;
  broker(): ChildPlatform;
  ingest(): ChildPlatform;
  /** Starts another ingest process, which the caller ends. */
  spawnIngest(): Promise<ChildPlatform>;
  /** Sends SIGKILL to all victims at once; of the database it ends every connection. */
  kill(...victims: ProcessName[]): Promise<void>;
  /** Restarts killed processes and resolves when they are healthy. */
  restart(...victims: ProcessName[]): Promise<void>;
  /** Ends the faults of the connections and of the disk. */
  mend(): void;
  startLoad(options?: Partial<LoadOptions>): Promise<Load>;
  close(): Promise<void>;
}

export interface TestbedOptions {
  readonly databaseUrl?: string;
}

const portOf = (url: string) => Number(new URL(url).port || '5432');

function through(url: string, proxy: TcpProxy): string {
  const changed = new URL(url);
  changed.hostname = '127.0.0.1';
  changed.port = String(proxy.port);
  return changed.href;
}

/** Terminates the server side of every connection through the proxy. */
async function terminateConnections(db: Database, proxy: TcpProxy): Promise<void> {
  const ports = proxy.localPorts();
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where client_port = any(${ports}::integer[])`
    .execute(db)
    .catch(() => undefined);
}

async function openLines(
  mqttPort: number,
  redisPort: number,
  databasePort: number,
  disk: Disk,
): Promise<Testbed['lines']> {
  return {
    'device-broker': await startTcpProxy(mqttPort),
    'broker-Redis': await startTcpProxy(redisPort),
    'ingest-Redis': await startTcpProxy(redisPort),
    'ingest-database': await startTcpProxy(databasePort, disk.filter),
  };
}

/** Creates functions that start the two processes behind their proxies. */
function createStarters(
  settings: Readonly<Record<string, string>>,
  url: string,
  redisUrl: string,
  { lines, clocks }: Pick<Testbed, 'lines' | 'clocks'>,
) {
  const start = async (name: 'broker' | 'ingest', redis: TcpProxy, databaseUrl: string) => {
    const own = { REDIS_URL: through(redisUrl, redis), DATABASE_URL: databaseUrl, HTTP_PORT: String(await freePort()) };
    return spawnPlatform([name], { ...settings, ...clocks[name].settings, ...own });
  };
  return {
    broker: () => start('broker', lines['broker-Redis'], url),
    ingest: () => start('ingest', lines['ingest-Redis'], through(url, lines['ingest-database'])),
  };
}

type Running = { broker: ChildPlatform; ingest: ChildPlatform; redis: RedisServer };

async function killAll(victims: readonly ProcessName[], running: Running, db: Database, line: TcpProxy): Promise<void> {
  const killers: Record<ProcessName, () => Promise<unknown>> = {
    broker: () => running.broker.end('SIGKILL'),
    ingest: () => running.ingest.end('SIGKILL'),
    Redis: () => running.redis.end('SIGKILL'),
    database: () => terminateConnections(db, line),
  };
  await Promise.all(victims.map((victim) => killers[victim]()));
}

/** Opens a testbed; the caller closes it. */
export async function openTestbed({ databaseUrl }: TestbedOptions = {}): Promise<Testbed> {
  const url = databaseUrl ?? testDatabaseUrl();
  const directory = await mkdtemp(join(tmpdir(), 'odograph-faults-'));
  const db = openDatabase({ url, name: 'faults', size: 2 });
  const redis = await spawnRedis(directory);
  const mqttPort = await freePort();
  const disk = createDisk();
  const lines = await openLines(mqttPort, redis.port, portOf(url), disk);
  const settings = {
    ...{ ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys, DATA_DIR: directory },
    ...{ MQTT_PORT: String(mqttPort), LOG_LEVEL: 'warn' },
  };
  const clocks = {
    broker: await createSteppedClock(join(directory, 'clock-broker')),
    ingest: await createSteppedClock(join(directory, 'clock-ingest')),
  };
  const starters = createStarters(settings, url, redis.url, { lines, clocks });
  const [broker, ingest] = await Promise.all([starters.broker(), starters.ingest()]);
  const running: Running = { broker, ingest, redis };
  const mqttUrl = `mqtt://127.0.0.1:${lines['device-broker'].port}`;
  return {
    ...{ db, mqttUrl, mqttPort, lines, disk, clocks },
    broker: () => running.broker,
    ingest: () => running.ingest,
    spawnIngest: starters.ingest,
    kill: (...victims) => killAll(victims, running, db, lines['ingest-database']),
    async restart(...victims) {
      if (victims.includes('Redis')) running.redis = await spawnRedis(directory, redis.port);
      const one = async (name: 'broker' | 'ingest') => {
        if (victims.includes(name)) running[name] = await starters[name]();
      };
      await Promise.all([one('broker'), one('ingest')]);
    },
    mend() {
      for (const line of Object.values(lines)) line.mend();
      disk.full = false;
    },
    startLoad: (options) => startLoad({ db, mqttUrl, devices: scale.devices, ...options }),
    async close() {
      await killAll(['broker', 'ingest', 'Redis'], running, db, lines['ingest-database']);
      for (const line of Object.values(lines)) line.close();
      await db.destroy();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Prints figures of a test, and appends them to the report of `npm run test:faults`. */
export async function report(what: string, figures: Record<string, number>): Promise<void> {
  const line = JSON.stringify({ what, ...figures });
  console.info(line);
  const file = inject('faultReport');
  if (file) await appendFile(file, `${line}\n`);
}
