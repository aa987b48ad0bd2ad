import { WindowCounter } from '@odograph/runtime/window-counter';
import type { UploadInProgress } from '../upload/decode-uploads.ts';

export const quotaWindowMs = 3_600_000;
/** Maximum of counted devices. */
const maximumDevices = 100_000;

/**
 * Limits the uploads of one device that are kept in quarantine in an hour, so that a device that sends nothing but garbage
 * does not fill the disk. Each ingest process counts for itself. Replays do not count: their uploads are kept already.
 */
export class QuarantineQuota {
  readonly #perHour: number;
  readonly #kept = new WindowCounter(quotaWindowMs, maximumDevices);

  constructor(perHour: number) {
    this.#perHour = perHour;
  }

  /** Separates the uploads to keep from those beyond the quota. Count the kept ones after the commit. */
  split(
    uploads: readonly UploadInProgress[],
    nowMs: number,
  ): { kept: UploadInProgress[]; dropped: UploadInProgress[] } {
    const [kept, dropped]: [UploadInProgress[], UploadInProgress[]] = [[], []];
    const left = new Map<string, number>();
    for (const inProgress of uploads) {
      const { quarantineId } = inProgress.upload;
      if (quarantineId !== undefined) {
        kept.push(inProgress);
        continue;
      }
      const sender = senderOf(inProgress);
      const free = left.get(sender) ?? this.#perHour - this.#kept.read(sender, nowMs);
      left.set(sender, free - 1);
      (free > 0 ? kept : dropped).push(inProgress);
    }
    return { kept, dropped };
  }

  count(kept: readonly UploadInProgress[], nowMs: number): void {
    for (const one of kept) if (one.upload.quarantineId === undefined) this.#kept.add(senderOf(one), nowMs);
  }
}

/** A device, apart from a source that names it: no source uses up the quota of a device of another application. */
export function senderOf({ upload: { deviceId, applicationId } }: UploadInProgress): string {
  return applicationId === undefined ? deviceId : `${applicationId} ${deviceId}`;
}
