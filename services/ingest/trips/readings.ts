import { allCanValues } from '@odograph/database/can-values';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { instant } from '../pipeline/sql-values.ts';
import type { TripReading } from './segmentation/place.ts';
import type { SegmentState } from './segmentation/segment-trips.ts';

/** The state of segmentation after the reading at a time. */
export interface Checkpoint {
  timeMicroseconds: number;
  state: SegmentState;
  /** Readings since the previous checkpoint. */
  readings: number;
  /** Whether no checkpoint follows. */
  isNewest: boolean;
}

/** A checkpoint to store. Its state is serialized, because segmentation modifies the object. */
export interface NewCheckpoint extends Pick<Checkpoint, 'timeMicroseconds' | 'readings'> {
  json: string;
}

const columns = sql`(extract(epoch from time) * 1000000)::bigint as "timeMicroseconds", state, readings,
  not exists (select from trip_checkpoint as later
    where later.vehicle_id = trip_checkpoint.vehicle_id and later.time > trip_checkpoint.time) as "isNewest"`;

const minReadings = 1000;
const maxReadings = 5000;

/** Whether to keep a checkpoint: between journeys after 1,000 readings, and always after 5,000. */
export function isWorthKeeping({ journey, gap }: SegmentState, readings: number): boolean {
  return readings >= maxReadings || (readings >= minReadings && journey === null && gap === null);
}

/** Finds the last checkpoint before a time, or the first after it. */
export async function findCheckpoint(
  db: Database,
  vehicleId: number,
  side: 'before' | 'after',
  microseconds: number,
): Promise<Checkpoint | undefined> {
  const [comparison, direction] = side === 'before' ? [sql`<`, sql`desc`] : [sql`>`, sql`asc`];
  const { rows } = await sql<Checkpoint>`select ${columns} from trip_checkpoint where vehicle_id = ${vehicleId}
    and time ${comparison} ${instant(microseconds)} order by time ${direction} limit 1`.execute(db);
  return rows[0];
}

/** Replaces the checkpoints of an interval, its end included. */
export async function replaceCheckpoints(
  db: Database,
  vehicleId: number,
  interval: { afterMicroseconds: number; untilMicroseconds: number },
  checkpoints: readonly NewCheckpoint[],
): Promise<void> {
  await sql`delete from trip_checkpoint where vehicle_id = ${vehicleId}
    and time > ${instant(interval.afterMicroseconds)} and time <= ${instant(interval.untilMicroseconds)}`.execute(db);
  if (checkpoints.length === 0) return;
  await sql`insert into trip_checkpoint (vehicle_id, time, state, readings)
    select ${vehicleId}::integer, timestamptz 'epoch' + time_us * interval '1 microsecond', state, readings
    from unnest(${checkpoints.map(({ timeMicroseconds }) => timeMicroseconds)}::bigint[],
      ${checkpoints.map(({ json }) => json)}::jsonb[],
      ${checkpoints.map(({ readings }) => readings)}::integer[]) as given (time_us, state, readings)`.execute(db);
}

/** Deletes checkpoints whose following readings were dropped, except the newest. */
export async function deleteOldCheckpoints(db: Database, vehicleId: number, beforeMicroseconds: number): Promise<void> {
  await sql`delete from trip_checkpoint where vehicle_id = ${vehicleId} and time < ${instant(beforeMicroseconds)}
    and time < (select max(time) from trip_checkpoint where vehicle_id = ${vehicleId})`.execute(db);
}

/** Keys of CAN data that count the litres used in an engine's life (docs/trips.md). */
const fuelCounterKeys = ['total_fuel_used', 'engine_total_fuel_used', 'fuel_used'];

const fuelCounter = sql`case when can is not null or decoded_can is not null then (
  select (datum->>'value')::double precision from jsonb_array_elements(${sql.raw(allCanValues)}) as datum
  where datum->>'key' = any(${fuelCounterKeys}::text[]) and datum->>'value' ~ '^\\d{1,12}(\\.\\d{1,12})?$' limit 1) end`;
const ofFleet = (name: string) => sql`(fleet->>${sql.lit(name)})::double precision`;

const readingColumns = sql`(extract(epoch from time) * 1000000)::bigint as "timeMicroseconds", latitude, longitude,
  coalesce(ignition, case fleet->>'engine' when 'ON' then true when 'OFF' then false end) as ignition, movement,
  speed as "speedKmh", coalesce(mileage, ${ofFleet('mileage')}) as "mileageKm", ${fuelCounter} as "fuelUsedLitres",
  ${ofFleet('fuel')} as "fuelLitres", ${ofFleet('fuelRange')} as "fuelPercent",
  lifetime_power_use as "lifetimePowerKwh", coalesce(soc, ${ofFleet('ChargeLevel')}) as "socPercent",
  max_energy as "maxEnergyKwh"`;

/** Rows per query. */
const pageSize = 10_000;

/** Loads readings of a vehicle in time order, page by page. @param until inclusive; null for no upper bound */
export async function* loadReadings(
  db: Database,
  vehicleId: number,
  afterMicroseconds: number,
  until: number | null,
): AsyncGenerator<TripReading[]> {
  for (let after = afterMicroseconds; ; ) {
    const bound = until === null ? sql`` : sql`and time <= ${instant(until)}`;
    const { rows } = await sql<TripReading>`select ${readingColumns} from reading
      where vehicle_id = ${vehicleId} and time > ${instant(after)} ${bound}
      order by time limit ${sql.lit(pageSize)}`.execute(db);
    if (rows.length > 0) yield rows;
    if (rows.length < pageSize) return;
    after = rows.at(-1)?.timeMicroseconds ?? after;
  }
}
