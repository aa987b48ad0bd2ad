import type { TelemetryReading } from '@odograph/contracts/telemetry';
import type { PlacedReading } from './place-readings.ts';

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
