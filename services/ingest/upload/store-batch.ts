import type { Database } from '@odograph/database/database';
import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import { isDataFault, sqlState } from '@odograph/database/postgres-failure';
import { markUncounted } from '@odograph/database/reading-counts/maintain';
import type { Sealer } from '@odograph/runtime/sealing';
import { writeGaps } from '../gaps/write-gaps.ts';
import { quarantineUploads, resolveQuarantined } from '../quarantine/quarantine-uploads.ts';
import { markTouched } from '../trips/trip-work.ts';
import type { UploadInProgress } from './decode-uploads.ts';
import type { LinkMemory } from './link-readings.ts';
import { placeReadings } from './link-readings.ts';
import { mergeReadings, protectReadings } from './protect-readings.ts';
import type { SettlementMemory } from './settlement-memory.ts';
import { writeStates } from './vehicle-states.ts';
import { latestStates, writeLatest } from './write-latest-states.ts';
import { insertOrMergeReadings, mergeReadingsWithStored, type WriteReadings } from './write-readings.ts';

/** What a batch is stored with. */
export interface Storage {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly links: LinkMemory;
  readonly settlement: SettlementMemory;
}

/** What became of a batch. */
export interface StoredBatch {
  readings: number;
  quarantinedUploads: number;
}

async function storeInOneTransaction(
  { db, sealer, links, settlement }: Storage,
  uploads: readonly UploadInProgress[],
  writeReadings: WriteReadings,
): Promise<StoredBatch> {
  return db.transaction().execute(async (transaction) => {
    const version = await shareIngestBarrier(transaction);
    const devices = new Set(uploads.filter(({ readings }) => readings.length > 0).map(({ upload }) => upload.deviceId));
    const { placed, uploads: finished } = placeReadings(uploads, await links.find(transaction, version, devices));
    const readings = mergeReadings(protectReadings(placed));
    // First, because it locks the vehicles and tells which of their readings are new.
    const known = await writeLatest(transaction, latestStates(readings));
    await writeReadings(transaction, readings, known);
    await writeStates(transaction, readings, known);
    await markTouched(transaction, readings);
    await markUncounted(transaction, readings, await settlement.findEnd(transaction, version));
    await writeGaps(transaction, finished, Date.now());
    const faulty = finished.filter(({ faults }) => faults.length > 0);
    await quarantineUploads(transaction, sealer, faulty);
    await resolveQuarantined(transaction, finished);
    return { readings: placed.length, quarantinedUploads: faulty.length };
  });
}

/** Halves a batch by uploads, and a single upload by its readings. */
function halve(uploads: readonly UploadInProgress[]): [UploadInProgress[], UploadInProgress[]] {
  const [only] = uploads;
  if (uploads.length > 1 || !only) {
    const middle = Math.ceil(uploads.length / 2);
    return [uploads.slice(0, middle), uploads.slice(middle)];
  }
  const middle = Math.ceil(only.readings.length / 2);
  return [
    [{ ...only, readings: only.readings.slice(0, middle) }],
    [{ ...only, readings: only.readings.slice(middle), faults: [] }],
  ];
}

function asNotStorable({ upload, readings, faults }: UploadInProgress): UploadInProgress {
  const refused = readings.map(({ index }) => ({
    index,
    reason: 'NOT_STORABLE' as const,
    message: 'the database refused the reading',
  }));
  return { upload, readings: [], faults: [...faults, ...refused] };
}

const uniqueViolation = '23505';

async function storeWhole(storage: Storage, uploads: readonly UploadInProgress[]): Promise<StoredBatch> {
  try {
    return await storeInOneTransaction(storage, uploads, insertOrMergeReadings);
  } catch (error) {
    // The latest state was lost or set back by hand: what it says is new may be there.
    if (sqlState(error) !== uniqueViolation) throw error;
    return storeInOneTransaction(storage, uploads, mergeReadingsWithStored);
  }
}

/**
 * Stores a decoded batch: readings to their vehicles, the latest states, and faults to quarantine, whole or not at all.
 * When the database refuses a value, the batch is halved until the reading at fault is alone and can be quarantined.
 * @throws when the database is away; the batch is then untouched and can be stored again
 */
export async function storeBatch(storage: Storage, uploads: readonly UploadInProgress[]): Promise<StoredBatch> {
  try {
    return await storeWhole(storage, uploads);
  } catch (error) {
    if (!isDataFault(error)) throw error;
    const readings = uploads.reduce((total, upload) => total + upload.readings.length, 0);
    if (readings === 0) throw error;
    if (readings === 1) return storeBatch(storage, uploads.map(asNotStorable));
    const [left, right] = halve(uploads);
    const first = await storeBatch(storage, left);
    const second = await storeBatch(storage, right);
    return {
      readings: first.readings + second.readings,
      quarantinedUploads: first.quarantinedUploads + second.quarantinedUploads,
    };
  }
}
