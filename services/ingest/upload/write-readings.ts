import type { Database } from '@odograph/database/database';
import { CompiledQuery, sql } from 'kysely';
import { groupBy, type LinkedReading, type PreviousState } from '../pipeline/readings.ts';
import { arrayLiteral, BinaryRows, copyInto, instantArray } from '../pipeline/sql-values.ts';

/** A column of `reading` outside its key, with the field of the device reading that fills it. */
export interface ReadingColumn {
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
export const readingColumns: readonly ReadingColumn[] = [
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
export type WriteReadings = (
  db: Database,
  readings: readonly LinkedReading[],
  previous: readonly PreviousState[],
) => Promise<void>;

/**
 * Inserts readings that are newer than all others of their vehicle, and merges the rest with what is stored. Nearly all
 * are new, and an insert costs half of a merge.
 */
export const insertOrMergeReadings: WriteReadings = async (db, readings, previous) => {
  const newest = new Map(previous.map(({ vehicleId, newestMicroseconds }) => [vehicleId, newestMicroseconds]));
  const isNew = ({ vehicleId, timeMicroseconds }: LinkedReading) =>
    timeMicroseconds > (newest.get(vehicleId) ?? Number.NEGATIVE_INFINITY);
  const late = readings.filter((reading) => !isNew(reading));
  await mergeWithStored(db, late);
  await insertReadings(db, late.length === 0 ? readings : readings.filter(isNew));
};

/** Merges all readings with what is stored, without trusting the latest states. */
export const mergeAllReadings: WriteReadings = (db, readings) => mergeWithStored(db, readings);

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
