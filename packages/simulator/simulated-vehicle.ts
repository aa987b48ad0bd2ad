import type { DeviceAction } from '@odograph/contracts/commands';
import { earthRadiusMetres, radians } from '@odograph/contracts/positions';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import type { CommandAnswer } from './device-connection.ts';

interface Position {
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
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** One leg of a drive: parked with the ignition off, waiting at a light, or driving towards a speed. */
interface Leg {
  kind: 'parked' | 'waiting' | 'driving';
  secondsLeft: number;
  speedKmh: number;
}

const metresPerSecond = (kmh: number) => kmh / 3.6;
const round = (value: number, digits: number) => Number(value.toFixed(digits));
const accelerationKmhPerSecond = 7;
const kilowattHoursPerKm = 0.16;
const batteryKilowattHours = 52;

/** An electric vehicle that drives around a town; the same seed gives the same drive. */
export class SimulatedVehicle {
  readonly #random: () => number;
  #position: Position;
  #angle: number;
  #speedKmh = 0;
  #leg: Leg;
  #mileageKm: number;
  #socPercent: number;
  #sequence = 0;
  #locked = true;
  #immobilized = false;
  #windowsOpen = false;
  #lastTime: number | undefined;

  constructor(seed: number, home: Position) {
    this.#random = createRandom(seed);
    this.#position = travel(home, this.#random() * 360, this.#random() * 4000);
    this.#angle = this.#random() * 360;
    this.#mileageKm = 5000 + this.#random() * 60_000;
    this.#socPercent = 40 + this.#random() * 60;
    this.#leg = { kind: 'parked', secondsLeft: 5 + this.#random() * 20, speedKmh: 0 };
  }

  get isParked(): boolean {
    return this.#leg.kind === 'parked';
  }

  #nextLeg(): Leg {
    const chance = this.#random();
    if (this.#immobilized && this.#leg.kind === 'parked') return { kind: 'parked', secondsLeft: 10, speedKmh: 0 };
    if (this.#leg.kind !== 'driving')
      return { kind: 'driving', secondsLeft: 15 + chance * 60, speedKmh: 30 + chance * 40 };
    if (chance < 0.1) return { kind: 'parked', secondsLeft: 120 + this.#random() * 600, speedKmh: 0 };
    if (chance < 0.45) return { kind: 'waiting', secondsLeft: 10 + this.#random() * 60, speedKmh: 0 };
    this.#angle = (this.#angle + 360 + (this.#random() - 0.5) * 180) % 360;
    return { kind: 'driving', secondsLeft: 15 + this.#random() * 60, speedKmh: 20 + this.#random() * 60 };
  }

  #advance(seconds: number): void {
    this.#leg.secondsLeft -= seconds;
    if (this.#leg.secondsLeft <= 0) this.#leg = this.#nextLeg();
    const change = accelerationKmhPerSecond * seconds;
    const towards = this.#leg.speedKmh - this.#speedKmh;
    this.#speedKmh += Math.max(-change, Math.min(change, towards));
    const metres = metresPerSecond(this.#speedKmh) * seconds;
    if (metres === 0) {
      if (this.isParked) this.#socPercent = Math.min(100, this.#socPercent + 0.01 * seconds);
      return;
    }
    this.#angle = (this.#angle + 360 + (this.#random() - 0.5) * 4) % 360;
    this.#position = travel(this.#position, this.#angle, metres);
    this.#mileageKm += metres / 1000;
    this.#socPercent = Math.max(
      5,
      this.#socPercent - (metres / 1000) * (kilowattHoursPerKm / batteryKilowattHours) * 100,
    );
  }

  /** Stops, switches the ignition off and charges until a time (UNIX seconds), after which it drives on. */
  parkUntil(timestamp: number): void {
    this.#speedKmh = 0;
    this.#leg = { kind: 'parked', secondsLeft: timestamp - (this.#lastTime ?? timestamp), speedKmh: 0 };
  }

  /** Drives on since the last reading. @returns the reading at a time (UNIX seconds) */
  read(timestamp: number): TelemetryReading {
    const elapsed = this.#lastTime === undefined ? 0 : timestamp - this.#lastTime;
    this.#lastTime = timestamp;
    for (let left = elapsed; left > 0; left -= 1) this.#advance(Math.min(1, left));
    const isOn = !this.isParked || this.#speedKmh > 0;
    this.#sequence += 1;
    return {
      timestamp,
      sequence: this.#sequence,
      location: {
        latitude: round(this.#position.latitude, 6),
        longitude: round(this.#position.longitude, 6),
        angle: Math.floor(this.#angle),
        altitude: 35,
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
