import { earthRadiusMetres, radians } from '@odograph/contracts/great-circle';

export interface Position {
  latitude: number;
  longitude: number;
}

const degrees = (angle: number) => (angle * 180) / Math.PI;

/** Moves a position by a distance in a direction (degrees, 0 is north) along a great circle. */
export function travel(from: Position, angleDegrees: number, metres: number): Position {
  const latitude = radians(from.latitude);
  const arc = metres / earthRadiusMetres;
  const course = radians(angleDegrees);
  const reached = Math.asin(Math.sin(latitude) * Math.cos(arc) + Math.cos(latitude) * Math.sin(arc) * Math.cos(course));
  const east = Math.atan2(
    Math.sin(course) * Math.sin(arc) * Math.cos(latitude),
    Math.cos(arc) - Math.sin(latitude) * Math.sin(reached),
  );
  return { latitude: degrees(reached), longitude: ((from.longitude + degrees(east) + 540) % 360) - 180 };
}

/** Creates a repeatable source of numbers in [0, 1): mulberry32 by Tommy Ettinger. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
