import { readFile } from 'node:fs/promises';
import { openDatabase } from '@odograph/database/database';
import { AlarmEvaluation } from '@odograph/ingest/alarms/evaluate-alarms';
import { decodeUploads } from '@odograph/ingest/upload/decode-uploads';
import { BatchStore } from '@odograph/ingest/upload/store-batch';
import { readConfig, resolveConfig } from '@odograph/runtime/config';
import { openSealer } from '@odograph/runtime/sealing';
import { sql } from 'kysely';
import { type Engines, type Pool, withEngines } from './parts/engines.ts';
import { type BenchFleet, createFleet } from './parts/fleet.ts';
import { readOptions } from './parts/options.ts';
import { payloadTemplate, timestampOffset } from './parts/payloads.ts';
import { figure, printMachine, printRounds, printTable } from './parts/report.ts';

export const description = 'CPU of ingest for uploads of vehicles without alarm rules and with ten each';

const options = {
  uploads: { value: 1_000_000, help: 'uploads of one reading, in all rounds of each fleet' },
  rounds: { value: 5, help: 'rounds, in which the fleets alternate' },
  vehicles: { value: 1000, help: 'vehicles of each fleet' },
  batch: { value: 250, help: 'uploads in one transaction' },
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

const clockTicksPerSecond = 100;

/** CPU seconds of the database session; undefined when its process cannot be seen, as with the embedded engine. */
async function sessionSeconds(processId: number): Promise<number | undefined> {
  const stat = await readFile(`/proc/${processId}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return stat.includes('postgres') ? (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond : undefined;
}

const template = payloadTemplate(1).toString();

interface Feeder {
  readonly store: BatchStore;
  readonly sessionProcess: number;
  readonly batch: number;
}

/** Stores uploads of a fleet, one reading a second of each vehicle. @returns CPU microseconds of an upload */
async function feed({ store, sessionProcess, batch }: Feeder, fleet: BenchFleet, uploads: number, from: number) {
  const before = [process.cpuUsage(), await sessionSeconds(sessionProcess)] as const;
  for (let sent = 0; sent < uploads; sent += batch) {
    const batchUploads = Array.from({ length: Math.min(batch, uploads - sent) }, (_, index) => {
      const number = from + sent + index;
      const { deviceId } = fleet.vehicles[number % fleet.vehicles.length] ?? { deviceId: '' };
      const seconds = String(1_700_000_000 + Math.floor(number / fleet.vehicles.length));
      const text = template.slice(0, timestampOffset) + seconds + template.slice(timestampOffset + 10);
      return { deviceId, receivedAtMs: Date.now(), text };
    });
    const stored = await store.store(decodeUploads(batchUploads, Date.now()));
    if (stored.readings !== batchUploads.length) throw new Error('uploads not stored');
  }
  const { user, system } = process.cpuUsage(before[0]);
  const session = (await sessionSeconds(sessionProcess)) ?? Number.NaN;
  return { ingest: (user + system) / uploads, database: ((session - (before[1] ?? Number.NaN)) * 1e6) / uploads };
}

/** Measures the evaluation of a batch whose application has no rules, alone. */
async function measureCheck(engines: Engines, { applicationId }: BenchFleet, batch: number): Promise<void> {
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
  const nanoseconds = ((performance.now() - start) * 1e6) / rounds / batch;
  printTable([
    ['the check without rules', 'ns an upload'],
    [`a batch of ${batch}`, figure(nanoseconds)],
  ]);
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  await withEngines(async (engines) => {
    printMachine(engines);
    const db = openDatabase({ url: engines.databaseUrl, name: 'bench-alarms', size: 1, preparedStatements: 50 });
    engines.onStop('alarms database', () => db.destroy());
    const config = resolveConfig(
      readConfig({ ENCRYPTION_KEYS: 'encryption-key-of-the-benchmark-0123456789' }),
      engines,
    );
    const store = new BatchStore(db, await openSealer(config, 'quarantine'));
    const { rows } = await sql<{ id: number }>`select pg_backend_pid() as id`.execute(db);
    const feeder = { store, sessionProcess: rows[0]?.id ?? 0, batch: settings.batch };
    const [without, withRules] = [
      await createFleet(engines.pool, settings.vehicles),
      await createFleet(engines.pool, settings.vehicles),
    ];
    await addRules(engines.pool, withRules.applicationId);
    const perRound = Math.floor(settings.uploads / settings.rounds);
    const ingest: Record<string, number[]> = { 'no rules': [], 'ten rules': [] };
    const database: Record<string, number[]> = { 'no rules': [], 'ten rules': [] };
    for (let round = -1; round < settings.rounds; round += 1) {
      for (const [name, fleet] of [
        ['no rules', without],
        ['ten rules', withRules],
      ] as const) {
        const used = await feed(feeder, fleet, perRound, (round + 1) * perRound);
        // The first round fills caches.
        if (round < 0) continue;
        ingest[name]?.push(used.ingest);
        database[name]?.push(used.database);
      }
    }
    printRounds(ingest, 'CPU of ingest, µs an upload');
    printRounds(database, 'CPU of its database session, µs an upload');
    await measureCheck(engines, without, settings.batch);
  });
}
