import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { inject } from 'vitest';

const mode = (import.meta as { env?: { MODE?: string } }).env?.MODE;

/** True in the full-length fault suite and in `vitest run --mode long`: more runs, and a random seed. */
const isLong = mode === 'long' || inject('faults' as never) !== undefined;

/** Chooses the number of runs: few in a short test run, many in a long one. */
export function runs(short: number, long: number): number {
  return isLong ? long : short;
}

/**
 * Checks a property with ever other inputs for some seconds, in rounds: between them the worker can report, and the machine
 * collect garbage.
 */
export async function checkFor<Inputs>(seconds: number, property: fc.IProperty<Inputs>): Promise<void> {
  const start = performance.now();
  do {
    rounds += 1;
    fc.assert(property, { numRuns: runsPerRound, seed: seed + rounds });
    await turn();
  } while (performance.now() - start < 1000 * seconds);
}

const runsPerRound = 20;
let rounds = 0;

/** Seed of the generators, fixed in short runs. A failure names it, so that the run can be repeated. */
export const seed = isLong ? Date.now() % 2 ** 31 : 20_260_101;
