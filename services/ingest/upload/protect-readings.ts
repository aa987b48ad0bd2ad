import { positionKeyPattern } from '@odograph/contracts/positions';
import type { CanDatum, TelemetryReading } from '@odograph/contracts/telemetry';
import { isPrivateAt, type LinkedReading } from '../pipeline/readings.ts';
import { withoutKeysOf } from './decode-frames.ts';

const positionKey = new RegExp(positionKeyPattern, 'i');

const tellsNoPosition = ({ key }: CanDatum): boolean => !positionKey.test(key);

/**
 * Removes every field that discloses a position, and all raw CAN frames, which may contain one. The speed moves to the fleet
 * group: together with the ignition it decides whether the vehicle may be immobilized.
 */
function withoutPosition(linked: LinkedReading): LinkedReading {
  const { reading, decodedCan } = linked;
  const { location, can, sensors } = reading;
  const speed = reading.fleet?.speed ?? location?.speed;
  const protectedReading: TelemetryReading = {
    ...reading,
    ...(can && { can: can.filter(tellsNoPosition) }),
    ...(sensors && { sensors: sensors.map(({ name, data }) => ({ name, data: data.filter(tellsNoPosition) })) }),
    ...(speed !== undefined && { fleet: { ...reading.fleet, speed } }),
  };
  delete protectedReading.location;
  delete protectedReading.frames;
  return {
    ...linked,
    reading: protectedReading,
    ...(decodedCan && { decodedCan: decodedCan.filter(tellsNoPosition) }),
  };
}

/**
 * Removes the positions of readings in a privacy interval of their vehicle, before anything is written. The reading's own
 * time decides, so a late upload does not bypass it.
 */
export function protectReadings(readings: readonly LinkedReading[]): LinkedReading[] {
  return readings.map((linked) => {
    const isPrivate = isPrivateAt(linked.privacyIntervals, linked.timeMicroseconds);
    return isPrivate ? withoutPosition(linked) : linked;
  });
}

/** Groups that are merged field by field; the others are replaced as a whole. */
const mergedGroups = ['location', 'status', 'electric', 'fleet', 'alarms'] as const;

/** Merges two readings of the same vehicle and time; fields of the newer one win. */
function mergeFields(older: TelemetryReading, newer: TelemetryReading): TelemetryReading {
  const merged: TelemetryReading = { ...older, ...newer };
  for (const group of mergedGroups) {
    if (older[group] && newer[group]) Object.assign(merged, { [group]: { ...older[group], ...newer[group] } });
  }
  return merged;
}

function mergeLinked(older: LinkedReading, newer: LinkedReading): LinkedReading {
  const reading = mergeFields(older.reading, newer.reading);
  const decodedCan = newer.decodedCan ?? older.decodedCan;
  return { ...newer, reading, ...(decodedCan && { decodedCan: withoutKeysOf(reading.can, decodedCan) }) };
}

/**
 * Merges readings of the same vehicle and time in the order of their receipt.
 * @returns distinct readings sorted by vehicle, then time: the order in which every transaction locks rows
 */
export function mergeReadings(readings: readonly LinkedReading[]): LinkedReading[] {
  const sorted = [...readings].sort(
    (a, b) => a.vehicleId - b.vehicleId || a.timeMicroseconds - b.timeMicroseconds || a.receivedAtMs - b.receivedAtMs,
  );
  const merged: LinkedReading[] = [];
  for (const next of sorted) {
    const last = merged.at(-1);
    if (last?.vehicleId === next.vehicleId && last.timeMicroseconds === next.timeMicroseconds) {
      merged[merged.length - 1] = mergeLinked(last, next);
    } else {
      merged.push(next);
    }
  }
  return merged;
}
