import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { CanDatum, RawCanFrame } from '@odograph/contracts/telemetry';
import type { Database } from '@odograph/database/database';
import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import type { Tables } from '@odograph/database/tables';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { type Kysely, sql } from 'kysely';
import { AlarmEvaluation } from '../alarms/evaluate-alarms.ts';
import { admitOldReadings } from '../pipeline/compression.ts';
import type { LinkedReading } from '../pipeline/readings.ts';
import { arrayLiteral, instant } from '../pipeline/sql-values.ts';
import { touchTrips } from '../trips/trip-work.ts';
import { FrameDecoding, withoutKeysOf } from '../upload/decode-frames.ts';
import { findPrivacyIntervals, protectReadings } from '../upload/link-readings.ts';
import { writeLatestStates } from '../upload/write-latest-states.ts';

/** A request to decode the frames of a vehicle model again, and how far it is. */
interface Redecoding {
  readonly id: number;
  readonly model: string;
  /** Of the vehicle in progress; null before the first one. */
  readonly vehicleId: number | null;
}

/** Locks the oldest request that is not finished, unless another process works on it. */
async function takeRedecoding(db: Database): Promise<Redecoding | undefined> {
  const { rows } = await sql<Redecoding>`select id, model, vehicle_id as "vehicleId" from can_redecoding
    where finished_at is null order by id limit 1 for update skip locked`.execute(db);
  return rows[0];
}

/** Finds the first vehicle of a model with an id above another. */
async function findNextVehicle(db: Database, model: string, above: number): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`select id from vehicle where lower(model) = lower(${model})
    and deleted_at is null and id > ${above} order by id limit 1`.execute(db);
  return rows[0]?.id;
}

/** A stored reading; the lists are null where it has no frames. */
interface StoredReading {
  readonly timeMicroseconds: number;
  readonly applicationId: number;
  readonly deviceId: string;
  readonly receivedAtMs: number;
  readonly frames: RawCanFrame[] | null;
  readonly can: CanDatum[] | null;
  readonly decodedCan: CanDatum[] | null;
}

/** Locks a vehicle and reads its next readings, in time order, in the interval of a request and after its progress. */
async function readNext(db: Database, { id }: Redecoding, vehicleId: number): Promise<StoredReading[]> {
  // As every transaction that stores readings of the vehicle does first.
  const { rows: locked } = await sql`select from vehicle_latest join vehicle on vehicle.id = vehicle_id
    where vehicle_id = ${vehicleId} and deleted_at is null for update of vehicle_latest`.execute(db);
  const { rows: found } = await sql<{ after: string; from: string; until: string }>`
    select coalesce(time, '-infinity')::text as after, coalesce(from_time, '-infinity')::text as from,
      coalesce(until_time, 'infinity')::text as until from can_redecoding where id = ${id}`.execute(db);
  const [bounds] = found;
  if (locked.length === 0 || !bounds) return [];
  // Constant bounds, so that other chunks are not even planned.
  const { rows } = await sql<StoredReading>`
    select (extract(epoch from time) * 1000000)::bigint as "timeMicroseconds", application_id as "applicationId",
      device_id as "deviceId", (extract(epoch from received_at) * 1000)::bigint as "receivedAtMs", frames,
      case when frames is not null then can end as can, case when frames is not null then decoded_can end as "decodedCan"
    from reading where vehicle_id = ${vehicleId} and time > ${bounds.after}::timestamptz
      and time >= ${bounds.from}::timestamptz and time < ${bounds.until}::timestamptz
    order by time limit ${readingsPerStep}`.execute(db);
  return rows;
}

/** Writes the decoded values of stored readings of one vehicle, in time order, and adds them to the change feed. */
async function writeDecoded(db: Database, vehicleId: number, readings: readonly LinkedReading[]): Promise<void> {
  const times = readings.map(({ timeMicroseconds }) => timeMicroseconds);
  await sql`
    with changed as (
      update reading set decoded_can = incoming.value
      from unnest(${arrayLiteral(times)}::bigint[],
        ${arrayLiteral(readings.map(({ decodedCan }) => JSON.stringify(decodedCan ?? [])))}::jsonb[]) as incoming (time_us, value)
      where reading.vehicle_id = ${vehicleId} and reading.time >= ${instant(times[0] ?? 0)}
        and reading.time <= ${instant(times.at(-1) ?? 0)}
        and reading.time = timestamptz 'epoch' + incoming.time_us * interval '1 microsecond'
      returning application_id, vehicle_id, time)
    insert into reading_change (application_id, vehicle_ids, times)
    select application_id, array_agg(vehicle_id), array_agg(time) from changed group by application_id`.execute(db);
}

interface Progress {
  /** Undefined when no vehicle is left. */
  readonly vehicleId?: number | undefined;
  /** Of the last reading; undefined at the beginning of a vehicle. */
  readonly timeMicroseconds?: number;
  readonly vehicles: number;
  readonly readings: number;
  readonly changed: number;
}

/** Records the progress of a request; it is finished when no vehicle is left. */
async function recordProgress(db: Database, { id }: Redecoding, progress: Progress): Promise<void> {
  const { vehicleId, timeMicroseconds, vehicles, readings, changed } = progress;
  await sql`update can_redecoding set vehicle_id = ${vehicleId ?? null}::integer,
      time = timestamptz 'epoch' + ${timeMicroseconds ?? null}::bigint * interval '1 microsecond',
      vehicles_done = vehicles_done + ${vehicles}::integer, readings_done = readings_done + ${readings}::integer,
      readings_changed = readings_changed + ${changed}::integer,
      finished_at = case when ${vehicleId === undefined}::boolean then clock_timestamp() end
    where id = ${id}`.execute(db);
}

/**
 * Readings that one transaction looks at. Uploads of their vehicle wait for it, and a change of compressed readings first
 * decompresses them.
 */
const readingsPerStep = 500;
/** Other maintenance waits for a run. */
const maxRunMs = 4000;

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
    while (stopping?.aborted !== true && performance.now() - start < maxRunMs) {
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
  async #step(): Promise<{ readings: number; vehicleIds: number[]; alarmIds: string[] } | undefined> {
    return this.#db.transaction().execute(async (trx) => {
      const { alarmRules, canDatabases } = await shareIngestBarrier(trx);
      if (!(await admitOldReadings(trx))) return undefined;
      const request = await takeRedecoding(trx);
      if (request === undefined) return undefined;
      const vehicleId = request.vehicleId ?? (await findNextVehicle(trx, request.model, 0));
      if (vehicleId === undefined) {
        await recordProgress(trx, request, { vehicles: 0, readings: 0, changed: 0 });
        return { readings: 0, vehicleIds: [], alarmIds: [] };
      }
      const stored = await readNext(trx, request, vehicleId);
      const changed = await this.#findChanged(trx, canDatabases, vehicleId, stored);
      const alarmIds = await this.#store(trx, alarmRules, vehicleId, changed);
      await finishStep(trx, request, vehicleId, stored, changed.length);
      return { readings: stored.length, vehicleIds: changed.length > 0 ? [vehicleId] : [], alarmIds };
    });
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
  async #store(db: Database, rules: number, vehicleId: number, changed: readonly LinkedReading[]): Promise<string[]> {
    if (changed.length === 0) return [];
    const previous = await writeLatestStates(db, changed);
    const alarmIds = await this.#alarms.evaluate(db, rules, changed, previous);
    await writeDecoded(db, vehicleId, changed);
    await touchTrips(db, changed);
    return alarmIds;
  }
}

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
  await recordProgress(db, request, { ...counts, vehicles: 1, vehicleId: next });
}
