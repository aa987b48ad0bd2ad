import { isValueFault } from '@odograph/codec/shared/readings';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { groupBy, type UploadInProgress, uncheckedReadings } from '../pipeline/readings.ts';
import { arrayLiteral } from '../pipeline/sql-values.ts';

/** Returns the sequence of a reading that failed to decode, if that field is valid. */
function sequenceOf(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('sequence' in value)) return undefined;
  const { sequence } = value;
  return typeof sequence === 'number' && Number.isSafeInteger(sequence) && sequence >= 0 ? sequence : undefined;
}

/**
 * Quarantined readings arrived; they are not missing. Their time is ignored, since it may be the fault. An upload in
 * quarantine as a whole yields nothing.
 */
function quarantinedArrivals(inProgress: UploadInProgress): Arrival[] {
  const indexes = inProgress.faults.flatMap((fault) =>
    fault.index === null || isValueFault(fault) ? [] : [fault.index],
  );
  if (indexes.length === 0) return [];
  const elements = uncheckedReadings(inProgress.upload);
  return indexes.flatMap((index) => {
    const sequence = sequenceOf(elements[index]);
    return sequence === undefined ? [] : [{ sequence }];
  });
}

/** Groups the numbered readings of a batch by device. */
function arrivalsByDevice(uploads: readonly UploadInProgress[]): Map<string, Arrival[]> {
  const byDevice = new Map<string, Arrival[]>();
  for (const [deviceId, ofDevice] of groupBy(uploads, ({ upload }) => upload.deviceId)) {
    const arrivals = ofDevice.flatMap((inProgress) => {
      const stored = inProgress.readings.flatMap(({ timeMicroseconds, reading: { sequence } }) =>
        sequence === undefined ? [] : [{ sequence, timeMicroseconds }],
      );
      return [...stored, ...quarantinedArrivals(inProgress)];
    });
    if (arrivals.length > 0) byDevice.set(deviceId, arrivals);
  }
  return byDevice;
}

/** Readings with consecutive sequences in time order. */
interface Run {
  readonly from: number;
  readonly until: number;
  readonly oldestMicroseconds: number;
  readonly newestMicroseconds: number;
}

/** Returns arrivals as one run; undefined unless their sequences are consecutive and their times known and in order. */
function runOf(arrivals: readonly Arrival[]): Run | undefined {
  let run: Run | undefined;
  for (const { sequence, timeMicroseconds: time } of arrivals) {
    if (time === undefined) return undefined;
    if (run && (sequence !== run.until + 1 || time < run.newestMicroseconds)) return undefined;
    run = {
      from: run?.from ?? sequence,
      until: sequence,
      oldestMicroseconds: run?.oldestMicroseconds ?? time,
      newestMicroseconds: time,
    };
  }
  return run;
}

/** Readings that overtake each other open gaps that close at once; gaps closed sooner than this are not recorded. */
const recordedAfterMs = 10_000;

interface LedgerRow {
  device_id: string;
  started_us: number | null;
  newest_us: number | null;
  received: string;
  gaps: Gap[];
}

function toLedger({ started_us: started, newest_us: newest, received, gaps }: LedgerRow): Ledger {
  // The canonical form of a multirange is `{[from,until)}`.
  const ranges = [...received.matchAll(/\[(\d+),(\d+)\)/g)];
  return {
    ...(started !== null && { startedMicroseconds: started }),
    ...(newest !== null && { newestMicroseconds: newest }),
    received: ranges.map(([, from, until]) => [Number(from), Number(until) - 1]),
    gaps,
  };
}

/** Locks ledgers in the order of device ids, which rules out deadlocks between batches of the same devices. */
async function lockLedgers(db: Database, deviceIds: readonly string[]): Promise<Map<string, Ledger>> {
  const { rows } = await sql<LedgerRow>`
    select device_id, started_us, newest_us, received::text as received, gaps from device_sequence
    where device_id = any(${arrayLiteral(deviceIds)}::text[]) order by device_id for update`.execute(db);
  return new Map(rows.map((row) => [row.device_id, toLedger(row)]));
}

async function lockOrCreate(db: Database, deviceIds: readonly string[]): Promise<Map<string, Ledger>> {
  const ledgers = await lockLedgers(db, deviceIds);
  if (ledgers.size === deviceIds.length) return ledgers;
  const isNew = deviceIds.filter((deviceId) => !ledgers.has(deviceId));
  await sql`insert into device_sequence (device_id)
    select device.id from device where id = any(${arrayLiteral(isNew)}::text[]) order by device.id
    on conflict do nothing`.execute(db);
  return lockLedgers(db, deviceIds);
}

const multirange = (ranges: readonly Range[]) => `{${ranges.map(([from, until]) => `[${from},${until}]`).join(',')}}`;
const missing = (gaps: readonly Gap[]) => gaps.reduce((sum, { from, until }) => sum + (until - from + 1), 0);

async function updateLedgers(db: Database, changed: ReadonlyMap<string, Ledger>): Promise<void> {
  const ledgers = [...changed.values()];
  await sql`update device_sequence set started_us = new.started_us, newest_us = new.newest_us,
      received = new.received::int8multirange, gaps = new.gaps::jsonb,
      open_gaps = new.open_gaps, missing_readings = new.missing_readings
    from unnest(${arrayLiteral([...changed.keys()])}::text[],
      ${arrayLiteral(ledgers.map(({ startedMicroseconds }) => startedMicroseconds))}::bigint[],
      ${arrayLiteral(ledgers.map(({ newestMicroseconds }) => newestMicroseconds))}::bigint[],
      ${arrayLiteral(ledgers.map(({ received }) => multirange(received)))}::text[],
      ${arrayLiteral(ledgers.map(({ gaps }) => JSON.stringify(gaps)))}::text[],
      ${arrayLiteral(ledgers.map(({ gaps }) => gaps.length))}::integer[],
      ${arrayLiteral(ledgers.map(({ gaps }) => missing(gaps)))}::bigint[])
      as new (device_id, started_us, newest_us, received, gaps, open_gaps, missing_readings)
    where device_sequence.device_id = new.device_id`.execute(db);
}

async function recordClosed(db: Database, closed: readonly (ClosedGap & { deviceId: string })[], nowMs: number) {
  const recorded = closed.filter(({ sinceMs }) => nowMs - sinceMs >= recordedAfterMs);
  if (recorded.length === 0) return;
  await sql`insert into closed_gap (device_id, from_sequence, until_sequence, since, closed_at, outcome)
    select device_id, "from", until, to_timestamp(since_ms / 1000.0), to_timestamp(${nowMs} / 1000.0), outcome
    from unnest(${arrayLiteral(recorded.map(({ deviceId }) => deviceId))}::text[],
      ${arrayLiteral(recorded.map(({ from }) => from))}::bigint[],
      ${arrayLiteral(recorded.map(({ until }) => until))}::bigint[],
      ${arrayLiteral(recorded.map(({ sinceMs }) => sinceMs))}::bigint[],
      ${arrayLiteral(recorded.map(({ outcome }) => outcome))}::text[])
      as recorded (device_id, "from", until, since_ms, outcome)`.execute(db);
}

/**
 * Extends counts whose next sequences arrive in time order, as in nearly every batch. Gaps stay as they are.
 * @returns the devices whose count was extended
 */
async function continueCounts(db: Database, runs: ReadonlyMap<string, Run>): Promise<Set<string>> {
  if (runs.size === 0) return new Set();
  const incoming = [...runs].map(([deviceId, { from, until, oldestMicroseconds, newestMicroseconds }]) => ({
    ...{ device_id: deviceId, from_sequence: from, until_sequence: until },
    ...{ oldest_us: oldestMicroseconds, run_newest_us: newestMicroseconds },
  }));
  const { rows } = await sql<{ device_id: string }>`
    update device_sequence set newest_us = run.run_newest_us,
      received = received + int8multirange(int8range(run.from_sequence, run.until_sequence, '[]'))
    from jsonb_to_recordset(${JSON.stringify(incoming)}::jsonb) as run (device_id text,
      from_sequence bigint, until_sequence bigint, oldest_us bigint, run_newest_us bigint)
    where device_sequence.device_id = run.device_id
      and upper(received) = run.from_sequence and newest_us <= run.oldest_us
    returning device_sequence.device_id`.execute(db);
  return new Set(rows.map(({ device_id: deviceId }) => deviceId));
}

async function updateGaps(db: Database, arrivals: ReadonlyMap<string, Arrival[]>, nowMs: number): Promise<void> {
  const ledgers = await lockOrCreate(db, [...arrivals.keys()]);
  const changed = new Map<string, Ledger>();
  const closed: (ClosedGap & { deviceId: string })[] = [];
  // A deleted device has no ledger.
  for (const [deviceId, before] of ledgers) {
    const recorded = recordArrivals(before, arrivals.get(deviceId) ?? [], nowMs);
    const { newestMicroseconds, received } = recorded.ledger;
    const isSame =
      before.newestMicroseconds === newestMicroseconds && multirange(before.received) === multirange(received);
    if (!isSame) changed.set(deviceId, recorded.ledger);
    for (const gap of recorded.closed) closed.push({ ...gap, deviceId });
  }
  if (changed.size > 0) await updateLedgers(db, changed);
  await recordClosed(db, closed, nowMs);
}

/**
 * Updates the gap ledgers of a batch's devices. Call it in the transaction that stores the readings. One statement extends
 * uninterrupted counts, two update the others, and one records closed gaps.
 * @param uploads with the faults of quarantined readings
 */
export async function writeGaps(db: Database, uploads: readonly UploadInProgress[], nowMs: number): Promise<void> {
  const arrivals = arrivalsByDevice(uploads);
  const runs = new Map<string, Run>();
  for (const deviceId of [...arrivals.keys()].sort()) {
    const run = runOf(arrivals.get(deviceId) ?? []);
    if (run) runs.set(deviceId, run);
  }
  for (const deviceId of await continueCounts(db, runs)) arrivals.delete(deviceId);
  if (arrivals.size > 0) await updateGaps(db, arrivals, nowMs);
}

/** Integers from the first to the second, both included. */
type Range = readonly [from: number, until: number];

/** Sorts ranges and merges those that overlap or adjoin. */
function mergeRanges(ranges: readonly Range[]): Range[] {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
  const merged: Range[] = [];
  for (const [from, until] of sorted) {
    const last = merged.at(-1);
    if (last && from <= last[1] + 1) merged[merged.length - 1] = [last[0], Math.max(last[1], until)];
    else merged.push([from, until]);
  }
  return merged;
}

/** Returns the numbers between ranges. @param ranges as from mergeRanges */
function between(ranges: readonly Range[]): Range[] {
  return ranges.slice(1).map(([from], index) => [(ranges[index]?.[1] ?? from) + 1, from - 1]);
}

/** Subtracts ranges from a range. @param others as from mergeRanges */
function without([from, until]: Range, others: readonly Range[]): Range[] {
  const left: Range[] = [];
  let next = from;
  for (const [otherFrom, otherUntil] of others) {
    if (otherUntil < next) continue;
    if (otherFrom > until) break;
    if (otherFrom > next) left.push([next, otherFrom - 1]);
    next = otherUntil + 1;
  }
  if (next <= until) left.push([next, until]);
  return left;
}

/** A larger jump between two readings starts another count: no device loses that many readings, a reset one may. */
export const maxGap = 100_000;
/** Ranges stored for one device; beyond it the oldest gaps are closed as GIVEN_UP. */
export const maxRanges = 500;
/** A newer reading this far below the highest sequence starts a new count; a smaller step can be a clock set back. */
const restartDistance = 1000;

/** A reading that arrived, stored or in quarantine. */
export interface Arrival {
  readonly sequence: number;
  /** Device time; absent where it cannot be trusted. */
  readonly timeMicroseconds?: number;
}

/** Missing readings, both ends included. */
interface Gap {
  readonly from: number;
  readonly until: number;
  readonly sinceMs: number;
}

/** A gap, or part of one, that closed: it arrived, the device restarted its count, or the ledger reached its limit. */
interface ClosedGap extends Gap {
  readonly outcome: 'ARRIVED' | 'RESTARTED' | 'GIVEN_UP';
}

/** The current count of one device. */
export interface Ledger {
  /** Device time of the first reading of the count; absent for a device's first count. */
  readonly startedMicroseconds?: number;
  readonly newestMicroseconds?: number;
  /** Sequences that arrived, as from mergeRanges. */
  readonly received: readonly Range[];
  readonly gaps: readonly Gap[];
}

export const emptyLedger: Ledger = { received: [], gaps: [] };

interface Recorded {
  readonly ledger: Ledger;
  readonly closed: readonly ClosedGap[];
}

/** Replaces the received ranges and closes the gaps they cover; new gaps are open since `nowMs`. */
function receive(ledger: Ledger, received: Range[], outcome: ClosedGap['outcome'], nowMs: number): Recorded {
  const missing = between(received).filter(([from, until]) => until - from < maxGap);
  const gaps = missing.map(([from, until]) => {
    const known = ledger.gaps.find((gap) => gap.from <= from && until <= gap.until);
    return { from, until, sinceMs: known?.sinceMs ?? nowMs };
  });
  const closed = ledger.gaps.flatMap((gap) =>
    without([gap.from, gap.until], missing).map(([from, until]) => ({ ...gap, from, until, outcome })),
  );
  return { ledger: { ...ledger, received, gaps }, closed };
}

/** Adds sequences of the current count. */
function extend(ledger: Ledger, arrivals: readonly Arrival[], nowMs: number): Recorded {
  const received = mergeRanges([...ledger.received, ...arrivals.map(({ sequence }): Range => [sequence, sequence])]);
  const arrived = receive(ledger, received, 'ARRIVED', nowMs);
  const [oldest, lastDiscarded] = [received[0], received[received.length - maxRanges]];
  if (received.length <= maxRanges || !oldest || !lastDiscarded) return arrived;
  const bounded: Range[] = [[oldest[0], lastDiscarded[1]], ...received.slice(received.length - maxRanges + 1)];
  const limited = receive(arrived.ledger, bounded, 'GIVEN_UP', nowMs);
  return { ledger: limited.ledger, closed: [...arrived.closed, ...limited.closed] };
}

function isRestart(highest: number | undefined, newest: number | undefined, { sequence, timeMicroseconds }: Arrival) {
  if (highest === undefined || newest === undefined || timeMicroseconds === undefined) return false;
  if (timeMicroseconds <= newest || sequence > highest) return false;
  return sequence <= 1 || sequence < highest - restartDistance;
}

/** Splits arrivals into runs; each run after the first begins with a restart of the count. */
function splitAtRestarts(ledger: Ledger, arrivals: readonly Arrival[]): Arrival[][] {
  const sorted = [...arrivals].sort((a, b) => (a.timeMicroseconds ?? Infinity) - (b.timeMicroseconds ?? Infinity) || 0);
  let highest = ledger.received.at(-1)?.[1];
  let newest = ledger.newestMicroseconds;
  let run: Arrival[] = [];
  const runs = [run];
  for (const arrival of sorted) {
    if (isRestart(highest, newest, arrival)) {
      run = [];
      runs.push(run);
      highest = undefined;
    }
    run.push(arrival);
    highest = Math.max(highest ?? 0, arrival.sequence);
    newest = latest(newest, arrival.timeMicroseconds);
  }
  return runs;
}

function latest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.max(a, b);
}

function recordRun(ledger: Ledger, run: readonly Arrival[], nowMs: number): Recorded {
  const started = ledger.startedMicroseconds ?? Number.NEGATIVE_INFINITY;
  const ofCount = run.filter(({ timeMicroseconds = Infinity }) => timeMicroseconds >= started);
  const newest = ofCount.map(({ timeMicroseconds }) => timeMicroseconds).reduce(latest, ledger.newestMicroseconds);
  const { ledger: extended, closed } = extend(ledger, ofCount, nowMs);
  return { ledger: { ...extended, ...(newest !== undefined && { newestMicroseconds: newest }) }, closed };
}

/**
 * Adds arrivals to a ledger (docs/device-protocol.md, "Missing readings"). Within a count, open gaps depend only on the set
 * of readings that arrived, not on their order or repetition. A reading newer than all others whose sequence is 0, 1 or far
 * below the highest starts a new count; missing readings of the previous count can then no longer be identified.
 */
export function recordArrivals(ledger: Ledger, arrivals: readonly Arrival[], nowMs: number): Recorded {
  const [first = [], ...restarts] = splitAtRestarts(ledger, arrivals);
  let recorded = recordRun(ledger, first, nowMs);
  for (const run of restarts) {
    const startedMicroseconds = run[0]?.timeMicroseconds ?? 0;
    const lost = recorded.ledger.gaps.map((gap) => ({ ...gap, outcome: 'RESTARTED' as const }));
    const next = recordRun({ ...emptyLedger, startedMicroseconds }, run, nowMs);
    recorded = { ledger: next.ledger, closed: [...recorded.closed, ...lost, ...next.closed] };
  }
  return recorded;
}
