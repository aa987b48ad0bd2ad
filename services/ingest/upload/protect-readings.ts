import { positionKeyPattern } from '@odograph/contracts/positions';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import type { PlacedReading } from './link-readings.ts';

const positionKey = new RegExp(positionKeyPattern, 'i');

/**
 * A reading without anything that tells where the vehicle is. Its speed stays, as a field of the fleet group: it says
 * that the vehicle moves, and with the ignition decides whether it may be immobilized.
 */
function withoutPosition({ location, can, sensors, ...reading }: TelemetryReading): TelemetryReading {
  const speed = reading.fleet?.speed ?? location?.speed;
  return {
    ...reading,
    ...(can && { can: can.filter(({ key }) => !positionKey.test(key)) }),
    ...(sensors && {
      sensors: sensors.map(({ name, data }) => ({ name, data: data.filter(({ key }) => !positionKey.test(key)) })),
    }),
    ...(speed !== undefined && { fleet: { ...reading.fleet, speed } }),
  };
}

/**
 * Takes the positions off readings whose own time lies in a private period of their vehicle, before anything is written
 * (decided by the reading's time, so a late upload is no way around it).
 */
export function protectReadings(placed: readonly PlacedReading[]): PlacedReading[] {
  return placed.map((reading) => {
    const { timeMicroseconds: time, privatePeriods } = reading;
    const isPrivate = privatePeriods.some(
      (period) => period.fromMicroseconds <= time && time < period.untilMicroseconds,
    );
    return isPrivate ? { ...reading, reading: withoutPosition(reading.reading) } : reading;
  });
}

/** Groups whose fields are merged one by one; the others are replaced as a whole. */
const groups = ['location', 'status', 'electric', 'fleet', 'alarms'] as const;

/** Lays a reading over another of the same vehicle and time, field by field. */
function layOver(below: TelemetryReading, above: TelemetryReading): TelemetryReading {
  const merged: Record<string, unknown> = { ...below, ...above };
  for (const group of groups) {
    if (below[group] && above[group]) merged[group] = { ...below[group], ...above[group] };
  }
  return merged as TelemetryReading;
}

/**
 * One reading for each vehicle and time, in the order of the key, in which every job locks its rows: readings of one
 * batch with the same key are merged in the order of their receipt.
 */
export function mergeReadings(placed: readonly PlacedReading[]): PlacedReading[] {
  const sorted = [...placed].sort(
    (a, b) => a.vehicleId - b.vehicleId || a.timeMicroseconds - b.timeMicroseconds || a.receivedAtMs - b.receivedAtMs,
  );
  const merged: PlacedReading[] = [];
  for (const next of sorted) {
    const last = merged.at(-1);
    if (last?.vehicleId === next.vehicleId && last.timeMicroseconds === next.timeMicroseconds) {
      merged[merged.length - 1] = { ...next, reading: layOver(last.reading, next.reading) };
    } else {
      merged.push(next);
    }
  }
  return merged;
}
