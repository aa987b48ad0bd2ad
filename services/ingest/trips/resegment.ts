import { isDeepStrictEqual } from 'node:util';
import { allCanValues } from '@odograph/database/can-values';
import type { Database } from '@odograph/database/database';
import { odometer } from '@odograph/database/trips';
import { sql } from 'kysely';
import { instant } from '../pipeline/sql-values.ts';
import type { TripReading } from './segmentation/place.ts';
import { noReadings, openTrip, type SegmentState, takeReading } from './segmentation/segment-trips.ts';
import { type FoundTrip, replaceTrips } from './store-trips.ts';
import type { TouchedInterval } from './trip-work.ts';

export interface SegmentLimits {
  /** Readings segmented in one turn; the rest waits for the next. */
  readings: number;
  /**
   * Earlier readings may be dropped at any time, so trips that ended earlier get no end points, and earlier checkpoints are
   * deleted. Null without retention.
   */
  horizonMicroseconds: number | null;
}

/** Segmentation in progress, from a checkpoint on. */
interface Run {
  state: SegmentState;
  /** The time of the last reading segmented. */
  cursor: number;
  readings: number;
  sinceCheckpoint: number;
  checkpoints: NewCheckpoint[];
  found: FoundTrip[];
  horizonMicroseconds: number | null;
}

/** Why a run ended: no more readings, the state met a stored checkpoint, or the budget was used up. */
type RunEnd = { kind: 'end' } | { kind: 'met' } | { kind: 'paused'; atHead: boolean };

const beforeAll = -1;
/** Later than every reading, and exact as a number. */
const afterAll = 7_258_118_400_000_000;

function saveCheckpoint(run: Run): void {
  const { state, sinceCheckpoint, checkpoints } = run;
  if (sinceCheckpoint === 0) return;
  checkpoints.push({
    timeMicroseconds: run.cursor,
    readings: Math.min(sinceCheckpoint, 1_000_000_000),
    json: JSON.stringify(state),
  });
  run.sinceCheckpoint = 0;
}

function takePage(run: Run, page: readonly TripReading[]): void {
  for (const reading of page) {
    const trips = takeReading(run.state, reading);
    run.cursor = reading.timeMicroseconds;
    for (const trip of trips) run.found.push({ trip, endsKnownAtMicroseconds: run.cursor, settled: true });
    run.sinceCheckpoint += 1;
    if (isWorthKeeping(run.state, run.sinceCheckpoint)) saveCheckpoint(run);
  }
  run.readings += page.length;
}

/** Where segmentation starts. */
interface Start extends Checkpoint {
  /** Whether a kept trip ends here; the reading that ended it may begin the next trip. */
  isEndOfKeptTrip?: true;
}

/** Finds where to start so that readings from a time on are segmented, and trips that ended by `keptUntil` are kept. */
async function findStart(
  db: Database,
  vehicleId: number,
  fromMicroseconds: number,
  keptUntil: number | undefined,
): Promise<Start | undefined> {
  const before = await findCheckpoint(db, vehicleId, 'before', fromMicroseconds);
  if (keptUntil === undefined || (before && before.timeMicroseconds >= keptUntil)) return before;
  return { timeMicroseconds: keptUntil, state: noReadings(), readings: 0, isNewest: false, isEndOfKeptTrip: true };
}

async function continueRun(
  db: Database,
  vehicleId: number,
  run: Run,
  { budget, isAtHead }: { budget: number; isAtHead: boolean },
): Promise<RunEnd> {
  for (;;) {
    const stored = isAtHead ? undefined : await findCheckpoint(db, vehicleId, 'after', run.cursor);
    const until = stored?.timeMicroseconds ?? null;
    for await (const page of loadReadings(db, vehicleId, run.cursor, until)) {
      takePage(run, page);
      if (run.readings >= budget && run.cursor !== until) return { kind: 'paused', atHead: until === null };
    }
    if (!stored) return { kind: 'end' };
    run.cursor = stored.timeMicroseconds;
    // From an equal state on, all later trips are unchanged.
    if (isDeepStrictEqual(JSON.parse(JSON.stringify(run.state)), stored.state)) return { kind: 'met' };
  }
}

/** Returns the open trip at the end of all readings; while readings are left, its end is unknown. */
function openTripOf(run: Run, end: RunEnd): FoundTrip[] {
  const open = openTrip(run.state);
  if (!open || end.kind === 'met' || (end.kind === 'paused' && !end.atHead)) return [];
  const endsKnownAtMicroseconds = end.kind === 'end' ? open.endsKnownAtMicroseconds : afterAll;
  return [{ trip: open.trip, endsKnownAtMicroseconds, settled: false }];
}

/** Removes the end points of a trip that ended before the horizon. */
function withoutExpiredEndPoints(found: FoundTrip, horizonMicroseconds: number | null): FoundTrip {
  if (horizonMicroseconds === null || found.trip.endMicroseconds >= horizonMicroseconds) return found;
  return { ...found, trip: { ...found.trip, firstPosition: null, lastPosition: null } };
}

async function storeRun(
  db: Database,
  vehicleId: number,
  run: Run,
  end: RunEnd,
  [after, firstCheckpoint]: [afterMicroseconds: number, firstReplacedCheckpoint: number],
  isFromNewest: boolean,
): Promise<number | undefined> {
  const until = end.kind === 'end' ? afterAll : run.cursor;
  const open = end.kind === 'end' || (end.kind === 'paused' && end.atHead);
  const replaced = { afterMicroseconds: after, untilMicroseconds: until, open, isFromNewest };
  const found = [...run.found, ...openTripOf(run, end)].map((one) =>
    withoutExpiredEndPoints(one, run.horizonMicroseconds),
  );
  const keptUntil = await replaceTrips(db, vehicleId, replaced, found);
  if (keptUntil !== undefined) return keptUntil;
  if (end.kind !== 'met') saveCheckpoint(run);
  const last = end.kind === 'met' ? until - 1 : until;
  const interval = { afterMicroseconds: firstCheckpoint - 1, untilMicroseconds: last };
  const checkpoints = run.checkpoints.filter(({ timeMicroseconds }) => timeMicroseconds <= last);
  await replaceCheckpoints(db, vehicleId, interval, checkpoints);
  return undefined;
}

const reachingBeyond = (touched: readonly TouchedInterval[], time: number): TouchedInterval[] =>
  touched
    .filter(({ untilMicroseconds }) => untilMicroseconds > time)
    .map((one) => ({ ...one, fromMicroseconds: Math.max(one.fromMicroseconds, time + 1) }));

function restAfter(run: Run, end: RunEnd, touched: readonly TouchedInterval[]): TouchedInterval[] {
  if (end.kind === 'end') return [];
  const rest = reachingBeyond(touched, run.cursor);
  if (end.kind === 'met') return rest;
  const next = run.cursor + 1;
  return [{ fromMicroseconds: next, untilMicroseconds: next }, ...rest];
}

interface RunResult {
  /** The intervals that remain. */
  rest: readonly TouchedInterval[];
  /** The readings used. */
  readings: number;
  /** The end of a trip that cannot be computed again. If set, nothing was stored, and the next run starts there. */
  keptUntil?: number;
}

/** Segments from a checkpoint on and stores the result. */
async function runFrom(
  db: Database,
  vehicleId: number,
  start: Start | undefined,
  touched: readonly TouchedInterval[],
  { readings: budget, horizonMicroseconds }: SegmentLimits,
): Promise<RunResult> {
  const after = start?.timeMicroseconds ?? beforeAll;
  // The newest checkpoint is a marker of progress and is replaced, unless enough readings precede it.
  const isKept = start !== undefined && (!start.isNewest || isWorthKeeping(start.state, start.readings));
  const run: Run = {
    state: start?.state ?? noReadings(),
    cursor: start?.isEndOfKeptTrip ? after - 1 : after,
    readings: 0,
    sinceCheckpoint: isKept ? 0 : (start?.readings ?? 0),
    checkpoints: [],
    found: [],
    horizonMicroseconds,
  };
  const isAtHead = start?.isNewest ?? false;
  const end = await continueRun(db, vehicleId, run, { budget, isAtHead });
  const keptUntil = await storeRun(db, vehicleId, run, end, [after, isKept ? after + 1 : after], isAtHead);
  if (keptUntil !== undefined) return { rest: touched, readings: 0, keptUntil };
  return { rest: restAfter(run, end, touched), readings: run.readings };
}

/**
 * Segments the touched intervals of a vehicle again: from the last checkpoint before each until the state equals a stored
 * one. Other trips are untouched, so a late reading costs little.
 * @param db a transaction that holds the lock of the vehicle's trips
 * @param touched in time order
 * @returns the intervals left for another turn
 */
export async function resegment(
  db: Database,
  vehicleId: number,
  touched: readonly TouchedInterval[],
  { readings, horizonMicroseconds }: SegmentLimits,
): Promise<TouchedInterval[]> {
  let rest = [...touched];
  let budget = readings;
  let keptUntil: number | undefined;
  for (let first = rest[0]; first && budget > 0; first = rest[0]) {
    const start = await findStart(db, vehicleId, first.fromMicroseconds, keptUntil);
    rest = reachingBeyond(rest, start?.timeMicroseconds ?? beforeAll);
    if (rest.length === 0) break;
    const run = await runFrom(db, vehicleId, start, rest, { readings: budget, horizonMicroseconds });
    rest = [...run.rest];
    budget -= Math.max(1, run.readings);
    keptUntil = run.keptUntil ?? keptUntil;
  }
  if (horizonMicroseconds !== null) await deleteOldCheckpoints(db, vehicleId, horizonMicroseconds);
  return rest;
}

/** The state of segmentation after the reading at a time. */
interface Checkpoint {
  timeMicroseconds: number;
  state: SegmentState;
  /** Readings since the previous checkpoint. */
  readings: number;
  /** True if no checkpoint follows. */
  isNewest: boolean;
}

/** A checkpoint to store. Its state is serialized, because segmentation modifies the object. */
interface NewCheckpoint extends Pick<Checkpoint, 'timeMicroseconds' | 'readings'> {
  json: string;
}

const columns = sql`(extract(epoch from time) * 1000000)::bigint as "timeMicroseconds", state, readings,
  not exists (select from trip_checkpoint as later
    where later.vehicle_id = trip_checkpoint.vehicle_id and later.time > trip_checkpoint.time) as "isNewest"`;

const minReadings = 1000;
const maxReadings = 5000;

/** Decides whether to keep a checkpoint: between journeys after 1,000 readings, and always after 5,000. */
function isWorthKeeping({ journey, gap }: SegmentState, readings: number): boolean {
  return readings >= maxReadings || (readings >= minReadings && journey === null && gap === null);
}

/** Finds the last checkpoint before a time, or the first after it. */
async function findCheckpoint(
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
async function replaceCheckpoints(
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
async function deleteOldCheckpoints(db: Database, vehicleId: number, beforeMicroseconds: number): Promise<void> {
  await sql`delete from trip_checkpoint where vehicle_id = ${vehicleId} and time < ${instant(beforeMicroseconds)}
    and time < (select max(time) from trip_checkpoint where vehicle_id = ${vehicleId})`.execute(db);
}

/** Keys of CAN data that count the litres used over the life of an engine (docs/trips.md). */
const fuelCounterKeys = ['total_fuel_used', 'engine_total_fuel_used', 'fuel_used'];

const fuelCounter = sql`case when can is not null or decoded_can is not null then (
  select (datum->>'value')::double precision from jsonb_array_elements(${sql.raw(allCanValues)}) as datum
  where datum->>'key' = any(${fuelCounterKeys}::text[]) and datum->>'value' ~ '^\\d{1,12}(\\.\\d{1,12})?$' limit 1) end`;
const ofFleet = (name: string) => sql`nullif((fleet->>${sql.lit(name)})::double precision, 0)`;

/** Devices send 0 for an unknown counter or level. */
const readingColumns = sql`(extract(epoch from time) * 1000000)::bigint as "timeMicroseconds", latitude, longitude,
  coalesce(ignition, case fleet->>'engine' when 'ON' then true when 'OFF' then false end) as ignition, movement,
  speed as "speedKmh", ${odometer} as "mileageKm", nullif(${fuelCounter}, 0) as "fuelUsedLitres",
  ${ofFleet('fuel')} as "fuelLitres", ${ofFleet('fuelRange')} as "fuelPercent",
  nullif(lifetime_power_use, 0) as "lifetimePowerKwh", coalesce(nullif(soc, 0), ${ofFleet('ChargeLevel')}) as "socPercent",
  max_energy as "maxEnergyKwh"`;

/** Rows per query. */
const pageSize = 10_000;

/** Loads readings of a vehicle in time order, page by page. @param until inclusive; null for no upper bound */
async function* loadReadings(
  db: Database,
  vehicleId: number,
  afterMicroseconds: number,
  until: number | null,
): AsyncGenerator<TripReading[]> {
  for (let after = afterMicroseconds; ; ) {
    const bound = until === null ? sql`` : sql`and time <= ${instant(until)}`;
    const { rows } = await sql<TripReading>`select ${readingColumns} from reading_in_units as reading
      where vehicle_id = ${vehicleId} and time > ${instant(after)} ${bound}
      order by time limit ${sql.lit(pageSize)}`.execute(db);
    if (rows.length > 0) yield rows;
    if (rows.length < pageSize) return;
    after = rows.at(-1)?.timeMicroseconds ?? after;
  }
}
