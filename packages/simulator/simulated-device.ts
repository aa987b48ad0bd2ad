import type { TelemetryReading } from '@odograph/contracts/telemetry';
import type { DeviceIdentity } from '@odograph/keyless/key-list';
import { connectDevice, type DeviceConnection, type DeviceCredentials, type KeyMemory } from './device-connection.ts';
import type { SimulatedVehicle } from './simulated-vehicle.ts';

const readingsPerUpload = 100;

/** Keeps the readings of a device in order until they are acknowledged. */
export class ReadingBuffer {
  #readings: TelemetryReading[] = [];
  #sending = false;

  get size(): number {
    return this.#readings.length;
  }

  add(reading: TelemetryReading): void {
    this.#readings.push(reading);
  }

  /**
   * Uploads the readings, oldest first, and removes each part once it is acknowledged. A failed upload leaves the rest for
   * the next call. Does nothing while an earlier call is in progress.
   */
  async drain(upload: (readings: TelemetryReading[]) => Promise<void>): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    try {
      while (this.#readings.length > 0) {
        const part = this.#readings.slice(0, readingsPerUpload);
        await upload(part);
        this.#readings = this.#readings.slice(part.length);
      }
    } finally {
      this.#sending = false;
    }
  }
}

export interface SimulatedDeviceOptions {
  url: string;
  credentials: DeviceCredentials;
  /** Device key with which it verifies and confirms key lists. */
  identity: DeviceIdentity;
  vehicle: SimulatedVehicle;
  intervalMs: number;
}

/** A telematics device in a simulated vehicle: reads at an interval, buffers until acknowledged, executes commands. */
export class SimulatedDevice {
  readonly #options: SimulatedDeviceOptions;
  readonly #buffer = new ReadingBuffer();
  readonly #keys: KeyMemory;
  #connection: DeviceConnection | undefined;
  #timer: NodeJS.Timeout | undefined;
  #connecting = false;
  #covered = true;

  constructor(options: SimulatedDeviceOptions) {
    this.#options = options;
    this.#keys = { identity: options.identity, list: undefined };
  }

  get bufferedReadings(): number {
    return this.#buffer.size;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#tick(), this.#options.intervalMs);
    void this.#tick();
  }

  /** Sets radio coverage; without it, readings wait in the buffer. */
  setCoverage(covered: boolean): void {
    this.#covered = covered;
    if (!covered) void this.#connection?.close('cut');
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#connection?.close();
  }

  async #tick(): Promise<void> {
    this.#buffer.add(this.#options.vehicle.read(Date.now() / 1000));
    if (!this.#covered) return;
    try {
      await this.#connect();
      const connection = this.#connection;
      if (connection?.client.connected) await this.#buffer.drain((readings) => connection.upload(readings));
    } catch {
      // The platform is unavailable: readings stay in the buffer until the next tick.
    }
  }

  async #connect(): Promise<void> {
    if (this.#connecting || this.#connection?.client.connected) return;
    this.#connecting = true;
    try {
      const { url, credentials, vehicle } = this.#options;
      const connection = await connectDevice(url, credentials);
      await connection.obey(({ action, expiresAt }) =>
        expiresAt < Date.now() / 1000 ? undefined : vehicle.execute(action),
      );
      await connection.confirmKeyLists(this.#keys);
      this.#connection = connection;
    } finally {
      this.#connecting = false;
    }
  }
}
