import { isValueFault } from '@odograph/codec/shared/readings';
import type { Database } from '@odograph/database/database';
import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import { isDataFault, sqlState } from '@odograph/database/postgres-failure';
import type { Sealer } from '@odograph/runtime/sealing';
import { CompiledQuery, sql } from 'kysely';
import { AlarmEvaluation } from '../alarms/evaluate-alarms.ts';
import { writeVehicleStates } from '../alarms/vehicle-states.ts';
import { writeGaps } from '../gaps/ledger.ts';
import {
  groupBy,
  type LinkedReading,
  type PreviousState,
  type QuarantineFault,
  type UploadInProgress,
} from '../pipeline/readings.ts';
import { arrayLiteral, BinaryRows, copyInto, instantArray } from '../pipeline/sql-values.ts';
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

/** A column of `reading` outside its key, with the field of the device reading that fills it. */
interface ReadingColumn {
  name: string;
  type: 'double precision' | 'boolean' | 'smallint' | 'bigint' | 'text' | 'jsonb';
  value(linked: LinkedReading): number | boolean | string | undefined;
}

const electric = {
  soh: 'soh',
  soc: 'soc',
  current: 'current',
  voltage: 'voltage',
  energy: 'energy',
  max_energy: 'maxEnergy',
  min_cell_voltage: 'minCellVoltage',
  max_cell_voltage: 'maxCellVoltage',
  temperature: 'temperature',
  min_cell_temperature: 'minCellTemperature',
  max_cell_temperature: 'maxCellTemperature',
  lifetime_power_use: 'lifetimePowerUse',
  lifetime_charge_power: 'lifetimeChargePower',
} as const;

const json = (value: unknown): string | undefined => (value === undefined ? undefined : JSON.stringify(value));

/** The mapping of readings to rows; statements and parameters are made from it. */
const readingColumns: readonly ReadingColumn[] = [
  { name: 'latitude', type: 'double precision', value: ({ reading }) => reading.location?.latitude },
  { name: 'longitude', type: 'double precision', value: ({ reading }) => reading.location?.longitude },
  { name: 'angle', type: 'double precision', value: ({ reading }) => reading.location?.angle },
  { name: 'altitude', type: 'double precision', value: ({ reading }) => reading.location?.altitude },
  { name: 'speed', type: 'double precision', value: ({ reading }) => reading.location?.speed ?? reading.fleet?.speed },
  { name: 'satellites', type: 'smallint', value: ({ reading }) => reading.location?.satellites },
  { name: 'ignition', type: 'boolean', value: ({ reading }) => reading.status?.ignition },
  { name: 'movement', type: 'boolean', value: ({ reading }) => reading.status?.movement },
  { name: 'mileage', type: 'double precision', value: ({ reading }) => reading.status?.mileage },
  { name: 'autonomy', type: 'double precision', value: ({ reading }) => reading.status?.autonomy },
  ...Object.entries(electric).map(
    ([name, field]): ReadingColumn => ({
      name,
      type: 'double precision',
      value: ({ reading }) => reading.electric?.[field],
    }),
  ),
  { name: 'can', type: 'jsonb', value: ({ reading }) => json(reading.can) },
  { name: 'sensors', type: 'jsonb', value: ({ reading }) => json(reading.sensors) },
  { name: 'fleet', type: 'jsonb', value: ({ reading }) => json(reading.fleet) },
  { name: 'alarms', type: 'jsonb', value: ({ reading }) => json(reading.alarms) },
  { name: 'frames', type: 'jsonb', value: ({ reading }) => json(reading.frames) },
  { name: 'decoded_can', type: 'jsonb', value: ({ decodedCan }) => json(decodedCan) },
  { name: 'sequence', type: 'bigint', value: ({ reading }) => reading.sequence },
];

const keyColumns = ['vehicle_id', 'time', 'application_id', 'device_id', 'received_at'];
const names = readingColumns.map(({ name }) => name);
const columns = [...keyColumns, ...names];

function addText(rows: BinaryRows, type: ReadingColumn['type'], value: string): void {
  if (type === 'jsonb') rows.jsonb(value);
  else rows.text(value);
}

function addValue(rows: BinaryRows, { type, value: read }: ReadingColumn, linked: LinkedReading): void {
  const value = read(linked);
  if (value === undefined) rows.null();
  else if (typeof value === 'boolean') rows.boolean(value);
  else if (typeof value === 'string') addText(rows, type, value);
  else if (type === 'double precision') rows.double(value);
  else if (type === 'smallint') rows.smallint(value);
  else rows.bigint(value);
}

function addReading(rows: BinaryRows, linked: LinkedReading): void {
  rows.row(columns.length);
  rows.integer(linked.vehicleId);
  rows.timestamptz(linked.timeMicroseconds);
  rows.integer(linked.applicationId);
  rows.text(linked.deviceId);
  rows.timestamptz(linked.receivedAtMs * 1000);
  for (const column of readingColumns) addValue(rows, column, linked);
}

/** Adds inserted readings to the change feed, one row for each application. */
async function recordChanges(db: Database, readings: readonly LinkedReading[]): Promise<void> {
  for (const [applicationId, group] of groupBy(readings, (linked) => linked.applicationId)) {
    await sql`insert into reading_change (application_id, vehicle_ids, times) select ${applicationId}::integer,
      ${arrayLiteral(group.map(({ vehicleId }) => vehicleId))}::integer[],
      ${instantArray(group.map(({ timeMicroseconds }) => timeMicroseconds))}`.execute(db);
  }
}

/** Copies readings that cannot be stored yet. @throws DatabaseError unique_violation when one of them is */
async function insertReadings(db: Database, readings: readonly LinkedReading[]): Promise<void> {
  if (readings.length === 0) return;
  const rows = new BinaryRows();
  for (const reading of readings) addReading(rows, reading);
  await copyInto(db, 'reading', columns, rows);
  await recordChanges(db, readings);
}

/** The value received later wins; null never replaces a value. */
function mergedValue(name: string): string {
  return `case when excluded.received_at >= reading.received_at
    then coalesce(excluded.${name}, reading.${name}) else coalesce(reading.${name}, excluded.${name}) end`;
}

const incomingColumns = ['vehicle_id', 'time_us', 'application_id', 'device_id', 'received_ms', ...names];

/**
 * Inserts or merges, one row for each vehicle and device time, and adds what changed to the change feed. A repeated upload
 * changes nothing, not even the row version, so it does not reappear in the feed.
 */
const mergeStatement = `
with stored as (
insert into reading (vehicle_id, time, application_id, device_id, received_at, ${names.join(', ')})
select vehicle_id, timestamptz 'epoch' + time_us * interval '1 microsecond', application_id, device_id,
  timestamptz 'epoch' + received_ms * interval '1 millisecond', ${names.join(', ')}
from unnest($1::integer[], $2::bigint[], $3::integer[], $4::text[], $5::bigint[],
  ${readingColumns.map(({ type }, index) => `$${index + 6}::${type}[]`).join(', ')})
  as incoming (${incomingColumns.join(', ')})
on conflict (vehicle_id, time) do update set
  ${names.map((name) => `${name} = ${mergedValue(name)}`).join(',\n  ')},
  received_at = greatest(reading.received_at, excluded.received_at)
where (${names.map(mergedValue).join(',\n  ')})
  is distinct from (${names.map((name) => `reading.${name}`).join(', ')})
returning application_id, vehicle_id, time)
insert into reading_change (application_id, vehicle_ids, times)
select application_id, array_agg(vehicle_id), array_agg(time) from stored group by application_id`;

/**
 * Merges readings with those stored at the same time of the same vehicle, in one statement.
 * @param readings as from mergeReadings
 */
async function mergeWithStored(db: Database, readings: readonly LinkedReading[]): Promise<void> {
  if (readings.length === 0) return;
  const parameters = [
    arrayLiteral(readings.map(({ vehicleId }) => vehicleId)),
    arrayLiteral(readings.map(({ timeMicroseconds }) => timeMicroseconds)),
    arrayLiteral(readings.map(({ applicationId }) => applicationId)),
    arrayLiteral(readings.map(({ deviceId }) => deviceId)),
    arrayLiteral(readings.map(({ receivedAtMs }) => receivedAtMs)),
    ...readingColumns.map(({ value }) => arrayLiteral(readings.map(value))),
  ];
  await db.executeQuery(CompiledQuery.raw(mergeStatement, parameters));
}

/** @param previous the state of the vehicles, locked, before this batch */
type WriteReadings = (
  db: Database,
  readings: readonly LinkedReading[],
  previous: readonly PreviousState[],
) => Promise<void>;

/**
 * Inserts readings that are newer than all others of their vehicle, and merges the rest with what is stored. Nearly all
 * are new, and an insert costs half of a merge.
 */
const insertOrMergeReadings: WriteReadings = async (db, readings, previous) => {
  const newest = new Map(previous.map(({ vehicleId, newestMicroseconds }) => [vehicleId, newestMicroseconds]));
  const isNew = ({ vehicleId, timeMicroseconds }: LinkedReading) =>
    timeMicroseconds > (newest.get(vehicleId) ?? Number.NEGATIVE_INFINITY);
  const late = readings.filter((reading) => !isNew(reading));
  await mergeWithStored(db, late);
  await insertReadings(db, late.length === 0 ? readings : readings.filter(isNew));
};

/** Merges all readings with what is stored, without trusting the latest states. */
const mergeAllReadings: WriteReadings = (db, readings) => mergeWithStored(db, readings);

const hourMicroseconds = 3_600_000_000;

type CountedReading = Pick<LinkedReading, 'applicationId' | 'vehicleId' | 'timeMicroseconds'>;

/** Marks the counts of hours that late readings fall into as unknown. Readings of unsettled hours cost nothing. */
export class SettledHours {
  #cached: { version: number; untilMicroseconds: number } | undefined;

  /**
   * Call it in the transaction that stores the readings.
   * @param version from shareIngestBarrier in this transaction; a settlement raises it
   */
  async markLate(db: Database, version: number, readings: readonly CountedReading[]): Promise<void> {
    if (this.#cached?.version !== version) {
      const { rows } = await sql<{ until: number }>`
        select (extract(epoch from settled_until) * 1000000)::bigint as until from reading_settlement`.execute(db);
      this.#cached = { version, untilMicroseconds: rows[0]?.until ?? Number.NEGATIVE_INFINITY };
    }
    const { untilMicroseconds } = this.#cached;
    const late = readings.filter(({ timeMicroseconds }) => timeMicroseconds < untilMicroseconds);
    if (late.length === 0) return;
    const ids = late.map(({ vehicleId }) => vehicleId);
    const hours = late.map(({ timeMicroseconds }) => Math.floor(timeMicroseconds / hourMicroseconds));
    const applications = late.map(({ applicationId }) => applicationId);
    await sql`insert into reading_count (vehicle_id, hour, application_id)
      select distinct vehicle_id, timestamptz 'epoch' + hour * interval '1 hour', application_id
      from unnest(${ids}::integer[], ${hours}::integer[], ${applications}::integer[])
        as late (vehicle_id, hour, application_id) order by 1, 2, 3
      on conflict (vehicle_id, hour, application_id) do update set count = null`.execute(db);
  }
}
