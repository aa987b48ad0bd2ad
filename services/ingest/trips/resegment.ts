import { isDeepStrictEqual } from 'node:util';
import type { Database } from '@odograph/database/database';
import {
  type Checkpoint,
  deleteOldCheckpoints,
  findCheckpoint,
  isWorthKeeping,
  loadReadings,
  type NewCheckpoint,
  replaceCheckpoints,
} from './readings.ts';
import type { TripReading } from './segmentation/place.ts';
import { noReadings, openTrip, type SegmentState, takeReading } from './segmentation/segment-trips.ts';
import { type FoundTrip, replaceTrips } from './store-trips.ts';
import type { TouchedInterval } from './trip-work.ts';

export interface SegmentLimits {
  /** Readings segmented in one turn; the rest waits for the next. */
  readings: number;
  /** Earlier readings may have been dropped, so trips before it are not recomputed; null without retention. */
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

/** Finds the checkpoint from which to segment readings from a time on. */
async function findStart(
  db: Database,
  vehicleId: number,
  fromMicroseconds: number,
  horizon: number | null,
): Promise<Checkpoint | undefined> {
  const before = await findCheckpoint(db, vehicleId, 'before', fromMicroseconds);
  if (horizon === null || (before && before.timeMicroseconds >= horizon)) return before;
  return (
    (await findCheckpoint(db, vehicleId, 'after', horizon)) ?? (await findCheckpoint(db, vehicleId, 'before', afterAll))
  );
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

async function storeRun(
  db: Database,
  vehicleId: number,
  run: Run,
  end: RunEnd,
  [after, firstCheckpoint]: [afterMicroseconds: number, firstReplacedCheckpoint: number],
): Promise<void> {
  const until = end.kind === 'end' ? afterAll : run.cursor;
  const open = end.kind === 'end' || (end.kind === 'paused' && end.atHead);
  const replaced = { afterMicroseconds: after, untilMicroseconds: until, open };
  await replaceTrips(db, vehicleId, replaced, [...run.found, ...openTripOf(run, end)]);
  if (end.kind !== 'met') saveCheckpoint(run);
  const last = end.kind === 'met' ? until - 1 : until;
  const interval = { afterMicroseconds: firstCheckpoint - 1, untilMicroseconds: last };
  const checkpoints = run.checkpoints.filter(({ timeMicroseconds }) => timeMicroseconds <= last);
  await replaceCheckpoints(db, vehicleId, interval, checkpoints);
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

/** Segments from a checkpoint on and stores the result. @returns the remaining intervals and the readings used */
async function runFrom(
  db: Database,
  vehicleId: number,
  start: Checkpoint | undefined,
  touched: readonly TouchedInterval[],
  budget: number,
): Promise<{ rest: TouchedInterval[]; readings: number }> {
  const after = start?.timeMicroseconds ?? beforeAll;
  // The newest checkpoint is a marker of progress and is replaced, unless enough readings precede it.
  const isKept = start !== undefined && (!start.isNewest || isWorthKeeping(start.state, start.readings));
  const run: Run = {
    state: start?.state ?? noReadings(),
    cursor: after,
    readings: 0,
    sinceCheckpoint: isKept ? 0 : (start?.readings ?? 0),
    checkpoints: [],
    found: [],
  };
  const end = await continueRun(db, vehicleId, run, { budget, isAtHead: start?.isNewest ?? false });
  await storeRun(db, vehicleId, run, end, [after, isKept ? after + 1 : after]);
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
  for (let first = rest[0]; first && budget > 0; first = rest[0]) {
    const start = await findStart(db, vehicleId, first.fromMicroseconds, horizonMicroseconds);
    rest = reachingBeyond(rest, start?.timeMicroseconds ?? beforeAll);
    if (rest.length === 0) break;
    const run = await runFrom(db, vehicleId, start, rest, budget);
    rest = run.rest;
    budget -= Math.max(1, run.readings);
  }
  if (horizonMicroseconds !== null) await deleteOldCheckpoints(db, vehicleId, horizonMicroseconds);
  return rest;
}
