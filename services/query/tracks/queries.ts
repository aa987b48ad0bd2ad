import { isoMicroseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import type { TripStretch } from '../trips/queries.ts';

/** A position on the way; `altitude` in metres. */
export interface TrackPoint {
  time: bigint;
  latitude: number;
  longitude: number;
  altitude: number | null;
}

const pointsAtOnce = 2000;

/**
 * The positions of a trip in the order of time, page by page; no connection is held while somebody reads them. Readings
 * of private times have none.
 */
export async function* readTrack(db: Database, vehicleId: number, trip: TripStretch): AsyncGenerator<TrackPoint[]> {
  let after = trip.start - 1n;
  for (;;) {
    const { rows } = await sql<Omit<TrackPoint, 'time'> & { time_us: string }>`
      select (extract(epoch from time) * 1000000)::bigint::text as time_us, latitude, longitude, altitude from reading
      where vehicle_id = ${vehicleId} and time > ${isoMicroseconds(after)}::timestamptz
        and time <= ${isoMicroseconds(trip.end)}::timestamptz and latitude is not null and longitude is not null
      order by time limit ${pointsAtOnce}`.execute(db);
    const points = rows.map(({ time_us, ...point }) => ({ time: BigInt(time_us), ...point }));
    if (points.length > 0) yield points;
    const last = points.at(-1);
    if (!last || points.length < pointsAtOnce) return;
    after = last.time;
  }
}
