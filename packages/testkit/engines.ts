import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StartedTestContainer } from 'testcontainers';

/** Where the engines of a test run come from. */
export type EngineSource = 'settings' | 'containers' | 'embedded';

/** A running engine and the function that stops it. */
export interface TestEngine {
  readonly url: string;
  stop(): Promise<unknown>;
}

type Engine = 'TimescaleDB' | 'Redis';

const compose = new URL('../../docker-compose.yml', import.meta.url);

/**
 * Chooses the source of an engine: the address in the settings, else containers if TEST_ENGINES says so, else the embedded engine.
 * @throws Error when TEST_ENGINES has an unknown value
 */
export function chooseEngineSource(
  address: string | undefined,
  requested: string | undefined = process.env['TEST_ENGINES'],
): EngineSource {
  if (requested !== undefined && requested !== '' && requested !== 'containers' && requested !== 'embedded') {
    throw new Error(`TEST_ENGINES must be containers or embedded, not ${requested}`);
  }
  if (address !== undefined) return 'settings';
  return requested === 'containers' ? 'containers' : 'embedded';
}

/** Reads the image that docker-compose.yml pins, so that tests run on the version of production. */
export function pinnedImage(repository: string): string {
  const image = new RegExp(`^\\s*image: (${repository}:\\S+)$`, 'm').exec(readFileSync(compose, 'utf8'))?.[1];
  if (image === undefined) throw new Error(`docker-compose.yml pins no image of ${repository}`);
  return image;
}

async function startTimescaleContainer(): Promise<TestEngine> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const password = 'test';
  const container = await new GenericContainer(pinnedImage('timescale/timescaledb'))
    .withEnvironment({ POSTGRES_PASSWORD: password, TIMESCALEDB_TELEMETRY: 'off' })
    .withCommand(['postgres', '-c', 'max_connections=400', '-c', 'fsync=off'])
    .withSharedMemorySize(256 * 1024 ** 2)
    .withExposedPorts(5432)
    // The first match is the server that initializes the data directory; it listens on a socket only.
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
    .start();
  return started(container, (address) => `postgres://postgres:${password}@${address}/postgres`, 5432);
}

async function startRedisContainer(): Promise<TestEngine> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const settings = readFileSync(new URL('../../infra/redis.conf', import.meta.url), 'utf8');
  const container = await new GenericContainer(pinnedImage('redis'))
    .withCopyContentToContainer([{ content: settings, target: '/etc/redis.conf' }])
    .withCommand(['redis-server', '/etc/redis.conf', '--dir', '/data'])
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .start();
  return started(container, (address) => `redis://${address}`, 6379);
}

function started(container: StartedTestContainer, url: (address: string) => string, port: number): TestEngine {
  return {
    url: url(`${container.getHost()}:${container.getMappedPort(port)}`),
    stop: () => container.stop(),
  };
}

async function startEmbedded(engine: Engine, directory: string): Promise<TestEngine> {
  if (engine === 'Redis') {
    const { startEmbeddedRedis } = await import('@odograph/embedded/redis/redis');
    return startEmbeddedRedis({ dataDirectory: join(directory, 'redis') });
  }
  const { startEmbeddedTimescale } = await import('@odograph/embedded/postgres/timescaledb');
  return startEmbeddedTimescale({ dataDirectory: join(directory, 'timescaledb') });
}

/** Starts an engine from its source, or uses the one at `address`. */
export async function startEngine(engine: Engine, address: string | undefined, directory: string): Promise<TestEngine> {
  const source = chooseEngineSource(address);
  if (source === 'containers') return engine === 'Redis' ? startRedisContainer() : startTimescaleContainer();
  if (source === 'embedded' || address === undefined) return startEmbedded(engine, directory);
  return { url: address, stop: () => Promise.resolve() };
}
