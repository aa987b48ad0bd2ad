import type { Database } from '@odograph/database/database';
import { insertReadings } from './insert-readings.ts';
import { mergeIntoReadings } from './merge-into-readings.ts';
import type { PlacedReading } from './place-readings.ts';
import type { KnownVehicle } from './write-latest.ts';

/** Stores readings, distinct in their key and sorted by it; `known` is what was known of their vehicles, which are locked. */
export type WriteReadings = (
  db: Database,
  readings: readonly PlacedReading[],
  known: readonly KnownVehicle[],
) => Promise<void>;

/**
 * Adds readings that are newer than all of their vehicle, and merges the others with what may be there. Nearly all are
 * new, and adding costs half of merging.
 */
export const insertOrMergeReadings: WriteReadings = async (db, readings, known) => {
  const newest = new Map(known.map(({ vehicleId, newestMicroseconds }) => [vehicleId, newestMicroseconds]));
  const isNew = ({ vehicleId, timeMicroseconds }: PlacedReading) =>
    timeMicroseconds > (newest.get(vehicleId) ?? Number.NEGATIVE_INFINITY);
  const later = readings.filter(isNew);
  await mergeIntoReadings(db, later.length === 0 ? readings : readings.filter((reading) => !isNew(reading)));
  await insertReadings(db, later);
};

/** Merges all readings with what may be there, whatever is known of their vehicles. */
export const mergeReadingsWithStored: WriteReadings = (db, readings) => mergeIntoReadings(db, readings);
