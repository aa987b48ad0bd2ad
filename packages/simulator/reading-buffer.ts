import type { TelemetryReading } from '@odograph/contracts/telemetry';

const readingsPerUpload = 100;

/** What a device keeps until it is acknowledged: readings in the order in which they were taken. */
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
   * Sends what is kept, oldest first, and forgets each part once it is acknowledged. An upload that fails keeps the
   * rest for the next time. Does nothing while an earlier call is still at it.
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
