import { greatCircleMetres } from '@odograph/contracts/great-circle';
import type { PlacedReading } from './place-readings.ts';

/** Metres that a vehicle may be found away from where it was parked before it counts as towed. */
const towingMetres = 200;

export interface Position {
  latitude: number;
  longitude: number;
}

/** Where a vehicle stands with the ignition off, since when; no location while it runs. Microseconds since the epoch. */
export interface Parked {
  location: Position | null;
  sinceMicroseconds: number;
}

/** A state flag to raise, with the device time of the reading that tells. */
export interface RaisedState {
  vehicleId: number;
  applicationId: number;
  flag: 'towing' | 'accident';
  raisedBy: 'device' | 'platform';
  timeMicroseconds: number;
}

function metresBetween(from: Position, to: Position): number {
  return greatCircleMetres(from.latitude, from.longitude, to.latitude, to.longitude);
}

/** The flags that devices' own alarms raise. An alarm that is over lowers nothing: a person does. */
export function statesFromAlarms(readings: readonly PlacedReading[]): RaisedState[] {
  return readings.flatMap(({ vehicleId, applicationId, timeMicroseconds, reading }) => {
    const raised = { vehicleId, applicationId, timeMicroseconds, raisedBy: 'device' as const };
    return [
      ...(reading.alarms?.towing ? [{ ...raised, flag: 'towing' as const }] : []),
      ...(reading.alarms?.crash ? [{ ...raised, flag: 'accident' as const }] : []),
    ];
  });
}

/** What a reading says of a parked vehicle; undefined when it says nothing new. */
function nextParked(before: Parked | undefined, { timeMicroseconds, reading }: PlacedReading): Parked | undefined {
  const { status, location } = reading;
  if (status?.ignition === undefined || (before && timeMicroseconds <= before.sinceMicroseconds)) return undefined;
  if (status.ignition) {
    return before?.location === null ? undefined : { location: null, sinceMicroseconds: timeMicroseconds };
  }
  if (!location || (before?.location && metresBetween(before.location, location) < towingMetres)) return undefined;
  const { latitude, longitude } = location;
  return { location: { latitude, longitude }, sinceMicroseconds: timeMicroseconds };
}

/**
 * Follows one vehicle from where it was parked: found 200 m away with the ignition still off, it is being towed.
 * @param readings of one vehicle, sorted by time; those not newer than what is known are passed over
 */
export function followParked(
  parked: Parked | undefined,
  readings: readonly PlacedReading[],
): { parked: Parked | undefined; raised: RaisedState[] } {
  let now = parked;
  const raised: RaisedState[] = [];
  for (const placed of readings) {
    const next = nextParked(now, placed);
    if (!next) continue;
    if (now?.location && next.location) {
      const { vehicleId, applicationId, timeMicroseconds } = placed;
      raised.push({ vehicleId, applicationId, flag: 'towing', raisedBy: 'platform', timeMicroseconds });
    }
    now = next;
  }
  return { parked: now, raised };
}
