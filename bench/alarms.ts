import { readFile } from 'node:fs/promises';
import { openDatabase } from '@odograph/database/database';
import { AlarmEvaluation } from '@odograph/ingest/alarms/evaluate-alarms';
import { decodeUploads } from '@odograph/ingest/upload/ingest-upload';
import { BatchStore } from '@odograph/ingest/upload/store-batch';
import { readConfig, resolveConfig } from '@odograph/runtime/config';
import { openSealer } from '@odograph/runtime/sealing';
import { sql } from 'kysely';
import { defineBenchmark, inTurns } from './parts/benchmark.ts';
import type { Engines, Pool } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { payloadTemplate, timestampOffset } from './parts/mqtt.ts';
import { readKernelUsage } from './parts/processes.ts';
import { printRounds, printTable, seriesOf } from './parts/report.ts';

const options = {
  uploads: [1_000_000, 'uploads of one reading per fleet, over all rounds'],
  rounds: [5, 'rounds; the fleets alternate'],
  vehicles: [1000, 'vehicles of each fleet'],
  batch: [250, 'uploads in one transaction'],
} as const;

/** Ten rules that every reading is compared with: speed, battery, circles and polygons; none raises an alarm. */
async function addRules(pool: Pool, applicationId: number): Promise<void> {
  const corner = (n: number) => [10 + Math.cos((n * Math.PI) / 10), 50 + Math.sin((n * Math.PI) / 10)];
  const ring = [...Array.from({ length: 20 }, (_, n) => corner(n)), corner(0)];
  const circle = JSON.stringify({ type: 'Point', coordinates: [10, 50] });
  const polygon = JSON.stringify({ type: 'Polygon', coordinates: [ring] });
  await pool.query(
    `with areas as (insert into geofence (application_id, name, geometry, radius_metres)
        select $1::integer, 'area', geometry, radius from (values ($2::jsonb, 5000::float8), ($2, 500), ($3, null), ($3, null))
          as one (geometry, radius) returning id)
    insert into alarm_rule (application_id, name, kind, parameters, geofence_id, all_vehicles, active_from)
    select $1, 'area', 'geofence', '{"when": "inside"}'::jsonb, id, true, to_timestamp(0) from areas
    union all select $1, 'speed', 'speed', jsonb_build_object('limitKmh', 100 + n), null, true, to_timestamp(0)
      from generate_series(1, 3) as n
    union all select $1, 'battery', 'low-battery', '{"belowPercent": 10}', null, true, to_timestamp(0)
    union all select $1, kind, kind, '{}', null, true, to_timestamp(0) from unnest(array['crash', 'towing']) as kind`,
    [applicationId, circle, polygon],
  );
}

const template = payloadTemplate(1).toString();

/** Builds uploads of a fleet, with one reading per second and vehicle. */
function buildUploads({ vehicles }: BenchFleet, first: number, count: number) {
  return Array.from({ length: count }, (_, index) => {
    const { deviceId } = vehicles[(first + index) % vehicles.length] ?? { deviceId: '' };
    const seconds = 1_700_000_000 + Math.floor((first + index) / vehicles.length);
    const text = template.slice(0, timestampOffset) + seconds + template.slice(timestampOffset + 10);
    return { deviceId, receivedAtMs: Date.now(), text };
  });
}

/** Measures only the evaluation of a batch without rules. @returns ns per upload */
async function measureEvaluationNs(engines: Engines, { applicationId }: BenchFleet, batch: number): Promise<number> {
  const db = openDatabase({ url: engines.databaseUrl, name: 'bench-check', size: 1 });
  engines.onStop('check database', () => db.destroy());
  const alarms = new AlarmEvaluation();
  const readings = Array.from({ length: batch }, (_, index) => ({
    ...{ vehicleId: index, applicationId, deviceId: '', timeMicroseconds: 1, receivedAtMs: 1 },
    ...{ reading: { timestamp: 1 }, privacyIntervals: [] },
  }));
  await alarms.evaluate(db, 1, readings, []);
  const rounds = 20_000;
  const start = performance.now();
  for (let round = 0; round < rounds; round += 1) await alarms.evaluate(db, 1, readings, []);
  return ((performance.now() - start) * 1e6) / rounds / batch;
}

export const benchmark = defineBenchmark(
  'ingest CPU per upload, for vehicles without alarm rules and with ten each',
  options,
  async (engines, { uploads, rounds, vehicles, batch }) => {
    const db = openDatabase({ url: engines.databaseUrl, name: 'bench-alarms', size: 1, preparedStatements: 50 });
    engines.onStop('alarms database', () => db.destroy());
    const settings = readConfig({ ENCRYPTION_KEYS: 'encryption-key-of-the-benchmark-0123456789' });
    const store = new BatchStore(db, await openSealer(resolveConfig(settings, engines), 'quarantine'));
    const { rows } = await sql<{ id: number }>`select pg_backend_pid() as id`.execute(db);
    const processId = rows[0]?.id ?? 0;
    // Only a server on this machine has a process for the session here; the embedded engine has none.
    const isLocalServer = (await readFile(`/proc/${processId}/comm`, 'utf8').catch(() => '')).startsWith('postgres');
    const databaseSeconds = async () => (isLocalServer ? (await readKernelUsage(processId)).cpuSeconds : Number.NaN);
    const [without, withRules] = [await createFleet(engines.pool, vehicles), await createFleet(engines.pool, vehicles)];
    await addRules(engines.pool, withRules.applicationId);

    const count = Math.floor(uploads / rounds);
    const feed = (fleet: BenchFleet) => async (round: number) => {
      const [cpu, seconds] = [process.cpuUsage(), await databaseSeconds()];
      for (let sent = 0; sent < count; sent += batch) {
        const part = buildUploads(fleet, round * count + sent, Math.min(batch, count - sent));
        const stored = await store.store(decodeUploads(part, Date.now()));
        if (stored.readings !== part.length) throw new Error('uploads not stored');
      }
      const { user, system } = process.cpuUsage(cpu);
      return { ingest: (user + system) / count, database: (((await databaseSeconds()) - seconds) * 1e6) / count };
    };
    const all = await inTurns({ 'no rules': feed(without), 'ten rules': feed(withRules) }, rounds + 1);
    // The first round fills caches.
    const measured = Object.fromEntries(Object.entries(all).map(([name, results]) => [name, results.slice(1)]));
    printRounds(
      seriesOf(measured, ({ ingest }) => ingest),
      'CPU of ingest, µs an upload',
    );
    printRounds(
      seriesOf(measured, ({ database }) => database),
      'CPU of its database session, µs an upload',
    );
    const check = await measureEvaluationNs(engines, without, batch);
    printTable(['the check without rules', 'ns an upload'], [[`a batch of ${batch}`, check]]);
  },
);
