import { isoMicroseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import type { TripTimes } from '../trips/queries.ts';

/** A position; `altitude` in metres. */
export interface TrackPoint {
  time: bigint;
  latitude: number;
  longitude: number;
  altitude: number | null;
}

const pointsPerPage = 2000;

/**
 * Reads the positions of a trip in the order of time, page by page; no connection is held between pages. Readings in a
 * privacy interval have none.
 */
export async function* readTrack(db: Database, vehicleId: number, trip: TripTimes): AsyncGenerator<TrackPoint[]> {
  let after = trip.start - 1n;
  for (;;) {
    const { rows } = await sql<Omit<TrackPoint, 'time'> & { time_us: string }>`
      select (extract(epoch from time) * 1000000)::bigint::text as time_us, latitude, longitude, altitude from reading
      where vehicle_id = ${vehicleId} and time > ${isoMicroseconds(after)}::timestamptz
        and time <= ${isoMicroseconds(trip.end)}::timestamptz and latitude is not null and longitude is not null
      order by time limit ${pointsPerPage}`.execute(db);
    const points = rows.map(({ time_us, ...point }) => ({ time: BigInt(time_us), ...point }));
    if (points.length > 0) yield points;
    const last = points.at(-1);
    if (!last || points.length < pointsPerPage) return;
    after = last.time;
  }
}
