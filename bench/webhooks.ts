import { setTimeout as delay } from 'node:timers/promises';
import { createSelfSigned } from '@odograph/broker/connect/certificates.fixture';
import { defineBenchmark } from './parts/benchmark.ts';
import { planLoad, startOdograph } from './parts/contenders.ts';
import type { Engines, Pool } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { type ServiceProcess, startScript, startServices } from './parts/processes.ts';
import { figure, printTable } from './parts/report.ts';
import type { Arrivals, Lag, ReceiverSettings } from './parts/webhook-receiver.ts';

const options = {
  events: [100_000, 'events to deliver'],
  vehicles: [1000, 'vehicles that the events belong to'],
  receivers: [20, 'receivers over TLS; each gets the readings of a share of the vehicles'],
  rate: [2000, 'uploads/s delivered to these receivers; 0 skips this part'],
  seconds: [30, 'duration of this part, seconds'],
} as const;

const waitMs = 600_000;
/** Permits webhooks to receivers on this machine. */
const local = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };

/** Ends commands of a fleet, each of which is an event; their status counts those of the vehicle from 1. */
async function endCommands(pool: Pool, applicationId: number, count: number): Promise<void> {
  await pool.query(
    `insert into command (application_id, vehicle_id, device_id, action, state, expires_at, ended_at, status)
    select $1, vehicle.id, 'bench-' || vehicle.id, 'HONK', 'acknowledged', now(), now(), 1 + n / vehicles || ''
    from generate_series(0, $2::integer - 1) as n
    join (select id, row_number() over (order by id) - 1 as rank, count(*) over () as vehicles
      from vehicle where application_id = $1) as vehicle on vehicle.rank = n % vehicles order by n`,
    [applicationId, count],
  );
  await pool.query('vacuum (analyze) event, command');
}

/** Calls the routes of webhooks. @throws for any status but 200 */
async function call({ httpUrl }: ServiceProcess, { token }: BenchFleet, method: string, path: string, body: object) {
  const headers = { 'content-type': 'application/json', 'x-service-token': token };
  const answer = await fetch(`${httpUrl}/v1/x/webhooks${path}`, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  return (await answer.json()) as { id: string };
}

const startReceivers = (engines: Engines, settings: ReceiverSettings) =>
  startScript(engines, 'webhook-receiver', settings);

/** Delivers stored events to one webhook over HTTP. */
async function measureRate(engines: Engines, settings: { events: number; vehicles: number }): Promise<void> {
  const service = await startServices(engines, ['events'], local);
  const fleet = await createFleet(engines.pool, settings.vehicles);
  const receiver = await startReceivers(engines, { servers: 1 });
  const { urls } = await receiver.ask<{ urls: string[] }>({ kind: 'addresses' });
  const webhook = { url: urls[0], types: ['command.ended'] };
  // Disabled while its events are written.
  const { id } = await call(service, fleet, 'POST', '', webhook);
  await call(service, fleet, 'PUT', `/${id}`, { ...webhook, enabled: false });
  await endCommands(engines.pool, fleet.applicationId, settings.events);
  const [before, receiverBefore] = [await service.usage(), await receiver.usage()];
  await call(service, fleet, 'PUT', `/${id}`, webhook);
  let arrivals = await receiver.ask<Arrivals>({ kind: 'arrivals' });
  for (const end = Date.now() + waitMs; arrivals.events < settings.events; await delay(200)) {
    arrivals = await receiver.ask<Arrivals>({ kind: 'arrivals' });
    if (Date.now() > end) throw new Error(`not delivered in time: ${JSON.stringify(arrivals)}`);
  }
  const [after, receiverAfter] = [await service.usage(), await receiver.usage()];
  await service.stop();
  await receiver.stop();
  const { events, misplaced, firstAtMs, lastAtMs } = arrivals;
  const eachMicroseconds = (seconds: number): number => (seconds * 1e6) / events;
  printTable(
    ['deliveries', 'events', 'a second', 'out of order', 'CPU of the service, µs each', 'CPU of the receiver, µs each'],
    [
      [
        ...(['to a webhook', events, (events * 1000) / (lastAtMs - firstAtMs), String(misplaced)] as const),
        eachMicroseconds(after.cpuSeconds - before.cpuSeconds),
        eachMicroseconds(receiverAfter.cpuSeconds - receiverBefore.cpuSeconds),
      ],
    ],
  );
}

const settlingMs = 15_000;

/** Measures the lag of readings that are delivered over TLS while devices upload. */
async function measureLag(
  engines: Engines,
  { vehicles, receivers, rate, seconds }: { vehicles: number; receivers: number; rate: number; seconds: number },
): Promise<void> {
  const fleet = await createFleet(engines.pool, vehicles);
  const tls = createSelfSigned(engines.directory, 'receiver', 'IP:127.0.0.1');
  const shape = { connections: vehicles, inFlight: 4 };
  const platform = await startOdograph(engines, fleet, shape);
  const service = await startServices(engines, ['events'], { ...local, NODE_EXTRA_CA_CERTS: tls.certificate });
  const receiver = await startReceivers(engines, { servers: receivers, tls });
  const { urls } = await receiver.ask<{ urls: string[] }>({ kind: 'addresses' });
  for (const [index, url] of urls.entries()) {
    const own = fleet.vehicles.filter((_vehicle, place) => place % receivers === index);
    const vehicleIds = own.map(({ vehicleId }) => String(vehicleId));
    await call(service, fleet, 'POST', '', { url, types: ['reading.stored'], vehicleIds });
  }
  const plan = planLoad(rate * (seconds + settlingMs / 1000), rate, shape);
  const loading = platform.generator.ask({ kind: 'load', ...plan });
  await delay(settlingMs);
  await receiver.ask<Lag>({ kind: 'lag' });
  const before = await service.usage();
  await delay(seconds * 1000);
  const lag = await receiver.ask<Lag>({ kind: 'lag' });
  const { cpuSeconds } = await service.usage();
  await loading;
  printTable(
    [`readings from ${figure(rate)} uploads/s to ${receivers} receivers over TLS`, 'measured'],
    [
      ['deliveries per second', lag.events / seconds],
      ['upload to delivery, p50, ms', lag.p50Ms],
      ['upload to delivery, p99, ms (goal: under 2,000)', lag.p99Ms],
      ['CPU of the service, µs each', ((cpuSeconds - before.cpuSeconds) * 1e6) / lag.events],
    ],
  );
}

export const benchmark = defineBenchmark(
  'events/s that one process delivers to a webhook, and the lag of readings delivered to many webhooks over TLS',
  options,
  async (engines, settings) => {
    await measureRate(engines, settings);
    if (settings.rate > 0) await measureLag(engines, settings);
  },
);
