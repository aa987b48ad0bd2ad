/** Integers from the first to the second, both included. */
export type Range = readonly [from: number, until: number];

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
export interface Gap {
  readonly from: number;
  readonly until: number;
  readonly sinceMs: number;
}

/** A gap, or part of one, that closed: it arrived, the device restarted its count, or the ledger reached its limit. */
export interface ClosedGap extends Gap {
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
