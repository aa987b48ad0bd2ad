import type { Caller } from '@odograph/contracts/caller';
import type { CommandState, DeviceAction } from '@odograph/contracts/commands';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { accessibleTo, parseVehicleId, requirePermission, type VehicleAct } from '@odograph/database/vehicle-access';
import { sql } from 'kysely';

/** Causes of COMMUNICATION_FAILED: its `reason`, with a message for people. */
export const causes = {
  VEHICLE_ARCHIVED: 'the vehicle is archived',
  NO_DEVICE: 'the vehicle has no device',
  ACTION_NOT_SUPPORTED: 'the device does not support this action',
  DEVICE_OFFLINE: 'the device is not connected',
  PLATFORM_UNAVAILABLE: 'the platform cannot reach devices now',
  NO_ACKNOWLEDGEMENT: 'the device did not answer in time; whether it acted is unknown',
  UNKNOWN_ANSWER: 'the device sent an answer that its model does not define; whether it acted is unknown',
  REFUSED: 'the device refused',
  VEHICLE_BUSY: 'the vehicle was busy with another command',
  VEHICLE_MOVING: 'the vehicle is driving',
} as const;
export type Cause = keyof typeof causes;

/** The failure of a remote action; `message` replaces the default one. */
export function unreachable(cause: Cause, message?: string, options?: ErrorOptions): Failure {
  return new Failure('COMMUNICATION_FAILED', message || causes[cause], { reason: cause }, options);
}

/** One route of the interface specification, "Remote vehicle actions". */
export interface RemoteAction {
  /** Below `/v1/vehicle/`. */
  readonly path: string;
  readonly summary: string;
  readonly action: DeviceAction;
  /** The two values of `Status`; the first is the one that the action achieves. */
  readonly statuses?: readonly [achieved: string, opposite: string];
  /** The body of success: the Status, `{}`, or none at all. */
  readonly answer: 'status' | 'object' | 'nothing';
}

/** Every remote action: the one table behind the routes, their schemas and their answers. */
export const remoteActions: readonly RemoteAction[] = [
  { path: 'lock', summary: 'Lock the doors', action: 'LOCK', statuses: ['CLOSED', 'OPEN'], answer: 'status' },
  { path: 'unlock', summary: 'Unlock the doors', action: 'UNLOCK', statuses: ['OPEN', 'CLOSED'], answer: 'status' },
  {
    path: 'immobilize',
    summary: 'Prevent startup; refused while the vehicle drives',
    action: 'IMMOBILIZE',
    statuses: ['LOCKED', 'UNLOCKED'],
    answer: 'status',
  },
  { path: 'start', summary: 'Allow startup', action: 'START', statuses: ['UNLOCKED', 'LOCKED'], answer: 'status' },
  { path: 'honk', summary: 'Sound the horn', action: 'HONK', answer: 'nothing' },
  { path: 'lights/on', summary: 'Flash the turning lights', action: 'TURNING-LIGHTS', answer: 'object' },
  { path: 'trunk/unlock', summary: 'Unlock the trunk', action: 'UNLOCK-TRUNK', answer: 'object' },
  { path: 'windows/open', summary: 'Open the windows', action: 'OPEN-WINDOWS', answer: 'object' },
  { path: 'windows/close', summary: 'Close the windows', action: 'CLOSE-WINDOWS', answer: 'object' },
];

/** The words of GET /v1/vehicle/actions, each with the device actions that it needs. */
export const actionWords: Readonly<Record<string, readonly DeviceAction[]>> = {
  IMMOBILIZE: ['IMMOBILIZE', 'START'],
  'CENTRAL-LOCK': ['LOCK', 'UNLOCK'],
  HONK: ['HONK'],
  'TURNING-LIGHTS': ['TURNING-LIGHTS'],
  'UNLOCK-TRUNK': ['UNLOCK-TRUNK'],
  'CLOSE-WINDOWS': ['CLOSE-WINDOWS'],
  'OPEN-WINDOWS': ['OPEN-WINDOWS'],
};

/** Maps the device actions that a model supports to the words of GET /v1/vehicle/actions. */
export function availableActions(supported: readonly string[]): string[] {
  return Object.keys(actionWords).filter((word) => actionWords[word]?.every((action) => supported.includes(action)));
}

/** Chooses the `Status` to answer: the reported one when it is documented, else the one that the action achieves. */
export function statusOf(statuses: readonly [string, string], reported: string | undefined): string {
  return reported !== undefined && statuses.includes(reported) ? reported : statuses[0];
}

/** A remote action as a client requests it. */
export interface CommandRequest {
  readonly caller: Caller;
  /** Network address of the client. */
  readonly address: string;
  /** As the client wrote it. */
  readonly vehicleId: string;
  readonly action: DeviceAction;
  readonly idempotencyKey: string | undefined;
}

/** Speeds above this are driving, in km/h. */
const drivingAboveKmh = 5;

/** The latest reported values that show whether a vehicle is driving; absent when never reported. */
export interface LastReported {
  readonly ignition?: boolean;
  /** `engine` of the fleet group. */
  readonly engine?: string;
  readonly movement?: boolean;
  /** Of the ignition and the movement. */
  readonly statusTimeMs?: number;
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
 * Tests whether a vehicle reports movement while its speed is uncertain: the latest position is private or has no speed, as
 * in a tunnel, and no later report has one; or `fleet`, which keeps its speed when it is reported without one, is newer than
 * the position.
 */
function isMovingAtUncertainSpeed(reported: LastReported): boolean {
  const { movement = false, statusTimeMs = 0, locationSpeedKmh, locationTimeMs = 0 } = reported;
  const { fleetSpeedKmh, fleetTimeMs = 0 } = reported;
  if (locationSpeedKmh !== undefined) return movement && locationSpeedKmh > drivingAboveKmh;
  return movement && (fleetSpeedKmh === undefined || fleetTimeMs < Math.max(locationTimeMs, statusTimeMs));
}

/**
 * Tests whether a vehicle is driving by its latest reported values: ignition not off and speed above 5 km/h, or movement
 * while the speed is uncertain.
 *
 * Values count however old they are: silence does not mean that the vehicle is parked. Of two speeds the newer counts, or
 * the higher when both have the same time. `engine` ON counts even if the ignition is off: after a device was
 * replaced, the latest state may still hold the ignition of the old one. If neither ignition nor engine was ever
 * reported, the ignition counts as on, because some devices report neither.
 */
export function isDriving(reported: LastReported): boolean {
  const isOn = reported.engine === 'ON' || (reported.ignition ?? reported.engine !== 'OFF');
  return isOn && (isMovingAtUncertainSpeed(reported) || lastSpeedKmh(reported) > drivingAboveKmh);
}

/** The device of a command. */
export interface TargetDevice {
  readonly id: string;
  /** Of its model; empty behind a source that takes no commands. */
  readonly actions: readonly string[];
  /** Whether it has no session here: only the system behind the source knows whether it is connected. */
  readonly isBehindSource: boolean;
}

/** The vehicle of a command, with its device and latest reported values. */
export interface Target {
  readonly vehicleId: number;
  readonly archived: boolean;
  /** The device that is linked now, with the actions of its model. */
  readonly device?: TargetDevice;
  readonly reported: LastReported;
}

interface TargetRow {
  id: number;
  archived: boolean;
  permitted: boolean;
  device_id: string | null;
  actions: string[] | null;
  protocol: string | null;
  takes_commands: boolean;
  ignition: unknown;
  engine: unknown;
  movement: unknown;
  status_time: Date | null;
  location_speed: unknown;
  location_time: Date | null;
  fleet_speed: unknown;
  fleet_time: Date | null;
}

function toReported(row: TargetRow): LastReported {
  return {
    ...(typeof row.ignition === 'boolean' ? { ignition: row.ignition } : {}),
    ...(typeof row.engine === 'string' ? { engine: row.engine } : {}),
    ...(typeof row.movement === 'boolean' ? { movement: row.movement } : {}),
    ...(row.status_time === null ? {} : { statusTimeMs: row.status_time.getTime() }),
    ...(typeof row.location_speed === 'number' ? { locationSpeedKmh: row.location_speed } : {}),
    ...(row.location_time === null ? {} : { locationTimeMs: row.location_time.getTime() }),
    ...(typeof row.fleet_speed === 'number' ? { fleetSpeedKmh: row.fleet_speed } : {}),
    ...(row.fleet_time === null ? {} : { fleetTimeMs: row.fleet_time.getTime() }),
  };
}

/**
 * Finds a vehicle with the device that is linked to it now and the state that it last reported, in one statement.
 * @throws Failure UNKNOWN_VEHICLE if it is missing, deleted or hidden from the caller; UNAUTHORIZED if the role of the
 *   caller does not permit the act
 */
export async function findTarget(db: Database, caller: Caller, id: string, act: VehicleAct): Promise<Target> {
  const number = parseVehicleId(id);
  if (number === undefined) throw new Failure('UNKNOWN_VEHICLE');
  const { rows } = await sql<TargetRow>`
    select vehicle.id, vehicle.archived_at is not null as archived, ${accessibleTo(caller, act)} as permitted,
      device.id as device_id, model.actions, model.protocol,
      exists (select from source where source.application_id = device.application_id and source.format = 'flespi'
        and source.takes_commands) as takes_commands,
      latest.status -> 'ignition' as ignition, latest.fleet -> 'engine' as engine,
      latest.status -> 'movement' as movement, latest.status_time,
      latest.location -> 'speed' as location_speed, latest.location_time,
      latest.fleet -> 'speed' as fleet_speed, latest.fleet_time
    from vehicle
    left join device_link link on link.vehicle_id = vehicle.id and link.period @> clock_timestamp()
    left join device on device.id = link.device_id
    left join device_model model on model.id = device.model_id
    left join vehicle_latest latest on latest.vehicle_id = vehicle.id
    where vehicle.id = ${number} and ${accessibleTo(caller)}`.execute(db);
  const row = rows[0];
  if (!row) throw new Failure('UNKNOWN_VEHICLE');
  requirePermission(row.permitted);
  const { device_id: deviceId, actions } = row;
  const isBehindSource = row.protocol === 'source';
  return {
    vehicleId: row.id,
    archived: row.archived,
    reported: toReported(row),
    ...(deviceId === null
      ? {}
      : {
          device: {
            id: deviceId,
            actions: isBehindSource && !row.takes_commands ? [] : (actions ?? []),
            isBehindSource,
          },
        }),
  };
}

/**
 * Checks the rules of an action and returns the device that will carry it out.
 * @throws Failure COMMUNICATION_FAILED with VEHICLE_ARCHIVED, NO_DEVICE, ACTION_NOT_SUPPORTED or VEHICLE_MOVING
 */
export function requireDevice(target: Target, action: DeviceAction): TargetDevice {
  if (target.archived) throw unreachable('VEHICLE_ARCHIVED');
  if (!target.device) throw unreachable('NO_DEVICE');
  if (!target.device.actions.includes(action)) throw unreachable('ACTION_NOT_SUPPORTED');
  if (action === 'IMMOBILIZE' && isDriving(target.reported)) throw unreachable('VEHICLE_MOVING');
  return target.device;
}

/** The state of a command and the device's report, which decide the answer. */
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
 * Requires that a command was acknowledged.
 * @throws Failure COMMUNICATION_FAILED for any other end, with the device's reason if there is one
 */
export function requireAcknowledged(outcome: Outcome): void {
  if (outcome.state === 'acknowledged') return;
  if (outcome.state === 'refused') throw unreachable('REFUSED', outcome.reason);
  if (outcome.cause === 'UNKNOWN_ANSWER') throw unreachable('UNKNOWN_ANSWER', describeAnswer(outcome.reason));
  const defaultCode = outcome.state === 'expired' ? 'VEHICLE_BUSY' : 'NO_ACKNOWLEDGEMENT';
  throw unreachable(outcome.cause !== undefined && isCause(outcome.cause) ? outcome.cause : defaultCode);
}

const describeAnswer = (text = '') => `the device answered "${text}"; whether it acted is unknown`;

function isCause(word: string): word is Cause {
  return Object.hasOwn(causes, word);
}
