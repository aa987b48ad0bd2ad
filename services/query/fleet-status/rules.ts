import { Failure } from '@odograph/contracts/failures';
import type { AlarmsGroup, ElectricGroup, FleetGroup, StatusGroup } from '@odograph/contracts/telemetry';
import { isoMicroseconds, type Microseconds, parseTimestamp } from '@odograph/contracts/timestamps';
import type { Static } from 'typebox';
import type { DynamicState } from '../schemas.ts';
import type { FleetStatus } from './schemas.ts';

export interface KnownPosition {
  readonly latitude: number;
  readonly longitude: number;
  readonly time: Microseconds;
}

/** The groups of the latest state of a vehicle, its device model, and what people set. */
export interface FleetFacts {
  readonly fleet: Static<typeof FleetGroup>;
  readonly alarms: Static<typeof AlarmsGroup>;
  readonly status: Static<typeof StatusGroup>;
  readonly electric: Static<typeof ElectricGroup>;
  /** The group `fleet` was reported later than `status`, or with it. */
  readonly fleetIsNewer: boolean;
  /** km/h, from the group that reported it last. */
  readonly speed: number | undefined;
  readonly position: KnownPosition | undefined;
  readonly privacy: boolean;
  /** The scenarii that the device model monitors, each with the action that the device takes. */
  readonly scenarii: Readonly<Record<string, string>>;
  readonly authorizations: FleetStatus['authorizations'];
  readonly lastMessage: Date;
  readonly state: DynamicState;
}

/** Writes ISO 8601 UTC to the millisecond, or to the microsecond where the device time has any. */
function isoText(moment: Microseconds): string {
  return isoMicroseconds(moment).replace(/000Z$/, 'Z');
}

/** Parses UNIX seconds, milliseconds or ISO 8601; 0 and anything else mean unknown. */
function chargingEnd(value: number | string | undefined): string {
  if (value === undefined || value === 0) return '';
  try {
    return isoText(parseTimestamp('ChargingUntil', String(value)));
  } catch (error) {
    if (error instanceof Failure) return '';
    throw error;
  }
}

/** Writes a position. */
export function positionAnswer({ latitude, longitude, time }: KnownPosition) {
  return { latitude, longitude, timestamp: isoText(time) };
}

/** Writes the state flags with the names of the fleet flavor. */
export function fleetState(state: DynamicState): FleetStatus['state'] {
  const { towing, accident, maintenance, breakdown, stolen, unavailable } = state;
  return {
    Towing: towing,
    Accident: accident,
    Maintenance: maintenance,
    Breakdown: breakdown,
    Stolen: stolen,
    Unavailable: unavailable,
  };
}

function scenario({ scenarii }: FleetFacts, name: string, alarm: boolean | undefined) {
  const action = scenarii[name];
  const available = action !== undefined;
  return { available, active: available, action: action ?? '', triggered: alarm ?? false };
}

function engineOf({ fleet, status }: FleetFacts): string {
  if (fleet.engine !== undefined) return fleet.engine;
  return status.ignition === undefined ? '' : status.ignition ? 'ON' : 'OFF';
}

function mileageOf({ fleet, status, fleetIsNewer }: FleetFacts): number {
  const [newer, older] = fleetIsNewer ? [fleet.mileage, status.mileage] : [status.mileage, fleet.mileage];
  return newer ?? older ?? 0;
}

/**
 * Composes the fleet vehicle status record (interface specification, "Fleet management records"). Fields that the device
 * does not report in the group `fleet` are taken from its other groups; unknown ones are empty (general convention 4).
 */
export function fleetStatus(facts: FleetFacts): FleetStatus {
  const { fleet, alarms, position } = facts;
  const { lock = '', immobilizer = '', handbrake = '', lights = '', doors = '', windows = '' } = fleet;
  const { bluetooth = '', authenticated = false, fuel = 0, fuelRange = 0 } = fleet;
  const { chargingAdapterStatus = '', ChargingStatus = '', cardholder = [], vehicleKey = false } = fleet;
  return {
    ...{ lock, engine: engineOf(facts), immobilizer, handbrake, lights, doors, windows },
    speed: facts.speed ?? 0,
    bluetooth,
    ...(bluetooth === 'CONNECTED' && { authenticated }),
    mileage: mileageOf(facts),
    ...{ fuel, fuelRange, chargingAdapterStatus, ChargingStatus },
    ChargingUntil: chargingEnd(fleet.ChargingUntil),
    ChargeLevel: fleet.ChargeLevel ?? facts.electric.soc ?? 0,
    RemainingRange: fleet.RemainingRange ?? facts.status.autonomy ?? 0,
    privacy: facts.privacy,
    ...(position && { position: positionAnswer(position) }),
    authorizations: facts.authorizations,
    scenarii: {
      gps_jamming: scenario(facts, 'gps_jamming', alarms.gps_jamming),
      gnss_jamming: scenario(facts, 'gnss_jamming', alarms.gnss_jamming),
      towing_detection: scenario(facts, 'towing_detection', alarms.towing),
      crash_detection: scenario(facts, 'crash_detection', alarms.crash),
    },
    cardholder: cardholder.map(({ id, statut }) => ({ id, statut })),
    vehicleKey,
    lastMessage: facts.lastMessage.toISOString(),
    state: fleetState(facts.state),
  };
}
