import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { holderPid } from '@odograph/embedded/process/engine-owner.fixture';
import { identifyProcess, isRunning, type ProcessIdentity } from '@odograph/embedded/process/process-identity';
import { childEnvironment } from '@odograph/runtime/config';
import { eventually } from '@odograph/testkit/eventually';
import { freePort } from '@odograph/testkit/free-port';
import { hasRedisServer } from '@odograph/testkit/programs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const timeoutMs = 240_000;
let directory: string;

/** Starts `npm start` on embedded engines and resolves when /health is ok. */
async function npmStart() {
  const httpUrl = `http://127.0.0.1:${await freePort()}`;
  const environment = childEnvironment({
    ...{
      DATA_DIR: directory,
      HTTP_PORT: new URL(httpUrl).port,
      MQTT_PORT: String(await freePort()),
      LOG_LEVEL: 'warn',
    },
    ...{ DATABASE_URL: '', REDIS_URL: '' },
  });
  const npm = spawn('npm', ['start'], { cwd: root, env: environment, stdio: 'ignore' });
  await eventually(async () => expect((await fetch(`${httpUrl}/health`)).ok).toBe(true), timeoutMs / 2);
  return { npm, httpUrl };
}

/** The processes of the engines: the platform, which holds the lock of Redis, the database, and redis-server. */
async function enginePids(): Promise<ProcessIdentity[]> {
  const [redis, timescale] = [join(directory, 'redis'), join(directory, 'timescaledb')];
  const server = JSON.parse(await readFile(join(redis, 'redis-process.json'), 'utf8')) as ProcessIdentity;
  return [identifyProcess(holderPid(redis)), identifyProcess(holderPid(timescale)), server];
}

describe.skipIf(!hasRedisServer || process.platform === 'win32')('npm start', () => {
  // The second start finds the engines of the first, which saves creating them again.
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'odograph-npm-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'ends everything that it started when npm gets %s',
    async (signal) => {
      const { npm, httpUrl } = await npmStart();
      const engines = await enginePids();
      const exited = once(npm, 'exit');
      npm.kill(signal);
      await exited;
      await eventually(async () => {
        expect(engines.filter(isRunning)).toEqual([]);
        await expect(fetch(`${httpUrl}/health`)).rejects.toThrow();
      }, 30_000);
    },
    timeoutMs,
  );
});
