import type { Timestamp } from '@odograph/contracts/timestamps';
import { isoMicroseconds, parseTimestamp } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { privacyIsOn, readingIsPrivate } from '@odograph/database/reading-json';
import { lastSpeed } from '@odograph/database/vehicle-conditions';
import { sql } from 'kysely';
import { firstRow } from '../alarms/geofences.ts';
import type { OpenShare } from './queries.ts';
import type { SharedVehicle } from './schemas.ts';

const maxPoints = 500;
/** Maximum age of the trail of a live share; bounds the readings of the first request. */
const maxTrail = sql.lit('1 day');
const metresPerDegree = 111_195;

interface Point {
  readonly latitude: number;
  readonly longitude: number;
}

/** Rounds a position to the centre of its grid cell; without a grid, to six decimals (0.1 m). */
export function roundPosition({ latitude, longitude }: Point, gridMetres: number | null): Point {
  const roundTo = (value: number, step: number) => Number((Math.round(value / step) * step).toFixed(6));
  if (gridMetres === null) return { latitude: roundTo(latitude, 1e-6), longitude: roundTo(longitude, 1e-6) };
  const step = gridMetres / metresPerDegree;
  const rounded = Math.min(90, Math.max(-90, roundTo(latitude, step)));
  // Near a pole, where a degree of longitude is shorter than a cell, the step is limited to one degree.
  const stepEast = step / Math.max(step, Math.cos((rounded * Math.PI) / 180));
  return { latitude: rounded, longitude: Math.min(180, Math.max(-180, roundTo(longitude, stepEast))) };
}

interface TrailRow extends Point {
  readonly time: string;
}

/** Reads the trail of a share in time order: the last position of each of 500 intervals, except in privacy intervals. */
async function readTrail(db: Database, share: OpenShare, after: string | undefined): Promise<TrailRow[]> {
  const { applicationId, vehicleId, shownFrom, shownUntil } = share;
  const until = sql`${shownUntil}::timestamptz`;
  const from =
    shownUntil === null
      ? sql`greatest(${shownFrom}::timestamptz, now() - interval ${maxTrail})`
      : sql`${shownFrom}::timestamptz`;
  const { rows } = await sql<TrailRow>`select distinct on (width_bucket) latitude, longitude,
      ${isoTime('reading.time', 'microseconds')} as time
    from reading_in_units as reading cross join lateral width_bucket(extract(epoch from time)::float8,
      extract(epoch from greatest(${from}, ${after}::timestamptz))::float8,
      extract(epoch from greatest(${from}, ${after}::timestamptz, coalesce(${until}, now())))::float8 + 1, ${maxPoints})
    where vehicle_id = ${vehicleId} and application_id = ${applicationId} and time >= ${from}
      and time > coalesce(${after}::timestamptz, '-infinity') and time <= coalesce(${until}, 'infinity')
      and latitude is not null and longitude is not null
      and not ${readingIsPrivate}
    order by width_bucket, reading.time desc`.execute(db);
  return rows;
}

interface LatestRow extends TrailRow {
  readonly ageSeconds: number;
  readonly speedKmh: number | null;
  readonly headingDegrees: number | null;
}

/** Reads the position in the latest state of a vehicle. */
function readLatest(db: Database, vehicleId: number): Promise<LatestRow | undefined> {
  return firstRow(
    db,
    sql<LatestRow>`select (location->>'latitude')::float8 as latitude, (location->>'longitude')::float8 as longitude,
        ${isoTime('location_time', 'microseconds')} as time,
        greatest(0, round(extract(epoch from clock_timestamp() - location_time)))::float8 as "ageSeconds",
        ${lastSpeed} as "speedKmh", (location->>'angle')::float8 as "headingDegrees"
      from vehicle_latest where vehicle_id = ${vehicleId} and location ? 'latitude' and location ? 'longitude'`,
  );
}

async function isPrivateNow(db: Database, vehicleId: number): Promise<boolean> {
  const row = await firstRow(db, sql`select from vehicle where id = ${vehicleId} and ${sql.raw(privacyIsOn)}`);
  return row !== undefined;
}

/** Removes positions that repeat the previous one. */
function withoutRepetitions(points: readonly Point[]): Point[] {
  return points.filter(({ latitude, longitude }, index) => {
    const before = points[index - 1];
    return before?.latitude !== latitude || before.longitude !== longitude;
  });
}

async function positionOf(db: Database, share: OpenShare, last: TrailRow | undefined) {
  if (share.shownUntil !== null) {
    return last && { ...roundPosition(last, share.gridMetres), time: last.time };
  }
  const latest = await readLatest(db, share.vehicleId);
  if (latest === undefined) return undefined;
  const { time, ageSeconds, speedKmh, headingDegrees } = latest;
  const position = { ...roundPosition(latest, share.gridMetres), time, ageSeconds };
  // Speed and heading would reveal the position within the cell.
  if (share.gridMetres !== null) return position;
  return {
    ...position,
    ...(speedKmh !== null && { speedKmh }),
    ...(headingDegrees !== null && { headingDegrees }),
  };
}

/**
 * Builds the response for a share, which contains no positions while location privacy is on.
 * @param after the member `after` of the previous response
 * @throws Failure INVALID_PARAMETER
 */
export async function showShare(db: Database, share: OpenShare, after: Timestamp | undefined): Promise<SharedVehicle> {
  const start = after === undefined ? undefined : isoMicroseconds(parseTimestamp('after', after));
  const { gridMetres, name } = share;
  const isPrivate = await isPrivateNow(db, share.vehicleId);
  const rows = isPrivate ? [] : await readTrail(db, share, start);
  const position = isPrivate ? undefined : await positionOf(db, share, rows.at(-1));
  const points = withoutRepetitions(rows.map((row) => roundPosition(row, gridMetres)));
  return {
    ...{ kind: share.shownUntil === null ? 'live' : 'trip', name, until: share.endsAt.toISOString(), isPrivate },
    ...(gridMetres !== null && { gridMetres }),
    ...(position && { position }),
    trail: points.map(({ latitude, longitude }) => [latitude, longitude] as const),
    after: rows.at(-1)?.time ?? start ?? share.shownFrom,
  };
}
