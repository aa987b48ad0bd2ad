import { setTimeout as delay } from 'node:timers/promises';
import { type ChildScript, type ProcessUsage, startScript } from './parts/child-script.ts';
import { type Engines, type Pool, withEngines } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { readOptions } from './parts/options.ts';
import { figure, printMachine, printTable } from './parts/report.ts';
import { startServices } from './parts/service-process.ts';
import type { Arrivals } from './parts/webhook-receiver.ts';

export const description = 'events a second that one process delivers to webhooks';

const options = {
  events: { value: 100_000, help: 'events for each webhook' },
  vehicles: { value: 1000, help: 'vehicles whose events they are' },
  webhooks: { value: 1, help: 'webhooks, each of its own application with its own receiver' },
  profile: { value: '', help: 'directory of the CPU profile of the service' },
} as const;
type Settings = ReturnType<typeof readOptions<typeof options>>;

const receiverScript = new URL('./parts/webhook-receiver.ts', import.meta.url);
const waitMs = 600_000;

interface Target {
  readonly receiver: ChildScript;
  readonly webhookId: string;
}

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
}

/** Creates a webhook that is disabled until the measurement, and its events. */
async function prepare(engines: Engines, httpUrl: string, { vehicles, events }: Settings): Promise<Target & Change> {
  const fleet = await createFleet(engines.pool, vehicles);
  const receiver = await startScript(receiverScript, {});
  engines.onStop('receiver', () => receiver.stop());
  const { url } = await receiver.ask<{ url: string }>({ kind: 'address' });
  const call = async (method: string, path: string, body: object) => {
    const headers = { 'content-type': 'application/json', 'x-service-token': fleet.token };
    const answer = await fetch(`${httpUrl}/v1/x/webhooks${path}`, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
    return (await answer.json()) as { id: string };
  };
  const fields = { url, types: ['command.ended'] };
  const { id } = await call('POST', '', fields);
  await call('PUT', `/${id}`, { ...fields, enabled: false });
  await endCommands(engines.pool, fleet.applicationId, events);
  return { receiver, webhookId: id, enable: async () => void (await call('PUT', `/${id}`, fields)) };
}

interface Change {
  enable(): Promise<void>;
}

const arrivalsOf = ({ receiver }: Target) => receiver.ask<Arrivals>({ kind: 'arrivals' });

async function awaitArrivals(targets: readonly Target[], events: number): Promise<Arrivals[]> {
  for (const end = Date.now() + waitMs; ; await delay(200)) {
    const arrivals = await Promise.all(targets.map(arrivalsOf));
    if (arrivals.every((one) => one.events >= events)) return arrivals;
    if (Date.now() > end) throw new Error(`not delivered in time: ${JSON.stringify(arrivals)}`);
  }
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  await withEngines(async (engines) => {
    printMachine(engines);
    const { httpUrl, usage, stop } = await startServices(engines, ['events'], {
      settings: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' },
      profile: settings.profile,
    });
    const targets: (Target & Change)[] = [];
    for (let n = 0; n < settings.webhooks; n += 1) targets.push(await prepare(engines, httpUrl, settings));
    await engines.pool.query('vacuum (analyze) event, command');
    const [before, receiversBefore] = [await usage(), await usageOf(targets)];
    for (const { enable } of targets) await enable();
    const arrivals = await awaitArrivals(targets, settings.events);
    const [after, receiversAfter] = [await usage(), await usageOf(targets)];
    const events = arrivals.reduce((sum, one) => sum + one.events, 0);
    const seconds =
      (Math.max(...arrivals.map(({ lastAtMs }) => lastAtMs)) -
        Math.min(...arrivals.map(({ firstAtMs }) => firstAtMs))) /
      1000;
    printTable([
      [
        'deliveries',
        'events',
        'a second',
        'out of order',
        'CPU of the service, µs each',
        'CPU of the receivers, µs each',
      ],
      [
        `to ${settings.webhooks} webhooks`,
        figure(events),
        figure(events / seconds),
        String(arrivals.reduce((sum, one) => sum + one.misplaced, 0)),
        figure(((after.cpuSeconds - before.cpuSeconds) * 1e6) / events),
        figure(((receiversAfter - receiversBefore) * 1e6) / events),
      ],
    ]);
    await stop();
  });
}

async function usageOf(targets: readonly Target[]): Promise<number> {
  const usages = await Promise.all(targets.map(({ receiver }) => receiver.ask<ProcessUsage>({ kind: 'usage' })));
  return usages.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
}
