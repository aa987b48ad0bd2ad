import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    faults?: FaultScale;
    /** Where figures are written, a JSON object a line. */
    faultReport?: string;
  }
}

/** How hard the suite tries; `npm run test:faults` runs the long version. */
export interface FaultScale {
  /** Makes the same random instants and victims again. */
  readonly seed: number;
  /** Kills of each kind: of one process by itself, and of everything at once. */
  readonly rounds: number;
  readonly devices: number;
  /** Rounds in which faults of every kind come together. */
  readonly chaosRounds: number;
  /** Devices that reconnect at once. */
  readonly stormDevices: number;
  /** Readings of the backlog that one device brings beside live ones. */
  readonly backlogReadings: number;
  /** How long an engine stays away. */
  readonly awayMs: number;
  /** Silent connections that a stranger opens, and the file descriptors of the process that it opens them to. */
  readonly strangerConnections: number;
  readonly strangerDescriptors: number;
  /** Whether faults that only show after a while (locks that expire) are waited for. */
  readonly patient: boolean;
}

const short: FaultScale = {
  seed: 1,
  rounds: 1,
  devices: 10,
  chaosRounds: 3,
  stormDevices: 200,
  backlogReadings: 5000,
  awayMs: 2000,
  strangerConnections: 1500,
  strangerDescriptors: 1024,
  patient: false,
};

/** The scale of this run: the short version, as part of all tests, unless another one was asked for. */
export const scale: FaultScale = inject('faults') ?? short;

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
