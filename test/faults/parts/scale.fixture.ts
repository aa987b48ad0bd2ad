import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    faults?: FaultScale;
    /** File for the figures, one JSON object per line. */
    faultReport?: string;
  }
}

/** The length of the suite; `npm run test:faults` runs the long version. */
export interface FaultScale {
  /** Repeats the same random times and victims. */
  readonly seed: number;
  /** Kills of each kind: of single processes, and of all at once. */
  readonly rounds: number;
  readonly devices: number;
  /** Between two uploads of a device. */
  readonly uploadPauseMs: number;
  /** Rounds of overlapping faults. */
  readonly chaosRounds: number;
  /** Devices that reconnect at once. */
  readonly stormDevices: number;
  /** Readings in the backlog of one device, uploaded next to live devices. */
  readonly backlogReadings: number;
  /** How long an engine stays down. */
  readonly awayMs: number;
  /** Silent connections of an unauthenticated client, and the limit of file descriptors of the process. */
  readonly strangerConnections: number;
  readonly strangerDescriptors: number;
  /** How long faults are injected into an installation of several processes. */
  readonly installationMs: number;
  /** Whether to wait for faults that need time, such as locks that expire. */
  readonly isFullLength: boolean;
}

const short: FaultScale = {
  seed: 1,
  rounds: 1,
  devices: 10,
  uploadPauseMs: 250,
  chaosRounds: 3,
  stormDevices: 200,
  backlogReadings: 5000,
  awayMs: 2000,
  strangerConnections: 1500,
  strangerDescriptors: 1024,
  installationMs: 0,
  isFullLength: false,
};

/** The scale of this run: that of `npm run test:faults`, otherwise the short one. */
export const scale: FaultScale = inject('faults') ?? short;
