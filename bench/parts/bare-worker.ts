// Second half of the reference pipeline: JSON.parse and one insert per job into a similar hypertable; no checks.
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { createPool } from '@odograph/database/pool';
import { type Job, Worker } from 'bullmq';
import type { BareSettings } from './bare-broker.ts';
import { readSettings, serveParent } from './child-script.ts';

const concurrency = 4;

const columns: readonly [name: string, type: string, value: (reading: TelemetryReading) => unknown][] = [
  ['latitude', 'double precision', ({ location }) => location?.latitude],
  ['longitude', 'double precision', ({ location }) => location?.longitude],
  ['angle', 'double precision', ({ location }) => location?.angle],
  ['altitude', 'double precision', ({ location }) => location?.altitude],
  ['speed', 'double precision', ({ location }) => location?.speed],
  ['satellites', 'smallint', ({ location }) => location?.satellites],
  ['ignition', 'boolean', ({ status }) => status?.ignition],
  ['movement', 'boolean', ({ status }) => status?.movement],
  ['mileage', 'double precision', ({ status }) => status?.mileage],
  ['autonomy', 'double precision', ({ status }) => status?.autonomy],
  ['soc', 'double precision', ({ electric }) => electric?.soc],
  ['current', 'double precision', ({ electric }) => electric?.current],
  ['voltage', 'double precision', ({ electric }) => electric?.voltage],
];
const names = columns.map(([name]) => name).join(', ');
const statement = `
  insert into bare_reading (application_id, received_at, device_id, vehicle_id, time, ${names})
  select 1, now(), device_id, substr(device_id, 7)::integer, to_timestamp(seconds), ${names}
  from unnest($1::text[], $2::double precision[], ${columns.map(([, type], index) => `$${index + 3}::${type}[]`).join(', ')})
    as incoming (device_id, seconds, ${names})`;

const { redisUrl, databaseUrl, prefix } = readSettings<BareSettings>();
const pool = createPool({ url: databaseUrl, name: 'bare', size: concurrency });

async function work({ data: { uploads } }: Job<{ uploads: { deviceId: string; text: string }[] }>): Promise<void> {
  const readings = uploads.map(({ text }) => JSON.parse(text) as TelemetryReading);
  await pool.query(statement, [
    uploads.map(({ deviceId }) => deviceId),
    readings.map(({ timestamp }) => timestamp),
    ...columns.map(([, , value]) => readings.map(value)),
  ]);
}

const worker = new Worker('bare', work, {
  connection: { url: redisUrl, maxRetriesPerRequest: null },
  prefix,
  concurrency,
});
worker.on('failed', (_job, error) => {
  throw error;
});
await worker.waitUntilReady();
serveParent({});
