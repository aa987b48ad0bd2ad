/** Whole numbers from the first to the second, both included. */
export type Range = readonly [from: number, until: number];

/** Sorted ranges that neither overlap nor touch, of ranges in any order. */
export function normalize(ranges: readonly Range[]): Range[] {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
  const normal: Range[] = [];
  for (const [from, until] of sorted) {
    const last = normal.at(-1);
    if (last && from <= last[1] + 1) normal[normal.length - 1] = [last[0], Math.max(last[1], until)];
    else normal.push([from, until]);
  }
  return normal;
}

/** What lies between the ranges. @param ranges normal */
export function between(ranges: readonly Range[]): Range[] {
  return ranges.slice(1).map(([from], index) => [(ranges[index]?.[1] ?? from) + 1, from - 1]);
}

/** The parts of a range that none of the others covers. @param others normal */
export function without([from, until]: Range, others: readonly Range[]): Range[] {
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

/**
 * More numbers than this between two readings are no gap but another count: no device loses so many and goes on, while one
 * that is reset or replaced begins anywhere.
 */
export const largestGap = 100_000;
/** Ranges kept of one device; beyond them its oldest gaps are given up. */
export const mostRanges = 500;
/** A later reading this far below the highest sequence is of a new count; clocks that step back explain smaller steps. */
const restartDistance = 1000;

/** One reading that arrived, stored or in quarantine. */
export interface Arrival {
  readonly sequence: number;
  /** Device time; absent where it cannot be trusted. */
  readonly timeMicroseconds?: number;
}

/** Readings that are missing, both ends included. */
export interface Gap {
  readonly from: number;
  readonly until: number;
  readonly sinceMs: number;
}

/** A gap, or a part of one, that is no longer open: it arrived, the device began to count anew, or it is too old to keep. */
export interface ClosedGap extends Gap {
  readonly outcome: 'ARRIVED' | 'RESTARTED' | 'GIVEN_UP';
}

/** What is known of the count that is under way at one device. */
export interface Ledger {
  /** Device time of the first reading of the count; absent for the first count of all. */
  readonly startedMicroseconds?: number;
  readonly newestMicroseconds?: number;
  /** Sequences that arrived, normal. */
  readonly received: readonly Range[];
  readonly gaps: readonly Gap[];
}

export const emptyLedger: Ledger = { received: [], gaps: [] };

export interface Recorded {
  readonly ledger: Ledger;
  readonly closed: readonly ClosedGap[];
}

/** Replaces what was received by more, and tells which gaps that closes; those that it opens are open since `nowMs`. */
function receive(ledger: Ledger, received: Range[], outcome: ClosedGap['outcome'], nowMs: number): Recorded {
  const missing = between(received).filter(([from, until]) => until - from < largestGap);
  const gaps = missing.map(([from, until]) => {
    const known = ledger.gaps.find((gap) => gap.from <= from && until <= gap.until);
    return { from, until, sinceMs: known?.sinceMs ?? nowMs };
  });
  const closed = ledger.gaps.flatMap((gap) =>
    without([gap.from, gap.until], missing).map(([from, until]) => ({ ...gap, from, until, outcome })),
  );
  return { ledger: { ...ledger, received, gaps }, closed };
}

/** Adds sequences of the count under way. */
function extend(ledger: Ledger, sequences: readonly number[], nowMs: number): Recorded {
  const received = normalize([...ledger.received, ...sequences.map((sequence): Range => [sequence, sequence])]);
  const arrived = receive(ledger, received, 'ARRIVED', nowMs);
  const [oldest, lastGivenUp] = [received[0], received[received.length - mostRanges]];
  if (received.length <= mostRanges || !oldest || !lastGivenUp) return arrived;
  const bounded: Range[] = [[oldest[0], lastGivenUp[1]], ...received.slice(received.length - mostRanges + 1)];
  const given = receive(arrived.ledger, bounded, 'GIVEN_UP', nowMs);
  return { ledger: given.ledger, closed: [...arrived.closed, ...given.closed] };
}

function isRestart(highest: number | undefined, newest: number | undefined, { sequence, timeMicroseconds }: Arrival) {
  if (highest === undefined || newest === undefined || timeMicroseconds === undefined) return false;
  if (timeMicroseconds <= newest || sequence > highest) return false;
  return sequence <= 1 || sequence < highest - restartDistance;
}

/** Arrivals in runs, at the first reading of each of which but the first the device began to count anew. */
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
  const ofThisCount = run.filter(({ timeMicroseconds = Infinity }) => timeMicroseconds >= started);
  const newest = ofThisCount.map(({ timeMicroseconds }) => timeMicroseconds).reduce(latest, ledger.newestMicroseconds);
  const recorded = extend(
    ledger,
    ofThisCount.map(({ sequence }) => sequence),
    nowMs,
  );
  return {
    ledger: { ...recorded.ledger, ...(newest !== undefined && { newestMicroseconds: newest }) },
    closed: recorded.closed,
  };
}

/**
 * What is known of a device after these arrivals. While a device counts on, the open gaps depend only on which readings
 * arrived: neither on their order nor on repetitions. A reading that is newer than all before it and whose sequence is 0,
 * 1 or far below the highest begins a new count: what was missing of the old one can no longer be told from it.
 * (docs/device-protocol.md, "Missing readings")
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
