import type { TelemetryReading } from '@odograph/contracts/telemetry';

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
