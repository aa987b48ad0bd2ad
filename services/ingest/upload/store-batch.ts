import { isValueFault } from '@odograph/codec/shared/readings';
import type { Database } from '@odograph/database/database';
import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import { isDataFault, sqlState } from '@odograph/database/postgres-failure';
import type { Sealer } from '@odograph/runtime/sealing';
import { AlarmEvaluation } from '../alarms/evaluate-alarms.ts';
import { writeVehicleStates } from '../alarms/vehicle-states.ts';
import { writeGaps } from '../gaps/write-gaps.ts';
import type { QuarantineFault, UploadInProgress } from '../pipeline/readings.ts';
import { touchTrips } from '../trips/trip-work.ts';
import { FrameDecoding } from './decode-frames.ts';
import { LinkCache, linkReadings, mergeReadings, protectReadings } from './link-readings.ts';
import {
  countDropped,
  QuarantineQuota,
  quarantineUploads,
  quarantineValues,
  resolveQuarantined,
} from './quarantine.ts';
import { writeLatestStates } from './write-latest-states.ts';
import { insertOrMergeReadings, mergeAllReadings, SettledHours, type WriteReadings } from './write-readings.ts';

interface StoredBatch {
  readings: number;
  /** The vehicles of the readings. */
  vehicleIds: readonly number[];
  /** Alarms that were raised or cleared. */
  alarmIds: readonly string[];
  /** Uploads of which a reading, or all, went to quarantine. */
  quarantined: readonly UploadInProgress[];
  /** Uploads whose readings are stored without their invalid values. */
  partial: readonly UploadInProgress[];
  /** Uploads beyond the quarantine quota of their device. */
  droppedUploads: number;
}

const uniqueViolation = '23505';

/** Stores decoded uploads in the database. Keeps caches; one store serves all batches of a process. */
export class BatchStore {
  readonly #db: Database;
  readonly #sealer: Sealer;
  readonly #quota: QuarantineQuota;
  readonly #links = new LinkCache();
  readonly #frames = new FrameDecoding();
  readonly #alarms = new AlarmEvaluation();
  readonly #settledHours = new SettledHours();

  constructor(db: Database, sealer: Sealer, quota = new QuarantineQuota(Number.POSITIVE_INFINITY)) {
    this.#db = db;
    this.#sealer = sealer;
    this.#quota = quota;
  }

  /**
   * Stores a batch in one transaction. When the database rejects a value, the batch is halved until the reading at fault
   * is alone and goes to quarantine.
   * @param isPermanent whether storing the same uploads again would fail with the same error
   * @throws when the database is unavailable; the batch can be stored again
   */
  async store(
    uploads: readonly UploadInProgress[],
    isPermanent: (error: unknown) => boolean = isDataFault,
  ): Promise<StoredBatch> {
    try {
      return await this.#insertOrMerge(uploads);
    } catch (error) {
      if (!isPermanent(error)) throw error;
      const readings = uploads.reduce((total, upload) => total + upload.readings.length, 0);
      if (readings === 1) return this.store(uploads.map(asNotStorable), isPermanent);
      const [only] = uploads;
      if (readings === 0 && uploads.length === 1 && only) {
        if (only.faults[0] === refusedFault) throw error;
        return this.store([{ ...only, faults: [refusedFault] }], isPermanent);
      }
      const [left, right] = halve(uploads);
      const [first, second] = [await this.store(left, isPermanent), await this.store(right, isPermanent)];
      const stored = {
        readings: first.readings + second.readings,
        vehicleIds: [...first.vehicleIds, ...second.vehicleIds],
        alarmIds: [...first.alarmIds, ...second.alarmIds],
        quarantined: [...first.quarantined, ...second.quarantined],
        partial: [...first.partial, ...second.partial],
        droppedUploads: first.droppedUploads + second.droppedUploads,
      };
      const isWhole = uploads.length === 1 && stored.quarantined.length + stored.droppedUploads === 0;
      if (isWhole) await resolveQuarantined(this.#db, uploads);
      return stored;
    }
  }

  async #insertOrMerge(uploads: readonly UploadInProgress[]): Promise<StoredBatch> {
    try {
      return await this.#storeInTransaction(uploads, insertOrMergeReadings);
    } catch (error) {
      // The latest state was deleted or set back by hand, so readings that seem new are stored already.
      if (sqlState(error) !== uniqueViolation) throw error;
      return this.#storeInTransaction(uploads, mergeAllReadings);
    }
  }

  /** The path of a decoded batch, step by step. */
  async #storeInTransaction(decoded: readonly UploadInProgress[], writeReadings: WriteReadings): Promise<StoredBatch> {
    const nowMs = Date.now();
    const stored = await this.#db.transaction().execute(async (transaction) => {
      const { decisions, alarmRules, canDatabases } = await shareIngestBarrier(transaction);
      const withReadings = decoded.filter(({ readings }) => readings.length > 0);
      const deviceIds = new Set(withReadings.map(({ upload }) => upload.deviceId));
      const links = await this.#links.find(transaction, decisions, deviceIds);
      const { linked, uploads } = linkReadings(decoded, links);
      const decodedFrames = await this.#frames.decode(transaction, canDatabases, linked);
      const readings = mergeReadings(protectReadings(decodedFrames));
      // First of the writes: it locks the vehicles and returns their newest times, which separate new readings from late.
      const previous = await writeLatestStates(transaction, readings);
      const alarmIds = await this.#alarms.evaluate(transaction, alarmRules, readings, previous);
      await writeReadings(transaction, readings, previous);
      await writeVehicleStates(transaction, readings, previous);
      await this.#settledHours.markLate(transaction, decisions, readings);
      await writeGaps(transaction, uploads, nowMs);
      await touchTrips(transaction, readings);
      const withFaults = uploads.filter(({ faults }) => faults.length > 0);
      const partial = withFaults.filter(({ faults }) => faults.every(isValueFault));
      const rejected = withFaults.filter(({ faults }) => !faults.every(isValueFault));
      const { kept, dropped } = this.#quota.split(rejected, nowMs);
      await quarantineUploads(transaction, this.#sealer, kept);
      await quarantineValues(transaction, this.#sealer, partial, nowMs);
      await countDropped(transaction, this.#sealer, dropped, nowMs);
      await resolveQuarantined(transaction, uploads);
      const vehicleIds = previous.map(({ vehicleId }) => vehicleId);
      const counts = { readings: linked.length, droppedUploads: dropped.length };
      return { ...counts, vehicleIds, alarmIds, quarantined: kept, partial };
    });
    this.#quota.count(stored.quarantined, nowMs);
    return stored;
  }
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
    [{ ...only, readings: only.readings.slice(0, middle), isPart: true }],
    [{ ...only, readings: only.readings.slice(middle), faults: [], isPart: true }],
  ];
}

/** Replaces faults that the database refuses. */
const refusedFault: QuarantineFault = {
  index: null,
  reason: 'NOT_STORABLE',
  message: 'the database rejected the upload and the description of its faults',
};

function asNotStorable({ upload, readings, faults }: UploadInProgress): UploadInProgress {
  const fault = { reason: 'NOT_STORABLE', message: 'the database rejected the reading' } as const;
  const rejected = readings.map(({ index }) => ({ index, ...fault }));
  return { upload, readings: [], faults: [...faults, ...rejected] };
}
