import { isValueFault } from '@odograph/codec/readings';
import { groupBy } from '../group-by.ts';
import { type UploadInProgress, uncheckedReadings } from '../upload/decode-uploads.ts';
import type { Arrival } from './ledger.ts';

/** Returns the sequence of a reading that failed to decode, if that field is valid. */
function sequenceOf(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('sequence' in value)) return undefined;
  const { sequence } = value;
  return typeof sequence === 'number' && Number.isSafeInteger(sequence) && sequence >= 0 ? sequence : undefined;
}

/**
 * Quarantined readings arrived; they are not missing. Their time is ignored, since it may be the fault. An upload in
 * quarantine as a whole yields nothing.
 */
function quarantinedArrivals(inProgress: UploadInProgress): Arrival[] {
  const indexes = inProgress.faults.flatMap((fault) =>
    fault.index === null || isValueFault(fault) ? [] : [fault.index],
  );
  if (indexes.length === 0) return [];
  const elements = uncheckedReadings(inProgress.upload);
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

/** Groups the numbered readings of a batch by device. */
export function arrivalsByDevice(uploads: readonly UploadInProgress[]): Map<string, Arrival[]> {
  const byDevice = new Map<string, Arrival[]>();
  for (const [deviceId, ofDevice] of groupBy(uploads, ({ upload }) => upload.deviceId)) {
    const arrivals = ofDevice.flatMap((inProgress) => [
      ...storedArrivals(inProgress),
      ...quarantinedArrivals(inProgress),
    ]);
    if (arrivals.length > 0) byDevice.set(deviceId, arrivals);
  }
  return byDevice;
}

/** Readings with consecutive sequences in time order. */
export interface Run {
  readonly from: number;
  readonly until: number;
  readonly oldestMicroseconds: number;
  readonly newestMicroseconds: number;
}

/** Returns arrivals as one run; undefined unless their sequences are consecutive and their times known and in order. */
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
