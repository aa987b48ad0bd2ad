import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { instant } from '../reading-keys.ts';
import type { SeriesInterval } from '../series/rules.ts';
import type { TrailPosition } from './rules.ts';

/** More positions than these are thinned out by the database. */
const mostPositions = 20_000;

/**
 * Reads the positions of a vehicle in the order of time. If they are more than 20,000, the interval is divided into as many
 * buckets, and each has its first position with its highest speed. Readings in a privacy interval have no position.
 */
export async function readPositions(
  db: Database,
  vehicleId: number,
  { from, until }: SeriesInterval,
): Promise<TrailPosition[]> {
  const located = sql`from reading where vehicle_id = ${vehicleId} and time >= ${instant(from)} and time < ${instant(until)}
    and latitude is not null and longitude is not null`;
  const all =
    await sql<TrailPosition>`select extract(epoch from time)::float8 as time, latitude, longitude, speed, angle
    ${located} limit ${mostPositions + 1}::integer`.execute(db);
  if (all.rows.length <= mostPositions) return all.rows.sort((one, other) => one.time - other.time);
  const length = (until - from) / BigInt(mostPositions) + 1n;
  const thinned = await sql<TrailPosition>`
    select extract(epoch from min(time))::float8 as time, first(latitude, time) as latitude,
      first(longitude, time) as longitude, max(speed) as speed, first(angle, time) as angle
    ${located} group by date_bin(${String(length)}::bigint * interval '1 microsecond', time, ${instant(from)}) order by 1`.execute(
    db,
  );
  return thinned.rows;
}
