import { isValueFault } from '@odograph/codec/shared/readings';
import type { QueuedUpload } from '@odograph/contracts/queues';
import type { Database } from '@odograph/database/database';
import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import { isDataFault, sqlState } from '@odograph/database/postgres-failure';
import type { Sealer } from '@odograph/runtime/sealing';
import { CompiledQuery, sql } from 'kysely';
import { AlarmEvaluation } from '../alarms/evaluate-alarms.ts';
import { writeVehicleStates } from '../alarms/vehicle-states.ts';
import { writeGaps } from '../gaps/ledger.ts';
import { postponeOldReadings } from '../pipeline/compression.ts';
import {
  groupBy,
  type LinkedReading,
  type PreviousState,
  type QuarantineFault,
  type UploadInProgress,
} from '../pipeline/readings.ts';
import {
  BinaryRows,
  ColumnArrays,
  copyInto,
  instantArray,
  integerArray,
  joinedLists,
  type RowWriter,
} from '../pipeline/sql-values.ts';
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
import { SettledHours } from './settled-hours.ts';
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
  /** Uploads with old readings that were not stored, because a chunk is being compressed. */
  postponed: readonly QueuedUpload[];
}

/** Joins the results of batches that were stored separately. */
export function joinStored(parts: readonly StoredBatch[]): StoredBatch {
  return {
    readings: parts.reduce((total, { readings }) => total + readings, 0),
    vehicleIds: parts.flatMap(({ vehicleIds }) => vehicleIds),
    alarmIds: parts.flatMap(({ alarmIds }) => alarmIds),
    quarantined: parts.flatMap(({ quarantined }) => quarantined),
    partial: parts.flatMap(({ partial }) => partial),
    droppedUploads: parts.reduce((total, { droppedUploads }) => total + droppedUploads, 0),
    postponed: parts.flatMap(({ postponed }) => postponed),
  };
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
      const stored = joinStored([await this.store(left, isPermanent), await this.store(right, isPermanent)]);
      const { quarantined, droppedUploads, postponed } = stored;
      const isWhole = uploads.length === 1 && quarantined.length + droppedUploads + postponed.length === 0;
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
      const { admitted, postponed } = await postponeOldReadings(transaction, decoded, nowMs);
      const withReadings = admitted.filter(({ readings }) => readings.length > 0);
      const deviceIds = new Set(withReadings.map(({ upload }) => upload.deviceId));
      const links = await this.#links.find(transaction, decisions, deviceIds);
      const { linked, uploads } = linkReadings(admitted, links);
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
      return { ...counts, vehicleIds, alarmIds, quarantined: kept, partial, postponed };
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

const keyColumns = ['vehicle_id', 'time', 'application_id', 'device_id', 'received_at'];

/**
 * A value of a reading, in one column or in a pair of which at most one is not null
 * (migrations/0028_whole_numbers.sql).
 */
interface StoredValue {
  columns: readonly { name: string; type: string }[];
  /** SQL for the value in a row, in the unit of the interface. */
  of(row: string): string;
  /** The member that identifies the elements of a list; other values are replaced as a whole. */
  elementKey?: 'key' | 'name';
}

const plain = (type: string, ...names: string[]): StoredValue[] =>
  names.map((name) => ({ columns: [{ name, type }], of: (row) => `${row}.${name}` }));
const doubles = (...names: string[]) => plain('double precision', ...names);

const list = (name: string, elementKey: 'key' | 'name'): StoredValue[] =>
  plain('jsonb', name).map((value) => ({ ...value, elementKey }));

const scaled = (integer: string, double: string, unitsPerOne: number): StoredValue => ({
  columns: [
    { name: integer, type: 'integer' },
    { name: double, type: 'double precision' },
  ],
  of: (row) => `coalesce(${row}.${integer} / ${unitsPerOne}::double precision, ${row}.${double})`,
});

/** The values of `reading` outside its key, in the order of writeReading. */
const readingValues: readonly StoredValue[] = [
  scaled('latitude_e7', 'latitude', 1e7),
  scaled('longitude_e7', 'longitude', 1e7),
  ...doubles('angle', 'altitude', 'speed'),
  ...plain('smallint', 'satellites'),
  ...plain('boolean', 'ignition', 'movement'),
  scaled('mileage_metres', 'mileage', 1000),
  ...doubles('autonomy', 'soh', 'soc'),
  scaled('current_milliamperes', 'current', 1000),
  scaled('voltage_millivolts', 'voltage', 1000),
  ...doubles('energy', 'max_energy', 'min_cell_voltage', 'max_cell_voltage'),
  ...doubles('temperature', 'min_cell_temperature', 'max_cell_temperature'),
  ...doubles('lifetime_power_use', 'lifetime_charge_power'),
  ...list('can', 'key'),
  ...list('sensors', 'name'),
  ...plain('jsonb', 'fleet', 'alarms', 'frames', 'decoded_can'),
  ...plain('bigint', 'sequence'),
];
const readingColumns = readingValues.flatMap((value) => value.columns);
const names = readingColumns.map(({ name }) => name);
const columns = [...keyColumns, ...names];

const maxInteger = 2 ** 31 - 1;

/** Writes the two columns of a value: an integer of a smaller unit if the conversion is exact, else a double. */
function writeScaled(rows: RowWriter, value: number | undefined, unitsPerOne: number): void {
  const units = value === undefined ? undefined : Math.round(value * unitsPerOne);
  const isExact = units !== undefined && units / unitsPerOne === value && Math.abs(units) <= maxInteger;
  rows.integer(isExact ? units : undefined);
  rows.double(isExact ? undefined : value);
}

/** Writes the row of a reading. Unrolled: a loop over the columns takes twice as long. */
function writeReading(rows: RowWriter, linked: LinkedReading): void {
  const { reading } = linked;
  const { location, status, electric, fleet } = reading;
  rows.row(columns.length);
  rows.integer(linked.vehicleId);
  rows.timestamptz(linked.timeMicroseconds);
  rows.integer(linked.applicationId);
  rows.text(linked.deviceId);
  rows.timestamptz(linked.receivedAtMs * 1000);
  writeScaled(rows, location?.latitude, 1e7);
  writeScaled(rows, location?.longitude, 1e7);
  rows.double(location?.angle);
  rows.double(location?.altitude);
  rows.double(location?.speed ?? fleet?.speed);
  rows.smallint(location?.satellites);
  rows.boolean(status?.ignition);
  rows.boolean(status?.movement);
  writeScaled(rows, status?.mileage, 1000);
  rows.double(status?.autonomy);
  rows.double(electric?.soh);
  rows.double(electric?.soc);
  writeScaled(rows, electric?.current, 1000);
  writeScaled(rows, electric?.voltage, 1000);
  rows.double(electric?.energy);
  rows.double(electric?.maxEnergy);
  rows.double(electric?.minCellVoltage);
  rows.double(electric?.maxCellVoltage);
  rows.double(electric?.temperature);
  rows.double(electric?.minCellTemperature);
  rows.double(electric?.maxCellTemperature);
  rows.double(electric?.lifetimePowerUse);
  rows.double(electric?.lifetimeChargePower);
  rows.jsonb(reading.can);
  rows.jsonb(reading.sensors);
  rows.jsonb(fleet);
  rows.jsonb(reading.alarms);
  rows.jsonb(reading.frames);
  rows.jsonb(linked.decodedCan);
  rows.bigint(reading.sequence);
}

/** Typical size of a row, used to allocate buffers. */
const usualRowBytes = 400;

/** Adds inserted readings to the change feed, one row for each application. */
async function recordChanges(db: Database, readings: readonly LinkedReading[]): Promise<void> {
  for (const [applicationId, group] of groupBy(readings, (linked) => linked.applicationId)) {
    await sql`insert into reading_change (application_id, vehicle_ids, times) select ${applicationId}::integer,
      ${integerArray(group.map(({ vehicleId }) => vehicleId))},
      ${instantArray(group.map(({ timeMicroseconds }) => timeMicroseconds))}`.execute(db);
  }
}

/** Copies readings that cannot be stored yet. @throws DatabaseError unique_violation when one of them is */
async function insertReadings(db: Database, readings: readonly LinkedReading[]): Promise<void> {
  if (readings.length === 0) return;
  const rows = new BinaryRows(readings.length * usualRowBytes);
  for (const reading of readings) writeReading(rows, reading);
  await copyInto(db, 'reading', columns, rows);
  await recordChanges(db, readings);
}

/** Builds SQL that merges the lists of the incoming row and the stored one; elements received later win. */
function mergedLists({ of }: StoredValue, elementKey: string): string {
  const [incoming, stored] = [of('excluded'), of('reading')];
  return `case when ${incoming} is null or ${stored} is null or ${incoming} = ${stored}
    then coalesce(${stored}, ${incoming})
    when excluded.received_at >= reading.received_at then ${joinedLists(stored, incoming, elementKey)}
    else ${joinedLists(incoming, stored, elementKey)} end`;
}

/**
 * Builds SQL that chooses between the incoming row and the stored one for a value: the one received later wins, and
 * null never replaces a value. Lists are joined.
 * @param of SQL for what is taken from a row: the value or one of its columns
 */
const merged = (value: StoredValue, of: (row: string) => string): string =>
  value.elementKey !== undefined
    ? mergedLists(value, value.elementKey)
    : `case when case when excluded.received_at >= reading.received_at
    then ${value.of('excluded')} is not null else ${value.of('reading')} is null end
  then ${of('excluded')} else ${of('reading')} end`;

const mergedColumns = readingValues.flatMap((value) =>
  value.columns.map(({ name }) => `${name} = ${merged(value, (row) => `${row}.${name}`)}`),
);

/**
 * Inserts or merges, one row for each vehicle and device time, and adds what changed to the change feed. A repeated upload
 * changes nothing, not even the row version, so it does not reappear in the feed, whichever columns hold its values.
 */
const mergeStatement = `
with stored as (
insert into reading (${columns.join(', ')})
select vehicle_id, timestamptz 'epoch' + time_us * interval '1 microsecond', application_id, device_id,
  timestamptz 'epoch' + received_us * interval '1 microsecond', ${names.join(', ')}
from unnest($1::integer[], $2::bigint[], $3::integer[], $4::text[], $5::bigint[],
  ${readingColumns.map(({ type }, index) => `$${index + 6}::${type}[]`).join(', ')})
  as incoming (vehicle_id, time_us, application_id, device_id, received_us, ${names.join(', ')})
on conflict (vehicle_id, time) do update set
  ${mergedColumns.join(',\n  ')},
  received_at = greatest(reading.received_at, excluded.received_at)
where (${readingValues.map((value) => merged(value, value.of)).join(',\n  ')})
  is distinct from (${readingValues.map(({ of }) => of('reading')).join(', ')})
returning application_id, vehicle_id, time)
insert into reading_change (application_id, vehicle_ids, times)
select application_id, array_agg(vehicle_id), array_agg(time) from stored group by application_id`;

/**
 * Merges readings with those stored at the same time of the same vehicle, in one statement.
 * @param readings as from mergeReadings
 */
async function mergeWithStored(db: Database, readings: readonly LinkedReading[]): Promise<void> {
  if (readings.length === 0) return;
  const rows = new ColumnArrays();
  for (const reading of readings) writeReading(rows, reading);
  await db.executeQuery(CompiledQuery.raw(mergeStatement, rows.arrays));
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
