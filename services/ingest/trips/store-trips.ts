import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { instant } from '../pipeline/sql-values.ts';
import type { Trip } from './segmentation/journey.ts';

interface TimeRange {
  readonly startMicroseconds: number;
  readonly endMicroseconds: number;
}

/** Returns every overlapping pair. Both lists are in time order and free of overlaps within themselves. */
function overlapping<Old extends TimeRange, New extends TimeRange>(olds: readonly Old[], news: readonly New[]) {
  const pairs: { old: Old; trip: New; overlap: number }[] = [];
  let first = 0;
  for (const trip of news) {
    while ((olds[first]?.endMicroseconds ?? Number.POSITIVE_INFINITY) <= trip.startMicroseconds) first += 1;
    for (let index = first; index < olds.length; index += 1) {
      const old = olds[index];
      if (!old || old.startMicroseconds >= trip.endMicroseconds) break;
      const overlap =
        Math.min(old.endMicroseconds, trip.endMicroseconds) - Math.max(old.startMicroseconds, trip.startMicroseconds);
      pairs.push({ old, trip, overlap });
    }
  }
  return pairs;
}

/**
 * Matches new trips to stored ones by greatest overlap, each at most once, so that a trip that grows or shifts keeps its
 * id. Both lists are in time order.
 */
export function matchTrips<Old extends TimeRange, New extends TimeRange>(
  olds: readonly Old[],
  news: readonly New[],
): Map<New, Old> {
  const matches = new Map<New, Old>();
  const taken = new Set<Old>();
  for (const { old, trip } of overlapping(olds, news).sort((a, b) => b.overlap - a.overlap)) {
    if (matches.has(trip) || taken.has(old)) continue;
    matches.set(trip, old);
    taken.add(old);
  }
  return matches;
}

/** A trip from segmentation. */
export interface FoundTrip {
  trip: Trip;
  /** The time of the reading that ended it, or when it ends without further readings. */
  endsKnownAtMicroseconds: number;
  /** Whether a reading ended it. */
  settled: boolean;
}

/** The stored trips to replace. */
export interface ReplacedTrips {
  /** Trips ended by a reading after this time … */
  afterMicroseconds: number;
  /** … up to this time. */
  untilMicroseconds: number;
  /** Whether to replace the open trip, too. */
  open: boolean;
  /** Whether segmentation started at the newest checkpoint, which does not require earlier readings of the trips. */
  isFromNewest: boolean;
}

type TripRow = ReturnType<typeof toRow>;
const factColumns = [
  ...['settled', 'inferred', 'distance_km', 'fuel_litres', 'fuel_percent', 'electric_kwh'],
  ...['first_latitude', 'first_longitude', 'last_latitude', 'last_longitude'],
];
const facts = sql.raw(factColumns.join(', '));
const replacedFacts = sql.raw(factColumns.map((column) => `${column} = excluded.${column}`).join(', '));

function toRow(id: string, { trip, endsKnownAtMicroseconds, settled }: FoundTrip) {
  return {
    id,
    startMicroseconds: trip.startMicroseconds,
    endMicroseconds: trip.endMicroseconds,
    ends_known_us: endsKnownAtMicroseconds,
    settled,
    inferred: trip.inferred,
    distance_km: trip.distanceKm,
    fuel_litres: trip.fuelLitres,
    fuel_percent: trip.fuelPercent,
    electric_kwh: trip.electricKwh,
    first_latitude: trip.firstPosition?.latitude ?? null,
    first_longitude: trip.firstPosition?.longitude ?? null,
    last_latitude: trip.lastPosition?.latitude ?? null,
    last_longitude: trip.lastPosition?.longitude ?? null,
  };
}

async function findReplaced(db: Database, vehicleId: number, replaced: ReplacedTrips): Promise<TripRow[]> {
  const { rows } = await sql<TripRow>`select id,
      (extract(epoch from started_at) * 1000000)::bigint as "startMicroseconds",
      (extract(epoch from ended_at) * 1000000)::bigint as "endMicroseconds",
      (extract(epoch from ends_known_at) * 1000000)::bigint as ends_known_us, ${facts}
    from trip where vehicle_id = ${vehicleId} and case when settled
      then ends_known_at > ${instant(replaced.afterMicroseconds)} and ends_known_at <= ${instant(replaced.untilMicroseconds)}
      else ${replaced.open} end
    order by started_at`.execute(db);
  return rows;
}

/** Inserts trips, and updates those whose id is stored, so that a trip that changes is no new one in the list of events. */
async function writeRows(db: Database, vehicleId: number, rows: readonly TripRow[]): Promise<void> {
  if (rows.length === 0) return;
  const moment = (name: string) => sql`timestamptz 'epoch' + ${sql.ref(name)} * interval '1 microsecond'`;
  await sql`insert into trip (id, vehicle_id, started_at, ended_at, ends_known_at, ${facts})
    select id, ${vehicleId}::integer, ${moment('startMicroseconds')}, ${moment('endMicroseconds')},
      ${moment('ends_known_us')}, ${facts}
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (id uuid, "startMicroseconds" bigint,
      "endMicroseconds" bigint, ends_known_us bigint, settled boolean, inferred boolean, distance_km float8,
      fuel_litres float8, fuel_percent float8, electric_kwh float8, first_latitude float8, first_longitude float8,
      last_latitude float8, last_longitude float8)
    on conflict (id) do update set started_at = excluded.started_at, ended_at = excluded.ended_at,
      ends_known_at = excluded.ends_known_at, ${replacedFacts}`.execute(db);
}

/** Finds the end of the last trip whose first reading was archived or dropped; undefined if all have theirs. */
async function findEndOfKeptTrips(
  db: Database,
  vehicleId: number,
  trips: readonly TripRow[],
): Promise<number | undefined> {
  const starts = trips.map(({ startMicroseconds }) => startMicroseconds);
  if (starts.length === 0) return undefined;
  // The bounds let the planner exclude the chunks of other times.
  const { rows } = await sql<{ us: number }>`select (extract(epoch from time) * 1000000)::bigint as us from reading
    where vehicle_id = ${vehicleId} and time >= ${instant(Math.min(...starts))} and time <= ${instant(Math.max(...starts))}
      and time = any(array(
        select timestamptz 'epoch' + us * interval '1 microsecond' from unnest(${starts}::bigint[]) as us))`.execute(
    db,
  );
  const found = new Set(rows.map(({ us }) => us));
  const ends = trips.flatMap((one) => (found.has(one.startMicroseconds) ? [] : [one.ends_known_us]));
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** Settles the open trip if it ends by `keptUntil`, so that no later run tries to replace it. */
async function settleTrips(db: Database, vehicleId: number, keptUntil: number): Promise<void> {
  await sql`update trip set settled = true where vehicle_id = ${vehicleId} and not settled
    and ends_known_at <= ${instant(keptUntil)}`.execute(db);
}

/**
 * Replaces stored trips. A trip that overlaps a stored one takes its id; an equal one is not rewritten.
 * @returns undefined, or, if a trip cannot be computed again because its readings were archived or dropped, its end; nothing
 *   is replaced then
 */
export async function replaceTrips(
  db: Database,
  vehicleId: number,
  replaced: ReplacedTrips,
  found: readonly FoundTrip[],
): Promise<number | undefined> {
  const olds = await findReplaced(db, vehicleId, replaced);
  const ranges = found.map((one) => ({ ...one.trip, found: one }));
  const matches = matchTrips(olds, ranges);
  const unchanged = new Set<TripRow>();
  const remaining = new Set<string>();
  const rows = ranges.flatMap((range) => {
    const old = matches.get(range);
    const row = toRow(old?.id ?? randomUUID(), range.found);
    remaining.add(row.id);
    if (!old || !isDeepStrictEqual(row, { ...old })) return [row];
    unchanged.add(old);
    return [];
  });
  if (!replaced.isFromNewest) {
    const keptUntil = await findEndOfKeptTrips(
      db,
      vehicleId,
      olds.filter((old) => !unchanged.has(old)),
    );
    if (keptUntil !== undefined) {
      await settleTrips(db, vehicleId, keptUntil);
      return keptUntil;
    }
  }
  const removed = olds.map(({ id }) => id).filter((id) => !remaining.has(id));
  if (removed.length > 0) await sql`delete from trip where id = any(${removed}::uuid[])`.execute(db);
  await writeRows(db, vehicleId, rows);
  return undefined;
}
