import { inject } from 'vitest';

const mode = (import.meta as { env?: { MODE?: string } }).env?.MODE;

/** True in the long fault suite and in `vitest run --mode long`: more of everything, and another seed each time. */
const isLong = mode === 'long' || inject('faults' as never) !== undefined;

/** How often something is tried: a little in every test run, much more in a long one. */
export function runs(short: number, long: number): number {
  return isLong ? long : short;
}

/** Where the random begins: the same in every short run. A failure names it, so that it can be repeated. */
export const seed = isLong ? Date.now() % 2 ** 31 : 20_260_101;
