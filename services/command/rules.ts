import type { Caller } from '@odograph/contracts/caller';
import type { CommandState, DeviceAction } from '@odograph/contracts/commands';
import { Failure } from '@odograph/contracts/failures';

/** Why a vehicle could not be reached: the `reason` of COMMUNICATION_FAILED, with a sentence for people. */
export const causes = {
  VEHICLE_ARCHIVED: 'the vehicle is archived',
  NO_DEVICE: 'the vehicle has no device',
  ACTION_NOT_SUPPORTED: 'the device does not support this action',
  DEVICE_OFFLINE: 'the device is not connected',
  PLATFORM_UNAVAILABLE: 'the platform cannot reach devices now',
  NO_ACKNOWLEDGEMENT: 'the device did not answer in time; whether it acted is unknown',
  REFUSED: 'the device refused',
  VEHICLE_BUSY: 'the vehicle was busy with another command',
  VEHICLE_MOVING: 'the vehicle drives',
} as const;
export type Cause = keyof typeof causes;

/** The failure of a remote action; `message` replaces the standard sentence. */
export function unreachable(cause: Cause, message?: string, options?: ErrorOptions): Failure {
  return new Failure('COMMUNICATION_FAILED', message || causes[cause], { reason: cause }, options);
}

/** What a client asks for. */
export interface Order {
  readonly caller: Caller;
  /** The network address of the client. */
  readonly address: string;
  /** As the client wrote it. */
  readonly vehicleId: string;
  readonly action: DeviceAction;
  readonly idempotencyKey: string | undefined;
}

/** Speeds above this are driving, in km/h. */
const drivingAboveKmh = 5;

/** The last that the vehicle reported of its driving; undefined where it never did. */
export interface LastReported {
  readonly ignition?: boolean;
  /** `engine` of the fleet group. */
  readonly engine?: string;
  readonly locationSpeedKmh?: number;
  readonly locationTimeMs?: number;
  readonly fleetSpeedKmh?: number;
  readonly fleetTimeMs?: number;
}

function lastSpeedKmh(reported: LastReported): number {
  const { locationSpeedKmh, fleetSpeedKmh, locationTimeMs = 0, fleetTimeMs = 0 } = reported;
  if (locationSpeedKmh === undefined || fleetSpeedKmh === undefined) return locationSpeedKmh ?? fleetSpeedKmh ?? 0;
  if (locationTimeMs === fleetTimeMs) return Math.max(locationSpeedKmh, fleetSpeedKmh);
  return locationTimeMs > fleetTimeMs ? locationSpeedKmh : fleetSpeedKmh;
}

/**
 * Whether the last that was reported says that the vehicle drives: ignition on and speed above 5 km/h.
 *
 * Each group of fields counts with the latest of it, however old: silence is no sign of standing still. Of two speeds
 * the newer counts, of the same time the higher. A device that never tells the ignition says it by `engine`.
 */
export function isDriving(reported: LastReported): boolean {
  const ignition = reported.ignition ?? reported.engine === 'ON';
  return ignition && lastSpeedKmh(reported) > drivingAboveKmh;
}

/** A vehicle as a command finds it. */
export interface Target {
  readonly vehicleId: number;
  readonly archived: boolean;
  /** The device that is linked now. */
  readonly device?: { readonly id: string; readonly actions: readonly string[] };
  readonly reported: LastReported;
}

/**
 * The device that may be asked for this action.
 * @throws Failure COMMUNICATION_FAILED with VEHICLE_ARCHIVED, NO_DEVICE, ACTION_NOT_SUPPORTED or VEHICLE_MOVING
 */
export function deviceFor(target: Target, action: DeviceAction): string {
  if (target.archived) throw unreachable('VEHICLE_ARCHIVED');
  if (!target.device) throw unreachable('NO_DEVICE');
  if (!target.device.actions.includes(action)) throw unreachable('ACTION_NOT_SUPPORTED');
  if (action === 'IMMOBILIZE' && isDriving(target.reported)) throw unreachable('VEHICLE_MOVING');
  return target.device.id;
}

/** What of a command decides its answer. */
export interface Outcome {
  readonly state: CommandState;
  readonly cause?: string;
  /** As the device reported them. */
  readonly status?: string;
  readonly reason?: string;
}

export function hasEnded({ state }: Outcome): boolean {
  return state !== 'pending' && state !== 'sent';
}

/**
 * Passes for an acknowledged command.
 * @throws Failure COMMUNICATION_FAILED for one that ended in any other way, with the device's reason where it gave one
 */
export function requireAcknowledged(outcome: Outcome): void {
  if (outcome.state === 'acknowledged') return;
  if (outcome.state === 'refused') throw unreachable('REFUSED', outcome.reason);
  const standard = outcome.state === 'expired' ? 'VEHICLE_BUSY' : 'NO_ACKNOWLEDGEMENT';
  throw unreachable(outcome.cause !== undefined && isCause(outcome.cause) ? outcome.cause : standard);
}

function isCause(word: string): word is Cause {
  return Object.hasOwn(causes, word);
}
