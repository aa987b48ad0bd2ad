import type { HeldUpload } from './upload-batch.ts';
import { laneOf, lateLane, liveLane } from './upload-lanes.ts';
import { UploadIntake, type UploadIntakeOptions } from './uploads.ts';

/** Takes every upload into the queue, live ones before late ones. */
export interface UploadIntakes {
  /** Everything without a PUBACK. */
  readonly held: HeldUpload[];
  accept(upload: HeldUpload): void;
  /** Resolves when everything is acknowledged, at the latest after `timeoutMs`; what is left by then is let go. */
  drain(timeoutMs: number): Promise<void>;
}

export function createUploadIntakes(options: Omit<UploadIntakeOptions, 'lane'>): UploadIntakes {
  const live = new UploadIntake({ ...options, lane: liveLane });
  const late = new UploadIntake({ ...options, lane: lateLane });
  return {
    get held() {
      return [...live.held, ...late.held];
    },
    accept(upload) {
      const acceptor = laneOf(upload.payload, upload.receivedAtMs) === lateLane ? late : live;
      acceptor.accept(upload);
    },
    async drain(timeoutMs) {
      await Promise.all([live.drain(timeoutMs), late.drain(timeoutMs)]);
    },
  };
}
