import { type UploadInProgress, uploadBytes } from '../upload/decode-uploads.ts';
import type { Arrival } from './ledger.ts';

/** The sequence of a reading that did not decode, when that field at least is what it should be. */
function sequenceOf(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('sequence' in value)) return undefined;
  const { sequence } = value;
  return typeof sequence === 'number' && Number.isSafeInteger(sequence) && sequence >= 0 ? sequence : undefined;
}

function elementsOf({ upload }: UploadInProgress): unknown[] {
  try {
    const value: unknown = JSON.parse(uploadBytes(upload).toString());
    return Array.isArray(value) ? value : [value];
  } catch {
    return [];
  }
}

/**
 * Readings that are in quarantine arrived: they are not lost. Their time is not used, since it may be what is wrong with
 * them. Of an upload that is refused as a whole nothing is known.
 */
function quarantinedArrivals(inProgress: UploadInProgress): Arrival[] {
  const indexes = inProgress.faults.map(({ index }) => index).filter((index) => index !== null);
  if (indexes.length === 0) return [];
  const elements = elementsOf(inProgress);
  return indexes.flatMap((index) => {
    const sequence = sequenceOf(elements[index]);
    return sequence === undefined ? [] : [{ sequence }];
  });
}

function storedArrivals({ readings }: UploadInProgress): Arrival[] {
  return readings.flatMap(({ timeMicroseconds, reading: { sequence } }) =>
    sequence === undefined ? [] : [{ sequence, timeMicroseconds }],
  );
}

/** The numbered readings of a batch by device. */
export function arrivalsByDevice(uploads: readonly UploadInProgress[]): Map<string, Arrival[]> {
  const byDevice = new Map<string, Arrival[]>();
  for (const inProgress of uploads) {
    const arrivals = [...storedArrivals(inProgress), ...quarantinedArrivals(inProgress)];
    if (arrivals.length === 0) continue;
    const { deviceId } = inProgress.upload;
    const known = byDevice.get(deviceId);
    if (known) known.push(...arrivals);
    else byDevice.set(deviceId, arrivals);
  }
  return byDevice;
}

/** Readings that a device counted and recorded one after the other. */
export interface Run {
  readonly from: number;
  readonly until: number;
  readonly oldestMicroseconds: number;
  readonly newestMicroseconds: number;
}

/** What arrived as one run; undefined when a number is missing, repeated or out of order, or a time is unknown or older. */
export function runOf(arrivals: readonly Arrival[]): Run | undefined {
  let run: Run | undefined;
  for (const { sequence, timeMicroseconds: time } of arrivals) {
    if (time === undefined) return undefined;
    if (run && (sequence !== run.until + 1 || time < run.newestMicroseconds)) return undefined;
    run = {
      from: run?.from ?? sequence,
      until: sequence,
      oldestMicroseconds: run?.oldestMicroseconds ?? time,
      newestMicroseconds: time,
    };
  }
  return run;
}
