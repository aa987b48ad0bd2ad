import { positionKeyPattern } from '@odograph/contracts/positions';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import type { PlacedReading } from './place-readings.ts';

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
