import { setTimeout as delay } from 'node:timers/promises';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { type ChildPlatform, spawnPlatform } from '@odograph/testkit/child-platform';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { createTestDirectory, useDatabase } from '@odograph/testkit/scopes';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { testAdminToken, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { type BalancedRequest, Balancer } from './parts/load-balancer.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { report } from './parts/testbed.fixture.ts';

const timeoutMs = 300_000 + scale.rounds * 60_000;
const clients = 8;
/** Of each client, between two requests. */
const pauseMs = scale.isFullLength ? 10 : 200;
const db = useDatabase();

let directory: string;
let mqttPort: number;
beforeEach(async () => {
  directory = createTestDirectory();
  mqttPort = await freePort();
});

async function start(service: string, port: number): Promise<ChildPlatform> {
  return spawnPlatform([service], {
    ...{ DATABASE_URL: testDatabaseUrl(), REDIS_URL: inject('redisUrl'), DATA_DIR: directory, LOG_LEVEL: 'warn' },
    ...{ ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys, HTTP_PORT: String(port) },
    ...{ HTTP_REQUESTS_PER_MINUTE: '1000000', MQTT_PORT: String(mqttPort), SHUTDOWN_DRAIN_MS: '1000' },
    QUEUE_PREFIX: `rolling-${mqttPort}`,
  });
}

/** Restarts two replicas one after the other, while clients send requests. */
async function restartUnderRequests(
  service: string,
  requests: readonly BalancedRequest[],
): Promise<Map<string, number>> {
  const ports = [await freePort(), await freePort()];
  const replicas = await Promise.all(ports.map((port) => start(service, port)));
  const balancer = new Balancer(ports);
  const answers = new Map<string, number>();
  let running = true;
  const client = async (ask: BalancedRequest): Promise<void> => {
    while (running) {
      const answer = await balancer.send(ask).then(
        ({ status, body }) => (status === 200 ? '200' : `${status} ${body}`),
        (error: Error) => error.message,
      );
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
      await delay(pauseMs);
    }
  };
  const all = Promise.all(requests.map(client));
  const codes: (number | null)[] = [];
  for (let round = 0; round < scale.rounds; round += 1) {
    for (const [index, port] of ports.entries()) {
      await delay(500);
      codes.push((await replicas[index]?.end('SIGTERM')) ?? null);
      replicas[index] = await start(service, port);
    }
  }
  await delay(500);
  running = false;
  await all;
  balancer.close();
  await Promise.all(replicas.map((replica) => replica.end('SIGTERM')));
  expect(new Set(codes)).toEqual(new Set([0]));
  expect(Object.fromEntries(answers)).toEqual({ 200: answers.get('200') });
  return answers;
}

async function reportRestart(name: string, answers: Map<string, number>): Promise<void> {
  const requests = answers.get('200') ?? 0;
  await report(`rolling restart of ${name}`, { restarts: 2 * scale.rounds, requests, failed: 0 });
}

const asAdmin = { authorization: `Bearer ${testAdminToken}` };

const reads: readonly (readonly [service: string, pathOf: (id: string) => string])[] = [
  ['query', (id) => `/v1/vehicle/${id}/history?from=0&until=9999999999`],
  ['access', () => '/v1/bookings'],
  ['console', () => '/v1/x/admin/quarantine'],
];

describe('a rolling restart of two replicas', () => {
  it.skipIf(!scale.isFullLength).each(reads)(
    'fails no request to %s',
    async (service, pathOf) => {
      const application = await createApplication(db);
      const path = pathOf((await createVehicle(db, application)).id);
      const headers = service === 'console' ? asAdmin : { 'x-service-token': application.token };
      const answers = await restartUnderRequests(
        service,
        Array.from({ length: clients }, (): BalancedRequest => ({ method: 'GET', path, headers })),
      );
      expect(answers.get('200')).toBeGreaterThan(0);
      await reportRestart(service, answers);
    },
    timeoutMs,
  );

  it(
    'fails no write, and executes each once',
    async () => {
      const name = `rolling ${mqttPort}`;
      const ask: BalancedRequest = {
        method: 'POST',
        path: '/v1/x/admin/applications',
        headers: asAdmin,
        body: { name },
      };
      const answers = await restartUnderRequests(
        'fleet',
        Array.from({ length: clients }, () => ask),
      );
      const made = await db.selectFrom('application').select('id').where('name', '=', name).execute();
      expect(made).toHaveLength(answers.get('200') ?? 0);
      await reportRestart('fleet, writes', answers);
    },
    timeoutMs,
  );

  it(
    'fails no command, and executes each once',
    async () => {
      const broker = await start('broker', await freePort());
      const application = await createApplication(db);
      const vehicles: TestVehicle[] = [];
      const devices: DeviceConnection[] = [];
      let executed = 0;
      for (let index = 0; index < clients; index += 1) {
        const vehicle = await createVehicle(db, application);
        const device = await connectDevice(`mqtt://127.0.0.1:${mqttPort}`, vehicle);
        await device.obey(async () => {
          executed += 1;
          await delay(50 * index);
          return { ok: true };
        });
        vehicles.push(vehicle);
        devices.push(device);
      }
      const headers = { 'x-service-token': application.token };
      const answers = await restartUnderRequests(
        'command',
        vehicles.map(
          ({ id }): BalancedRequest => ({ method: 'POST', path: '/v1/vehicle/lock', headers, body: { vehicleId: id } }),
        ),
      );
      expect(executed).toBe(answers.get('200'));
      await reportRestart('command', answers);
      for (const device of devices) await device.close('cut');
      await broker.end('SIGTERM');
    },
    timeoutMs,
  );
});
