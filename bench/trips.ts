import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '@odograph/database/database';
import { segmentDueVehicles } from '@odograph/ingest/trips/schedule';
import type { TripReading } from '@odograph/ingest/trips/segmentation/place';
import { segmentTrips } from '@odograph/ingest/trips/segmentation/segment-trips';
import { openQueue } from '@odograph/queue/queues';
import { createLogger } from '@odograph/runtime/logger';
import { type Engines, type Pool, withEngines } from './parts/engines.ts';
import { createFleet } from './parts/fleet.ts';
import { readOptions } from './parts/options.ts';
import { compressReadings } from './parts/readings.ts';
import { figure, printMachine, printRounds, printTable } from './parts/report.ts';
import { startServices } from './parts/service-process.ts';

export const description =
  'trips/s of segmentation, and a long history at one reading a second touched by one late one';

const options = {
  days: { value: 30, help: 'days of the history; a year is 365, with 12 GB of readings' },
  rounds: { value: 5, help: 'late readings' },
} as const;

const daySeconds = 86_400;
/** All day, the vehicle drives for half an hour and parks for an hour and a half. */
const cycleSeconds = 7200;
const drivingSeconds = 1800;
const metresPerSecond = 12;

/** Generates a day of readings as segmentation reads them. */
function dayOfReadings(): TripReading[] {
  let metres = 0;
  return Array.from({ length: daySeconds }, (_unused, second) => {
    const drives = second % cycleSeconds < drivingSeconds;
    if (drives) metres += metresPerSecond;
    return {
      timeMicroseconds: (1_760_000_000 + second) * 1e6,
      latitude: 48 + metres / 111_195,
      longitude: 2,
      ignition: drives,
      movement: drives,
      speedKmh: drives ? metresPerSecond * 3.6 : 0,
      mileageKm: 1000 + metres / 1000,
      fuelUsedLitres: null,
      fuelLitres: null,
      fuelPercent: null,
      lifetimePowerKwh: null,
      socPercent: 80 - ((metres / 5000) % 70),
      maxEnergyKwh: 52,
    };
  });
}

function measurePure(): void {
  const readings = dayOfReadings();
  segmentTrips(readings);
  const start = performance.now();
  const rounds = 10;
  let trips = 0;
  for (let round = 0; round < rounds; round += 1) trips += segmentTrips(readings).length;
  const seconds = (performance.now() - start) / 1000;
  console.log(
    `segmentation alone: ${figure((rounds * readings.length) / seconds)} readings/s, ${figure(trips / seconds)} trips/s`,
  );
}

/** Stores the same readings day by day, except one second of each trip, which arrives late. */
async function fill(pool: Pool, vehicle: { vehicleId: number; applicationId: number }, days: number): Promise<number> {
  const start = Math.floor(Date.now() / 1000 / daySeconds) * daySeconds - days * daySeconds;
  for (let day = 0; day < days; day += 1) {
    await pool.query(
      `insert into reading (time, application_id, vehicle_id, latitude, longitude, speed, ignition, movement, mileage, soc,
        max_energy, device_id, received_at)
      select to_timestamp($3 + n), $1, $2, 48 + sin(metres / 20000) / 10, 2, case when drives then 43.2 else 0 end, drives,
        drives, 1000 + metres / 1000, 80 - (metres / 5000)::numeric % 70, 52, 'bench', to_timestamp($3 + n)
      from (select n, n % ${cycleSeconds} < ${drivingSeconds} as drives,
        ${metresPerSecond}::float8 * (n / ${cycleSeconds} * ${drivingSeconds} + least(n % ${cycleSeconds}, ${drivingSeconds})) as metres
        from generate_series($4::integer, $4::integer + ${daySeconds - 1}) as n
        where n % ${cycleSeconds} <> ${drivingSeconds / 2}) as driven`,
      [vehicle.applicationId, vehicle.vehicleId, start, day * daySeconds],
    );
  }
  await pool.query('vacuum analyze reading');
  return start;
}

async function countTrips(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('select count(*) from trip');
  return rows[0]?.count ?? 0;
}

async function isDone(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query('select 1 from trip_touched union all select 1 from trip_work limit 1');
  return rows.length === 0;
}

async function measureAll(engines: Engines, vehicleId: number, days: number): Promise<void> {
  const { pool, databaseUrl, onStop } = engines;
  const db = openDatabase({ url: databaseUrl, name: 'bench', size: 2 });
  onStop('trips database', () => db.destroy());
  await pool.query(
    `insert into trip_touched (vehicle_ids, firsts, lasts) select array[$1::integer], array[min(time)], array[max(time)] from reading`,
    [vehicleId],
  );
  const start = performance.now();
  const limits = { readings: 50_000, horizonMicroseconds: null };
  await segmentDueVehicles(db, { pauseMs: 0, limits, logger: createLogger('error'), isOver: () => false });
  const seconds = (performance.now() - start) / 1000;
  const trips = await countTrips(pool);
  const { rows } = await pool.query<{ checkpoints: number; bytes: number }>(`select count(*) as checkpoints,
    pg_total_relation_size('trip_checkpoint') as bytes from trip_checkpoint`);
  printTable([
    ['all of it', 'seconds', 'readings/s', 'trips/s', 'trips', 'checkpoints', 'their MiB'],
    [
      `${days} days`,
      figure(seconds),
      figure((days * daySeconds) / seconds),
      figure(trips / seconds),
      String(trips),
      String(rows[0]?.checkpoints),
      figure((rows[0]?.bytes ?? 0) / 2 ** 20),
    ],
  ]);
}

/** Measures the time from the job of a late upload to the corrected trip, in the process of the services. */
async function measureLate(
  engines: Engines,
  deviceId: string,
  start: number,
  settings: { days: number; rounds: number },
) {
  const { pool } = engines;
  await startServices(engines, ['ingest'], { settings: { TRIPS_PAUSE_MS: '1' } });
  const queue = openQueue('uploads', { redisUrl: engines.redisUrl, prefix: engines.queuePrefix });
  engines.onStop('uploads queue', () => queue.close());
  const before = await countTrips(pool);
  const times: number[] = [];
  for (let round = 0; round < settings.rounds; round += 1) {
    const cycle = Math.floor((round * settings.days * daySeconds) / cycleSeconds / settings.rounds);
    const timestamp = start + cycle * cycleSeconds + drivingSeconds / 2;
    const text = JSON.stringify({ timestamp, location: { latitude: 48, longitude: 2 }, status: { ignition: false } });
    const uploads = [{ deviceId, receivedAtMs: Date.now(), text }];
    const from = performance.now();
    await queue.add('uploads', { uploads, devices: 1, bytes: text.length }, { jobId: randomUUID() });
    const stored = `select 1 from reading where time = to_timestamp($1)`;
    while ((await pool.query(stored, [timestamp])).rows.length === 0) await delay(5);
    while (!(await isDone(pool))) await delay(5);
    times.push(performance.now() - from);
  }
  printRounds({ 'one late reading': times }, 'ms from upload to trips');
  console.log(
    `  of that up to 1,000 ms are the wait for the turn; trips before ${before}, after ${await countTrips(pool)}`,
  );
}

export async function run(parameters: readonly string[]): Promise<void> {
  const settings = readOptions(parameters, options);
  await withEngines(async (engines) => {
    printMachine(engines);
    measurePure();
    const { applicationId, vehicles } = await createFleet(engines.pool, 1);
    const [vehicle] = vehicles;
    if (!vehicle) throw new Error('the fleet has no vehicle');
    const start = await fill(engines.pool, { vehicleId: vehicle.vehicleId, applicationId }, settings.days);
    console.log(`\n${figure(settings.days * daySeconds)} readings of one vehicle, one a second; compressed`);
    await compressReadings(engines.pool);
    await measureAll(engines, vehicle.vehicleId, settings.days);
    await measureLate(engines, vehicle.deviceId, start, settings);
  });
}
