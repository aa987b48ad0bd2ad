import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver, type TestReceiver } from '@odograph/events/webhooks.fixture';
import { createRandom } from '@odograph/simulator/simulated-vehicle';
import { createApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication, unthrottled } from '@odograph/testkit/fixtures';
import { hasHaproxy, hasRedisServer } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiClients } from './parts/api-clients.fixture.ts';
import { type Installation, startInstallation } from './parts/installation.fixture.ts';
import { type Load, startLoad } from './parts/load.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { startTeltonikaLoad } from './parts/teltonika-load.fixture.ts';
import { report } from './parts/testbed.fixture.ts';

const timeoutMs = 900_000 + 4 * scale.installationMs;
/** Longer than the lease of a webhook (1 min), which a killed process leaves behind. */
const deliveryMs = 240_000;
const replicas = { broker: 3, gateway: 2, ingest: 4, http: 2 };
/** Other tests of this directory cover each fault alone in a short run. */
const isRun = hasHaproxy && hasRedisServer && scale.isFullLength;

let installation: Installation;
let receiver: TestReceiver;
beforeEach(async () => {
  if (!isRun) return;
  installation = await startInstallation(replicas, createRandom(scale.seed));
  receiver = await startReceiver();
}, timeoutMs);
afterEach(async () => {
  await installation?.close();
  await receiver?.close();
}, timeoutMs);

/** Commands by id, as the devices executed them. */
const executed: string[] = [];

async function expectCommandsOnce({ id }: TestApplication, clients: ApiClients): Promise<void> {
  const { rows } = await sql<{ id: string; state: string; key: string }>`
    select id, state, idempotency_key as key from command where application_id = ${id}`.execute(installation.db);
  expect(new Set(executed).size, 'executed twice').toBe(executed.length);
  const states = new Map(rows.map((row) => [row.id, row.state]));
  const unsent = executed.filter((command) => ['pending', 'expired', undefined].includes(states.get(command)));
  expect(unsent, 'executed although its row says that it was not sent').toEqual([]);
  const acknowledged = rows.filter(({ state }) => state === 'acknowledged');
  expect(acknowledged.filter((row) => !executed.includes(row.id))).toEqual([]);
  const answered = [...clients.commands].filter(([, { status }]) => status === 200).map(([key]) => key);
  expect(answered.length).toBeGreaterThan(0);
  const keys = new Set(acknowledged.map(({ key }) => key));
  expect(answered.filter((key) => !keys.has(key))).toEqual([]);
}

/** @returns ids of the bookings that exist, with those whose request got no decisive answer */
async function expectBookingsOnce({ id }: TestApplication, { bookings, uncertain }: ApiClients): Promise<string[]> {
  const { rows } = await sql<{ id: string; start: string }>`
    select booking.id, format('%s %s', booking.vehicle_id, round(extract(epoch from starts_at) * 1000)) as start
    from booking join vehicle on vehicle.id = booking.vehicle_id
    where vehicle.application_id = ${id}`.execute(installation.db);
  const answered = rows.filter(({ start }) => !uncertain.has(start));
  expect(answered.map((row) => row.id).sort()).toEqual([...bookings].sort());
  expect(new Set(rows.map(({ start }) => start)).size, 'booked twice').toBe(rows.length);
  return rows.map((row) => row.id);
}

async function expectDelivered({ appId }: TestApplication, bookings: readonly string[]): Promise<void> {
  await eventually(async () => {
    const created = receiver.accepted.map(({ event }) => event.data['bookingId'] as string);
    expect([...new Set(created)].sort()).toEqual([...bookings].sort());
  }, deliveryMs);
  expect(receiver.received.filter(({ event }) => event.appId !== appId)).toEqual([]);
}

/** Runs every fault once in random order, then random ones until the time is up. @returns slowest recoveries by fault */
async function runFaults(recover: () => Promise<unknown>): Promise<Record<string, number>> {
  const random = createRandom(scale.seed + 1);
  const end = performance.now() + scale.installationMs;
  const slowest: Record<string, number> = {};
  const { faults } = installation;
  const order = faults.map((fault) => ({ fault, rank: random() })).sort((a, b) => a.rank - b.rank);
  const due = order.map(({ fault }) => fault);
  while (due.length > 0 || performance.now() < end) {
    const fault = due.pop() ?? faults[Math.floor(random() * faults.length)];
    if (!fault) break;
    await delay(random() * 1000);
    const began = performance.now();
    console.log(`${new Date().toISOString()} ${fault.name}`);
    await fault.run();
    await recover();
    const seconds = Math.round((performance.now() - began) / 1000);
    slowest[fault.name] = Math.max(slowest[fault.name] ?? 0, seconds);
  }
  return slowest;
}

describe.skipIf(!isRun)('an installation with several processes of each service', () => {
  it(
    'loses nothing, executes nothing twice and shows no foreign data during faults and a rolling restart',
    async () => {
      const { db, httpUrl, mqttUrl, teltonikaPort } = installation;
      const application = await createApplication(db, unthrottled);
      const execute = (_vehicle: unknown, { id }: { id: string }) => void executed.push(id);
      const load: Load = await startLoad({ db, mqttUrl, devices: scale.devices });
      const obedient = await startLoad({ db, mqttUrl, application, execute, devices: 4, pauseMs: 500 });
      const teltonika = await startTeltonikaLoad(db, {
        ...{ port: teltonikaPort, devices: Math.ceil(scale.devices / 4), transports: ['tcp'], pauseMs: 5000 },
      });
      const [vehicle] = load.vehicles;
      const foreign = vehicle ?? (await createVehicle(db, await createApplication(db)));
      const client = createApiClient(httpUrl, { 'x-service-token': application.token });
      const hook = { url: receiver.url, types: ['booking.created'] };
      await eventually(async () => expect((await client.post('/v1/x/webhooks', hook)).status).toBe(200), 60_000);
      await obedient.progress(1);
      const clients = new ApiClients(httpUrl, application, obedient.vehicles, foreign);
      const recover = () => Promise.all([load.progress(1), obedient.progress(1), teltonika.progress()]);

      const slowest = await runFaults(recover);
      const upgraded = await installation.upgrade();
      await recover();
      await clients.stop();
      const readings = await Promise.all([load.finish(), obedient.finish(), teltonika.finish()]);
      expect(clients.faults).toEqual([]);
      await expectCommandsOnce(application, clients);
      const bookings = await expectBookingsOnce(application, clients);
      await expectDelivered(application, bookings);
      await report('an installation of several processes', {
        ...{ devices: scale.devices + 4 + Math.ceil(scale.devices / 4), seconds: scale.installationMs / 1000 },
        ...{ readings: readings.reduce((sum, count) => sum + count, 0), upgraded, reads: clients.reads },
        ...{ commands: clients.commands.size, executed: executed.length, bookings: clients.bookings.size },
        ...slowest,
      });
    },
    timeoutMs,
  );
});
