import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '@odograph/database/database';
import { type ChildPlatform, spawnPlatform } from '@odograph/testkit/child-platform';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { testAdminToken, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { scale } from './parts/scale.ts';
import { report } from './parts/stage.ts';

const timeoutMs = 300_000;
const clients = 8;
const db = openDatabase({ url: inject('databaseUrl'), name: 'faults', size: 2 });
afterAll(() => db.destroy());

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'odograph-faults-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function startReplica(service: string, port: number): Promise<ChildPlatform> {
  return spawnPlatform([service], {
    ...{ DATABASE_URL: inject('databaseUrl'), REDIS_URL: inject('redisUrl'), DATA_DIR: directory, LOG_LEVEL: 'warn' },
    ...{ ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys, HTTP_PORT: String(port) },
    HTTP_REQUESTS_PER_MINUTE: '1000000',
  });
}

/**
 * One attempt, as balancers make it. What can be tried elsewhere: a connection that is refused or reset, since reading
 * twice does no harm, and a replica that says that it is closing (503 with `connection: close`).
 */
async function attempt(agent: Agent, port: number, path: string, token: string): Promise<number | 'elsewhere'> {
  const sent = request({ host: '127.0.0.1', port, path, agent, headers: { 'x-service-token': token } });
  sent.end();
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    const isClosing = response.statusCode === 503 && response.headers.connection === 'close';
    return isClosing ? 'elsewhere' : (response.statusCode ?? 0);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ECONNREFUSED' || code === 'ECONNRESET') return 'elsewhere';
    throw error;
  }
}

describe('a rolling restart of two replicas', () => {
  it.each([
    ['query', (id: string) => `/v1/vehicle/${id}/history?from=0&until=9999999999`],
    ['fleet', () => '/v1/bookings'],
  ])(
    'fails no request to %s',
    async (service, pathOf) => {
      const application = await createApplication(db);
      const path = pathOf((await createVehicle(db, application)).id);
      const ports = [await freePort(), await freePort()];
      const replicas = await Promise.all(ports.map((port) => startReplica(service, port)));
      const agent = new Agent({ keepAlive: true });
      const answers = new Map<number | string, number>();
      let running = true;
      const count = (answer: number | string) => answers.set(answer, (answers.get(answer) ?? 0) + 1);
      const client = async (first: number): Promise<void> => {
        for (let turn = first; running; turn += 1) {
          let answer: number | string = 'elsewhere';
          for (let tries = 0; answer === 'elsewhere' && tries < 6; tries += 1) {
            answer = await attempt(agent, ports[(turn + tries) % 2] ?? 0, path, application.token).catch(
              (error: Error) => error.message,
            );
          }
          count(answer);
          await delay(10);
        }
      };
      const all = Promise.all(Array.from({ length: clients }, (_one, index) => client(index)));
      const codes: (number | null)[] = [];
      for (let round = 0; round < scale.rounds; round += 1) {
        for (const [index, port] of ports.entries()) {
          await delay(500);
          codes.push((await replicas[index]?.end('SIGTERM')) ?? null);
          replicas[index] = await startReplica(service, port);
        }
      }
      await delay(500);
      running = false;
      await all;
      agent.destroy();
      await Promise.all(replicas.map((replica) => replica.end('SIGTERM')));
      expect(new Set(codes)).toEqual(new Set([0]));
      expect(Object.fromEntries(answers)).toEqual({ 200: answers.get(200) });
      await report(`rolling restart of ${service}`, {
        restarts: codes.length,
        requests: answers.get(200) ?? 0,
        failed: 0,
      });
    },
    timeoutMs,
  );
});
