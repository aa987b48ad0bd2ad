/** Bytes a second that a device uploads into the live lane for any length of time; ten times what devices with CAN send. */
const bytesPerSecond = 16 * 1024;
/** Burst of bytes of a device in the live lane. */
const burstBytes = 64 * 1024;
/** Maximum of tracked devices. */
const maximumDevices = 100_000;

interface Share {
  usedBytes: number;
  atMs: number;
}

/**
 * Finds the devices that upload more than their share. Their uploads take the late lane, so that a flooding device delays
 * itself and not the others.
 */
export class DeviceShares {
  readonly #now: () => number;
  readonly #shares = new Map<string, Share>();

  /** @param now monotonic time in ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts an upload. @returns whether the device is over its share */
  isOver(deviceId: string, bytes: number): boolean {
    const nowMs = this.#now();
    const share = this.#shares.get(deviceId);
    const recovered = share ? ((nowMs - share.atMs) / 1000) * bytesPerSecond : 0;
    const usedBytes = Math.max(0, (share?.usedBytes ?? 0) - recovered) + bytes;
    const isOver = usedBytes > burstBytes;
    if (share === undefined && this.#shares.size >= maximumDevices) this.#shares.clear();
    // What exceeds the burst is not remembered, so that a device recovers as soon as it slows down.
    this.#shares.set(deviceId, { usedBytes: Math.min(usedBytes, burstBytes), atMs: nowMs });
    return isOver;
  }
}
