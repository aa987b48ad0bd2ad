import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { arrayLiteral, instantArray } from '../upload/array-literal.ts';

/** Where a reading was stored. */
interface StoredReading {
  readonly vehicleId: number;
  readonly timeMicroseconds: number;
}

/** Readings of one vehicle, further apart than which they are stretches of their own. */
const sameStretchMicroseconds = 6 * 3_600_000_000;

interface Stretch extends StoredReading {
  lastMicroseconds: number;
}

function stretchesOf(readings: readonly StoredReading[]): Stretch[] {
  const stretches: Stretch[] = [];
  for (const { vehicleId, timeMicroseconds } of readings) {
    const last = stretches.at(-1);
    const goesOn = last?.vehicleId === vehicleId && timeMicroseconds - last.lastMicroseconds <= sameStretchMicroseconds;
    if (goesOn) last.lastMicroseconds = timeMicroseconds;
    else stretches.push({ vehicleId, timeMicroseconds, lastMicroseconds: timeMicroseconds });
  }
  return stretches;
}

/**
 * Notes, in the transaction that stores readings, which trips they may change: one row whatever the batch.
 * @param readings sorted by vehicle, then time
 */
export async function markTouched(db: Database, readings: readonly StoredReading[]): Promise<void> {
  const stretches = stretchesOf(readings);
  if (stretches.length === 0) return;
  await sql`insert into trip_touched (vehicle_ids, firsts, lasts)
    values (${arrayLiteral(stretches.map(({ vehicleId }) => vehicleId))}::integer[],
      ${instantArray(stretches.map(({ timeMicroseconds }) => timeMicroseconds))},
      ${instantArray(stretches.map(({ lastMicroseconds }) => lastMicroseconds))})`.execute(db);
}

const rowsAtOnce = 1000;

/**
 * Hands what was noted on to the vehicles, each of which takes its turn at most every `pauseMs`.
 * @returns whether more may wait
 */
export async function distributeTouched(db: Database, pauseMs: number): Promise<boolean> {
  const { rows } = await sql<{ taken: number }>`
    with taken as (
      delete from trip_touched where id in (
        select id from trip_touched order by id limit ${rowsAtOnce} for update skip locked)
      returning vehicle_ids, firsts, lasts),
    by_vehicle as (
      select stretch.vehicle_id, range_agg(tstzrange(stretch.first, stretch.last, '[]')) as touched
      from taken, unnest(vehicle_ids, firsts, lasts) as stretch (vehicle_id, first, last)
      group by stretch.vehicle_id),
    handed_on as (
      insert into trip_work (vehicle_id, touched, due_at)
      select by_vehicle.vehicle_id, by_vehicle.touched,
        -- A turn that ended in the future ended by a clock that was set back since.
        least(greatest(now(), trip_turn.ended_at + ${pauseMs} * interval '1 millisecond'),
          now() + ${pauseMs} * interval '1 millisecond')
      from by_vehicle join vehicle on vehicle.id = by_vehicle.vehicle_id and vehicle.deleted_at is null
      left join trip_turn on trip_turn.vehicle_id = by_vehicle.vehicle_id
      order by by_vehicle.vehicle_id
      on conflict (vehicle_id) do update set
        touched = trip_work.touched + excluded.touched, ticket = trip_work.ticket + 1)
    select count(*) as taken from taken`.execute(db);
  return (rows[0]?.taken ?? 0) === rowsAtOnce;
}
