import type { Arrival } from './ledger.ts';

/** Readings that a device counted and recorded one after the other. */
export interface Run {
  readonly from: number;
  readonly until: number;
  readonly oldestMicroseconds: number;
  readonly newestMicroseconds: number;
}

/** What arrived as one run; undefined when a number is missing, repeated or out of order, or a time is unknown or older. */
export function runOf(arrivals: readonly Arrival[]): Run | undefined {
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
