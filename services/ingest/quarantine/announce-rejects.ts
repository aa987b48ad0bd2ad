import { type RejectedReading, type UploadReject, uploadRejectsChannel } from '@odograph/contracts/topics';
import { WindowCounter } from '@odograph/runtime/window-counter';
import { type UploadInProgress, uncheckedReadings, uploadBytes } from '../pipeline/readings.ts';

const windowMs = 60_000;
const messagesPerWindow = 10;
/** Maximum of counted devices. */
const maximumDevices = 100_000;
const maximumMessages = 1000;
const maximumFaults = 10;

/** Sends text to a Redis channel. */
export type Announce = (channel: string, text: string) => Promise<unknown>;

/**
 * Announces quarantined uploads to the brokers, whose devices may subscribe to their rejects. At most once: an announcement
 * is lost while Redis or the device is away. At most 10 a minute for a device, from each ingest process.
 */
export class RejectAnnouncer {
  readonly #announce: Announce;
  readonly #channel: string;
  readonly #announced = new WindowCounter(windowMs, maximumDevices);

  constructor(announce: Announce, prefix: string) {
    this.#announce = announce;
    this.#channel = uploadRejectsChannel(prefix);
  }

  /** Announces uploads, but no replays and none of a source, which the device did not send. @throws when Redis is unavailable */
  async announce(quarantined: readonly UploadInProgress[], nowMs: number): Promise<void> {
    const rejects: UploadReject[] = [];
    for (const inProgress of quarantined) {
      const { deviceId, quarantineId, applicationId } = inProgress.upload;
      if (quarantineId !== undefined || applicationId !== undefined || rejects.length === maximumMessages) continue;
      if (this.#announced.read(deviceId, nowMs) >= messagesPerWindow) continue;
      this.#announced.add(deviceId, nowMs);
      rejects.push(describeReject(inProgress));
    }
    if (rejects.length > 0) await this.#announce(this.#channel, JSON.stringify(rejects));
  }
}

/** Of the payload, only the time and sequence number of a rejected reading are repeated, so that no position is. */
function describeReject({ upload, faults }: UploadInProgress): UploadReject {
  const bytes = uploadBytes(upload);
  const readings = uncheckedReadings(upload);
  const message = {
    receivedAt: upload.receivedAtMs / 1000,
    bytes: bytes.length,
    faultCount: faults.length,
    faults: faults.slice(0, maximumFaults).map((fault) => ({ ...fault, ...identify(readings, fault.index) })),
  };
  return { deviceId: upload.deviceId, message };
}

function identify(readings: readonly unknown[], index: number | null): Pick<RejectedReading, 'timestamp' | 'sequence'> {
  const reading = index === null ? undefined : readings[index];
  if (typeof reading !== 'object' || reading === null) return {};
  const { timestamp, sequence } = reading as Partial<Record<string, unknown>>;
  return {
    ...(typeof timestamp === 'number' && { timestamp }),
    ...(typeof sequence === 'number' && { sequence }),
  };
}
