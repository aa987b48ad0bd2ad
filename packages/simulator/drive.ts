import { radians } from '@odograph/contracts/positions';
import type { Position, RoutePoint } from './roads.ts';

/** Accelerations of an ordinary driver, metres per second squared. */
const acceleration = 1.6;
const braking = 1.8;
const sideways = 2;

const maxTurnSpeed = 15 / 3.6;
const minBendSpeed = 10 / 3.6;
const minJunctionTurnDegrees = 35;

/** The direction from one position to another, degrees from 0 (north) to 360, as on a flat map. */
function direction(from: Position, to: Position): number {
  const east = (to.longitude - from.longitude) * Math.cos(radians(from.latitude));
  return (Math.atan2(east, to.latitude - from.latitude) * (180 / Math.PI) + 360) % 360;
}

const turnBetween = (one: number, other: number): number => Math.abs(((other - one + 540) % 360) - 180);

/** The speed at which a driver passes a point, metres per second: slower the sharper the bend. */
function passingSpeed(points: readonly RoutePoint[], index: number): number {
  const [before, point, after] = [points[index - 1], points[index], points[index + 1]];
  if (!before || !point || !after) return 0;
  const turn = turnBetween(direction(before, point), direction(point, after));
  const limit = Math.min(point.speedKmh, after.speedKmh) / 3.6;
  if (turn < 1) return limit;
  if (point.isJunction && turn > minJunctionTurnDegrees) return Math.min(limit, maxTurnSpeed);
  const radius = Math.min(point.metres, after.metres) / (2 * Math.tan(radians(Math.min(turn, 170)) / 2));
  return Math.min(limit, Math.max(minBendSpeed, Math.sqrt(sideways * radius)));
}

/** Speeds at the points of a route from which a driver can brake for the following ones, metres per second. */
function planSpeeds(points: readonly RoutePoint[]): number[] {
  const speeds = points.map((_point, index) => passingSpeed(points, index));
  for (let index = points.length - 2; index >= 0; index -= 1) {
    const distance = points[index + 1]?.metres ?? 0;
    const next = speeds[index + 1] ?? 0;
    speeds[index] = Math.min(speeds[index] ?? 0, Math.sqrt(next * next + 2 * braking * distance));
  }
  return speeds;
}

/** A drive along a route, from standing to standing. */
export class Drive {
  readonly #points: readonly RoutePoint[];
  readonly #speeds: readonly number[];
  /** Index of the point ahead. */
  #ahead = 1;
  /** From the point behind. */
  #metres = 0;
  #speed = 0;
  #waitSeconds = 0;

  constructor(points: readonly RoutePoint[]) {
    this.#points = points;
    this.#speeds = planSpeeds(points);
  }

  get isFinished(): boolean {
    return this.#ahead >= this.#points.length;
  }

  get speedKmh(): number {
    return this.#speed * 3.6;
  }

  /** The direction of the car, degrees. */
  get angle(): number {
    const index = Math.min(this.#ahead, this.#points.length - 1);
    const [behind, ahead] = [this.#points[index - 1], this.#points[index]];
    return behind && ahead ? direction(behind, ahead) : 0;
  }

  get position(): Position {
    const [behind, ahead] = [this.#points[this.#ahead - 1], this.#points[this.#ahead]];
    if (!behind) return { latitude: 0, longitude: 0 };
    if (!ahead || ahead.metres === 0) return { latitude: behind.latitude, longitude: behind.longitude };
    const part = this.#metres / ahead.metres;
    return {
      latitude: behind.latitude + part * (ahead.latitude - behind.latitude),
      longitude: behind.longitude + part * (ahead.longitude - behind.longitude),
    };
  }

  /** Stands for a while, as at a light. */
  wait(seconds: number): void {
    this.#speed = 0;
    this.#waitSeconds = seconds;
  }

  /** Drives on for at most one second. @returns the metres driven, and whether a junction was passed */
  advance(seconds: number): { metres: number; passedJunction: boolean } {
    const ahead = this.#points[this.#ahead];
    if (this.#waitSeconds > 0 || !ahead) {
      this.#waitSeconds -= seconds;
      return { metres: 0, passedJunction: false };
    }
    const next = this.#speeds[this.#ahead] ?? 0;
    const distance = ahead.metres - this.#metres;
    const wanted = Math.min(ahead.speedKmh / 3.6, Math.sqrt(next * next + 2 * braking * distance));
    this.#speed = Math.max(0.5, Math.min(wanted, this.#speed + acceleration * seconds));
    const metres = this.#speed * seconds;
    this.#metres += metres;
    let passedJunction = false;
    for (
      let point = this.#points[this.#ahead];
      point && this.#metres >= point.metres;
      point = this.#points[this.#ahead]
    ) {
      this.#metres -= point.metres;
      this.#ahead += 1;
      passedJunction ||= point.isJunction;
    }
    if (this.isFinished) this.#speed = 0;
    return { metres, passedJunction };
  }
}
