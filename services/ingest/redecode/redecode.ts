import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Database } from '@odograph/database/database';
import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import type { Tables } from '@odograph/database/tables';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Kysely } from 'kysely';
import { AlarmEvaluation } from '../alarms/evaluate-alarms.ts';
import { touchTrips } from '../trips/trip-work.ts';
import { FrameDecoding, withoutKeysOf } from '../upload/decode-frames.ts';
import { findPrivacyIntervals, type LinkedReading } from '../upload/link-readings.ts';
import { protectReadings } from '../upload/protect-readings.ts';
import { writeLatestStates } from '../upload/write-latest-states.ts';
import {
  findNextVehicle,
  lockVehicle,
  type Redecoding,
  readNext,
  recordProgress,
  type StoredReading,
  takeRedecoding,
  writeDecoded,
} from './queries.ts';

/**
 * Readings that one transaction looks at. Uploads of their vehicle wait for it, and a change of compressed readings first
 * decompresses them.
 */
const readingsPerStep = 500;
/** Other maintenance waits for a run. */
const longestRunMs = 4000;

/** What one transaction changed. */
interface Step {
  readonly readings: number;
  readonly vehicleIds: readonly number[];
  readonly alarmIds: readonly string[];
}

/** Decodes stored frames again, as operators request it, in transactions that exclude changes of databases and privacy. */
export class FrameRedecoding {
  readonly #db: Kysely<Tables>;
  readonly #changes: Pick<ChangeAnnouncer, 'announce'>;
  readonly #frames = new FrameDecoding();
  readonly #alarms = new AlarmEvaluation();

  constructor(db: Kysely<Tables>, changes: Pick<ChangeAnnouncer, 'announce'>) {
    this.#db = db;
    this.#changes = changes;
  }

  /** Works on requests for some seconds, half of the time. The rest waits for the next run. @returns the readings seen */
  async run(stopping?: AbortSignal): Promise<number> {
    const start = performance.now();
    let readings = 0;
    while (stopping?.aborted !== true && performance.now() - start < longestRunMs) {
      const stepStart = performance.now();
      const step = await this.#step();
      if (step === undefined) break;
      readings += step.readings;
      const { vehicleIds, alarmIds } = step;
      if (vehicleIds.length > 0) await this.#changes.announce({ vehicleIds, alarmIds });
      // Leaves half of the database to uploads.
      await delay(performance.now() - stepStart, undefined, stopping && { signal: stopping }).catch(() => undefined);
    }
    return readings;
  }

  /** Decodes the next readings of the oldest request. @returns undefined without a request */
  async #step(): Promise<Step | undefined> {
    return this.#db.transaction().execute(async (trx) => {
      const { alarmRules, canDatabases } = await shareIngestBarrier(trx);
      const request = await takeRedecoding(trx);
      if (request === undefined) return undefined;
      const vehicleId = request.vehicleId ?? (await findNextVehicle(trx, request.model, 0));
      if (vehicleId === undefined) {
        await recordProgress(trx, request, { ...nothing, vehicleId, timeMicroseconds: undefined });
        return { readings: 0, vehicleIds: [], alarmIds: [] };
      }
      const stored = await this.#readPage(trx, request, vehicleId);
      const changed = await this.#findChanged(trx, canDatabases, vehicleId, stored);
      const alarmIds = await this.#store(trx, alarmRules, vehicleId, changed);
      await finishStep(trx, request, vehicleId, stored, changed.length);
      return { readings: stored.length, vehicleIds: changed.length > 0 ? [vehicleId] : [], alarmIds };
    });
  }

  async #readPage(db: Database, request: Redecoding, vehicleId: number): Promise<StoredReading[]> {
    if (!(await lockVehicle(db, vehicleId))) return [];
    return readNext(db, request, vehicleId, readingsPerStep);
  }

  /** Decodes readings, and keeps those whose values differ from what is stored. */
  async #findChanged(
    db: Database,
    version: number,
    vehicleId: number,
    stored: readonly StoredReading[],
  ): Promise<LinkedReading[]> {
    const decode = (await this.#frames.load(db, version, new Set([vehicleId])))(vehicleId);
    const privacyIntervals = await findPrivacyIntervals(db, vehicleId);
    return stored.flatMap((one) => {
      const { frames, timeMicroseconds, applicationId, deviceId, receivedAtMs } = one;
      if (frames === null) return [];
      const can = one.can ?? [];
      const linked: LinkedReading = {
        ...{ vehicleId, applicationId, deviceId, timeMicroseconds, receivedAtMs, privacyIntervals },
        reading: { timestamp: timeMicroseconds / 1e6, can },
        decodedCan: decode === undefined ? [] : withoutKeysOf(can, decode(frames)),
      };
      const [decoded] = protectReadings([linked]);
      return decoded && !isDeepStrictEqual(decoded.decodedCan, one.decodedCan ?? []) ? [decoded] : [];
    });
  }

  /** Stores decoded values as those of late uploads are. @returns the ids of alarms that were raised or cleared */
  async #store(
    db: Database,
    alarmRules: number,
    vehicleId: number,
    changed: readonly LinkedReading[],
  ): Promise<string[]> {
    if (changed.length === 0) return [];
    const previous = await writeLatestStates(db, changed);
    const alarmIds = await this.#alarms.evaluate(db, alarmRules, changed, previous);
    await writeDecoded(db, vehicleId, changed);
    await touchTrips(db, changed);
    return alarmIds;
  }
}

const nothing = { vehicles: 0, readings: 0, changed: 0 };

async function finishStep(
  db: Database,
  request: Redecoding,
  vehicleId: number,
  stored: readonly StoredReading[],
  changed: number,
): Promise<void> {
  const counts = { readings: stored.length, changed };
  const last = stored.at(-1);
  if (last !== undefined && stored.length === readingsPerStep) {
    await recordProgress(db, request, { ...counts, vehicles: 0, vehicleId, timeMicroseconds: last.timeMicroseconds });
    return;
  }
  const next = await findNextVehicle(db, request.model, vehicleId);
  await recordProgress(db, request, { ...counts, vehicles: 1, vehicleId: next, timeMicroseconds: undefined });
}
