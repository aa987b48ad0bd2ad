import { inject } from 'vitest';

const mode = (import.meta as { env?: { MODE?: string } }).env?.MODE;

/** True in the full-length fault suite and in `vitest run --mode long`: more runs, and a random seed. */
const isLong = mode === 'long' || inject('faults' as never) !== undefined;

/** Chooses the number of runs: few in a short test run, many in a long one. */
export function runs(short: number, long: number): number {
  return isLong ? long : short;
}

/** Seed of the generators, fixed in short runs. A failure names it, so that the run can be repeated. */
export const seed = isLong ? Date.now() % 2 ** 31 : 20_260_101;
