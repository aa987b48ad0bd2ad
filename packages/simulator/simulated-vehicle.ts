import type { DeviceAction } from '@odograph/contracts/commands';
import { radians } from '@odograph/contracts/positions';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import type { CommandAnswer } from './device-connection.ts';
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
  /** Distance from the previous point. */
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

  /** Heading of the vehicle, degrees. */
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

/** A journey that follows a stay. */
export interface Journey {
  /** UNIX seconds. */
  readonly departure: number;
  readonly route: readonly RoutePoint[];
  /** Whether the vehicle charges until then. */
  readonly charges: boolean;
}

/** Decides where a vehicle drives and when. @param since when the stay before the journey begins, UNIX seconds */
export type Itinerary = (since: number, batteryPercent: number) => Journey;

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

const round = (value: number, digits: number) => Number(value.toFixed(digits));
const kilowattHoursPerKm = 0.16;
const batteryKilowattHours = 52;
const chargingKilowatts = 22;
const lightChance = 0.08;

/** An electric vehicle on its journeys; the same seed and itinerary give the same readings. */
export class SimulatedVehicle {
  readonly #random: () => number;
  readonly #itinerary: Itinerary;
  #journey: Journey | undefined;
  #drive: Drive | undefined;
  #position: Position = { latitude: 0, longitude: 0 };
  #angle = 0;
  #mileageKm: number;
  #socPercent: number;
  #sequence = 0;
  #locked = true;
  #immobilized = false;
  #windowsOpen = false;
  #time = 0;

  constructor(seed: number, itinerary: Itinerary) {
    this.#random = createRandom(seed);
    this.#itinerary = itinerary;
    this.#mileageKm = 5000 + this.#random() * 60_000;
    this.#socPercent = 55 + this.#random() * 40;
  }

  get isParked(): boolean {
    return this.#drive === undefined;
  }

  /** When the next journey begins, UNIX seconds; undefined while driving and before the first reading. */
  get departure(): number | undefined {
    return this.#drive ? undefined : this.#journey?.departure;
  }

  get #speedKmh(): number {
    return this.#drive?.speedKmh ?? 0;
  }

  #park(): void {
    this.#drive = undefined;
    this.#journey = this.#itinerary(this.#time, this.#socPercent);
    this.#position = this.#journey.route[0] ?? this.#position;
  }

  /** Stands until the departure, or a time before it (UNIX seconds). */
  #stand(journey: Journey, until: number): void {
    const leaves = journey.departure < until && !this.#immobilized;
    const end = leaves ? Math.max(journey.departure, this.#time) : until;
    if (journey.charges) {
      const kilowattHours = ((end - this.#time) / 3600) * chargingKilowatts;
      this.#socPercent = Math.min(100, this.#socPercent + (kilowattHours / batteryKilowattHours) * 100);
    }
    this.#time = end;
    if (leaves) this.#drive = new Drive(journey.route);
  }

  #driveOn(drive: Drive, until: number): void {
    const seconds = Math.min(1, until - this.#time);
    const { metres, passedJunction } = drive.advance(seconds);
    this.#time += seconds;
    this.#mileageKm += metres / 1000;
    this.#socPercent = Math.max(3, this.#socPercent - (metres / 10) * (kilowattHoursPerKm / batteryKilowattHours));
    this.#position = drive.position;
    this.#angle = drive.angle;
    if (drive.isFinished) this.#park();
    else if (passedJunction && this.#random() < lightChance) drive.wait(8 + this.#random() * 40);
  }

  /** Drives or stands until a time, UNIX seconds. @returns the turn of its heading, degrees from 0 to 180 */
  advance(until: number): number {
    if (!this.#journey) {
      this.#time = until;
      this.#park();
    }
    const before = this.#angle;
    while (this.#time < until) {
      if (this.#drive) this.#driveOn(this.#drive, until);
      else if (this.#journey) this.#stand(this.#journey, until);
    }
    return turnBetween(before, this.#angle);
  }

  /** Drives on since the last reading. @returns the reading at a time (UNIX seconds) */
  read(timestamp: number): TelemetryReading {
    this.advance(timestamp);
    const isOn = !this.isParked;
    this.#sequence += 1;
    return {
      timestamp,
      sequence: this.#sequence,
      location: {
        latitude: round(this.#position.latitude, 6),
        longitude: round(this.#position.longitude, 6),
        angle: Math.floor(this.#angle),
        altitude: 460,
        speed: round(this.#speedKmh, 1),
        satellites: 7 + Math.floor(this.#random() * 6),
      },
      status: {
        ignition: isOn,
        movement: this.#speedKmh > 0,
        mileage: round(this.#mileageKm, 3),
        autonomy: Math.round(this.#remainingKm()),
      },
      ...this.#details(isOn),
    };
  }

  #remainingKm(): number {
    return ((this.#socPercent / 100) * batteryKilowattHours) / kilowattHoursPerKm;
  }

  #details(isOn: boolean): Omit<TelemetryReading, 'timestamp'> {
    return {
      can: [
        { key: 'motor_rpm', value: String(Math.round(this.#speedKmh * 75)) },
        { key: 'accelerator_pedal', value: String(Math.round(this.#random() * (this.#speedKmh > 0 ? 60 : 0))) },
      ],
      electric: {
        soc: round(this.#socPercent, 1),
        soh: 97,
        current: round(isOn ? -5 - this.#speedKmh * 0.9 : 0, 1),
        voltage: round(340 + this.#socPercent * 0.6, 1),
        energy: round((this.#socPercent / 100) * batteryKilowattHours, 2),
        maxEnergy: batteryKilowattHours,
      },
      sensors: [{ name: 'cabin', data: [{ key: 'temperature', value: (18 + this.#random() * 4).toFixed(1) }] }],
      fleet: {
        lock: this.#locked ? 'LOCKED' : 'UNLOCKED',
        engine: isOn ? 'ON' : 'OFF',
        immobilizer: this.#immobilized ? 'LOCKED' : 'UNLOCKED',
        doors: 'CLOSED',
        windows: this.#windowsOpen ? 'OPEN' : 'CLOSED',
        ChargeLevel: round(this.#socPercent, 1),
        RemainingRange: Math.round(this.#remainingKm()),
        vehicleKey: true,
      },
      alarms: { towing: false, crash: false, gps_jamming: false, gnss_jamming: false },
    };
  }

  /** Executes a command and returns its answer (docs/device-protocol.md, "Commands"). */
  execute(action: DeviceAction): CommandAnswer {
    switch (action) {
      case 'LOCK':
        this.#locked = true;
        return { ok: true, status: 'CLOSED' };
      case 'UNLOCK':
        this.#locked = false;
        return { ok: true, status: 'OPEN' };
      case 'IMMOBILIZE':
        if (this.#speedKmh > 0) return { ok: false, reason: 'the vehicle is moving' };
        this.#immobilized = true;
        return { ok: true, status: 'LOCKED' };
      case 'START':
        this.#immobilized = false;
        return { ok: true, status: 'UNLOCKED' };
      case 'OPEN-WINDOWS':
      case 'CLOSE-WINDOWS':
        this.#windowsOpen = action === 'OPEN-WINDOWS';
        return { ok: true };
      default:
        return { ok: true };
    }
  }
}
