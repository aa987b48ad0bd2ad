import { setTimeout as delay } from 'node:timers/promises';
import { defineBenchmark } from './parts/benchmark.ts';
import type { Pool } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { startScript, startServices } from './parts/processes.ts';
import { printTable } from './parts/report.ts';
import type { Arrivals } from './parts/webhook-receiver.ts';

const options = {
  events: [100_000, 'events to deliver'],
  vehicles: [1000, 'vehicles that the events belong to'],
} as const;

const waitMs = 600_000;

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

export const benchmark = defineBenchmark(
  'events/s that one process delivers to a webhook',
  options,
  async (engines, settings) => {
    const service = await startServices(engines, ['events'], { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
    const { token, applicationId } = await createFleet(engines.pool, settings.vehicles);
    const receiver = await startScript(engines, 'webhook-receiver', {});
    const { url } = await receiver.ask<{ url: string }>({ kind: 'address' });
    const call = async (method: string, path: string, body: object) => {
      const headers = { 'content-type': 'application/json', 'x-service-token': token };
      const answer = await fetch(`${service.httpUrl}/v1/x/webhooks${path}`, {
        ...{ method, headers, body: JSON.stringify({ url, types: ['command.ended'], ...body }) },
      });
      if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
      return (await answer.json()) as { id: string };
    };
    // Disabled while its events are written.
    const { id } = await call('POST', '', {});
    await call('PUT', `/${id}`, { enabled: false });
    await endCommands(engines.pool, applicationId, settings.events);
    const [before, receiverBefore] = [await service.usage(), await receiver.usage()];
    await call('PUT', `/${id}`, {});
    let arrivals = await receiver.ask<Arrivals>({ kind: 'arrivals' });
    for (const end = Date.now() + waitMs; arrivals.events < settings.events; await delay(200)) {
      arrivals = await receiver.ask<Arrivals>({ kind: 'arrivals' });
      if (Date.now() > end) throw new Error(`not delivered in time: ${JSON.stringify(arrivals)}`);
    }
    const [after, receiverAfter] = [await service.usage(), await receiver.usage()];
    const { events, misplaced, firstAtMs, lastAtMs } = arrivals;
    const eachMicroseconds = (seconds: number): number => (seconds * 1e6) / events;
    printTable(
      [
        'deliveries',
        'events',
        'a second',
        'out of order',
        'CPU of the service, µs each',
        'CPU of the receiver, µs each',
      ],
      [
        [
          ...(['to a webhook', events, (events * 1000) / (lastAtMs - firstAtMs), String(misplaced)] as const),
          eachMicroseconds(after.cpuSeconds - before.cpuSeconds),
          eachMicroseconds(receiverAfter.cpuSeconds - receiverBefore.cpuSeconds),
        ],
      ],
    );
  },
);
