import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';

interface Position {
  latitude: number;
  longitude: number;
}

/** A trip, and the tariff of its application. */
export interface TripFacts {
  id: string;
  start: Microseconds;
  minutes: number;
  distanceKm: number;
  fuelLitres: number;
  electricKwh: number;
  tariffPerKm: number;
  tariffPerMinute: number;
  first: Position | undefined;
  last: Position | undefined;
}

/** Interface specification, "trip object": km, minutes, km/h, litres, kWh. */
export interface Trip {
  trip_id: string;
  timestamp: string;
  distance: number;
  duration: number;
  cost: number;
  fuel_consumption: number;
  fuel_consumption_100km: number;
  average_speed: number;
  electric_consumption: number;
  electric_consumption_100km: number;
  first_position?: Position;
  last_position?: Position;
}

const round = (value: number, digits: number) => Number(value.toFixed(digits));
/** On shorter trips the consumption per 100 km is not meaningful. */
const leastKmForAverage = 1;

/** Writes a Timestamp: ISO 8601 UTC to the millisecond, or to the microsecond if it has any. */
export function writeTimestamp(moment: Microseconds): string {
  return isoMicroseconds(moment).replace(/000Z$/, 'Z');
}

/** Composes the trip object. */
export function toTrip(facts: TripFacts): Trip {
  const { id, start, minutes, distanceKm, fuelLitres, electricKwh, tariffPerKm, tariffPerMinute, first, last } = facts;
  const per100Km = (amount: number) => (distanceKm < leastKmForAverage ? 0 : round((amount / distanceKm) * 100, 2));
  return {
    trip_id: id,
    timestamp: writeTimestamp(start),
    distance: round(distanceKm, 3),
    duration: round(minutes, 2),
    cost: round(distanceKm * tariffPerKm + minutes * tariffPerMinute, 2),
    fuel_consumption: round(fuelLitres, 3),
    fuel_consumption_100km: per100Km(fuelLitres),
    average_speed: round(distanceKm / (minutes / 60), 1),
    electric_consumption: round(electricKwh, 3),
    electric_consumption_100km: per100Km(electricKwh),
    ...(first && { first_position: first }),
    ...(last && { last_position: last }),
  };
}
