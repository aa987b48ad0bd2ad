// Second half of the bare pipeline: JSON.parse and one insert per job into a similar hypertable; no checks.
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { createPool } from '@odograph/database/pool';
import { type Job, Worker } from 'bullmq';
import type { QueueSettings } from './bare-broker.ts';
import { readSettings, serveParent } from './processes.ts';

const concurrency = 4;

/** Fields of the payload, which the columns are named after. */
const fields = {
  location: {
    latitude: 'float8',
    longitude: 'float8',
    angle: 'float8',
    altitude: 'float8',
    speed: 'float8',
    satellites: 'int2',
  },
  status: { ignition: 'boolean', movement: 'boolean', mileage: 'float8', autonomy: 'float8' },
  electric: { soc: 'float8', current: 'float8', voltage: 'float8' },
} as const;
const columns = Object.entries(fields).flatMap(([group, types]) =>
  Object.entries(types).map(([name, type]) => ({ group: group as keyof typeof fields, name, type })),
);
const names = columns.map(({ name }) => name).join(', ');
const statement = `
  insert into bare_reading (application_id, received_at, device_id, vehicle_id, time, ${names})
  select 1, now(), device_id, substr(device_id, 7)::integer, to_timestamp(seconds), ${names}
  from unnest($1::text[], $2::float8[], ${columns.map(({ type }, index) => `$${index + 3}::${type}[]`).join(', ')})
    as incoming (device_id, seconds, ${names})`;

const { redisUrl, databaseUrl, prefix } = readSettings<QueueSettings>();
const pool = createPool({ url: databaseUrl, name: 'bare', size: concurrency });

async function work({ data: { uploads } }: Job<{ uploads: { deviceId: string; text: string }[] }>): Promise<void> {
  const readings = uploads.map(({ text }) => JSON.parse(text) as TelemetryReading);
  await pool.query(statement, [
    uploads.map(({ deviceId }) => deviceId),
    readings.map(({ timestamp }) => timestamp),
    ...columns.map(({ group, name }) => readings.map((reading) => Reflect.get(reading[group] ?? {}, name) as unknown)),
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
