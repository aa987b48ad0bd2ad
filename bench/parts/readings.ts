import type { Pool } from './engines.ts';
import type { BenchFleet } from './fleet.ts';

const usualIntervalSeconds = 10;
const rowsPerStatement = 500_000;
/** Readings, of four hours at 10 s: the vehicle drives in the first part and is parked in the rest. */
const cycle = 1440;

/**
 * SQL for readings of typical electric vehicles: a route with metres of noise in degrees of six decimals, integer speed and
 * state of charge, mileage, current and voltage in tenths; while parked, only the times change. Rows are inserted in order
 * of time, as they would arrive.
 */
const statement = `
insert into reading (time, application_id, vehicle_id, latitude_e7, longitude_e7, angle, altitude, speed, satellites,
  ignition, movement, mileage_metres, autonomy, soh, soc, current_milliamperes, voltage_millivolts, energy, device_id,
  sequence, received_at)
select time, $1, vehicle_id,
  round((48.8566 + sin(km / 9) / 8 + case when driving then random() / 20000 else 0 end)::numeric, 6) * 10000000,
  round((2.3522 + cos(km / 11) / 6 + case when driving then random() / 20000 else 0 end)::numeric, 6) * 10000000,
  (km * 37)::integer % 360, 35 + round(20 * sin(km / 5)), case when driving then 25 + (random() * 45)::integer else 0 end,
  case when driving then 7 + (random() * 4)::integer else 9 end, driving, driving,
  round((12345 + km)::numeric, 1) * 1000, round(400 - km::numeric % 300), 97, round(90 - (km / 4)::numeric % 70),
  case when driving then round((10 - random() * 60)::numeric, 1) * 1000 else 0 end,
  round((390 + case when driving then random() * 4 else 0 end)::numeric, 1) * 1000, round(41 - (km / 8)::numeric % 30, 1),
  device_id, n, time + (200 + (random() * 400)::integer) * interval '1 millisecond'
from (
  select $4::timestamptz + n * $8::integer * interval '1 second' as time, n, vehicle_id, device_id, n % ${cycle} < $7 as driving,
    vehicle_id % 1000 + 0.13 * (n / ${cycle} * $7 + least(n % ${cycle}, $7)) as km
  from generate_series($5::integer, $6::integer) as n
    cross join lateral unnest($2::integer[], $3::text[]) as vehicle (vehicle_id, device_id)
) as driven`;

export interface Fill {
  /** Rounded down to a whole number per vehicle. */
  readings: number;
  /** Exclusive. */
  until: Date;
  /** Percentage of time spent driving; 25 by default. */
  drivingPercent?: number;
  /** Between two readings of a vehicle; 10 by default. */
  intervalSeconds?: number;
}

/** Fills the table reading. @returns the time of the first reading and the number per vehicle */
export async function fillReadings(
  pool: Pool,
  { applicationId, vehicles }: BenchFleet,
  { readings, until, drivingPercent = 25, intervalSeconds = usualIntervalSeconds }: Fill,
): Promise<{ from: Date; each: number }> {
  const each = Math.floor(readings / vehicles.length);
  const from = new Date(until.getTime() - each * intervalSeconds * 1000);
  const step = Math.max(1, Math.floor(rowsPerStatement / vehicles.length));
  const driving = Math.round((cycle * drivingPercent) / 100);
  const ids = vehicles.map(({ vehicleId }) => vehicleId);
  const devices = vehicles.map(({ deviceId }) => deviceId);
  for (let start = 0; start < each; start += step) {
    const end = Math.min(each, start + step) - 1;
    await pool.query(statement, [applicationId, ids, devices, from, start, end, driving, intervalSeconds]);
  }
  await pool.query('vacuum analyze reading');
  return { from, each };
}

/** Compresses every chunk now, with the settings of the policy. */
export async function compressReadings(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ chunk: string }>("select show_chunks('reading')::text as chunk");
  for (const { chunk } of rows)
    await pool.query('select compress_chunk($1::regclass, if_not_compressed => true)', [chunk]);
  await pool.query('vacuum analyze reading');
}
