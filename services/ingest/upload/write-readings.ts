import { BinaryRows } from '@odograph/database/binary-rows';
import { copyInto } from '@odograph/database/copy';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { groupBy } from '../group-by.ts';
import { arrayLiteral, instantArray } from '../sql-arrays.ts';
import type { PlacedReading } from './link-readings.ts';
import { type ReadingColumn, readingColumns } from './reading-columns.ts';
import type { KnownVehicle } from './write-latest-states.ts';

const keyColumns = ['vehicle_id', 'time', 'application_id', 'device_id', 'received_at'];
const columns = [...keyColumns, ...readingColumns.map(({ name }) => name)];

type Value = ReturnType<ReadingColumn['value']>;

function addValue(rows: BinaryRows, type: ReadingColumn['type'], value: Value): void {
  if (typeof value === 'number') addNumber(rows, type, value);
  else if (typeof value === 'boolean') rows.boolean(value);
  else if (value === undefined) rows.null();
  else if (type === 'jsonb') rows.jsonb(value);
  else rows.text(value);
}

function addNumber(rows: BinaryRows, type: ReadingColumn['type'], value: number): void {
  if (type === 'smallint') rows.smallint(value);
  else if (type === 'bigint') rows.bigint(value);
  else rows.double(value);
}

function addReading(rows: BinaryRows, placed: PlacedReading): void {
  rows.row(columns.length);
  rows.integer(placed.vehicleId);
  rows.timestamptz(placed.timeMicroseconds);
  rows.integer(placed.applicationId);
  rows.text(placed.deviceId);
  rows.timestamptz(placed.receivedAtMs * 1000);
  for (const { type, value } of readingColumns) addValue(rows, type, value(placed));
}

/** Lists new readings for those who follow changes, by application. */
async function noteInserted(db: Database, readings: readonly PlacedReading[]): Promise<void> {
  const ofApplications = groupBy(readings, ({ applicationId }) => applicationId);
  for (const [applicationId, ofApplication] of ofApplications) {
    await sql`insert into reading_change (application_id, vehicle_ids, times) select ${applicationId}::integer,
      ${arrayLiteral(ofApplication.map(({ vehicleId }) => vehicleId))}::integer[],
      ${instantArray(ofApplication.map(({ timeMicroseconds }) => timeMicroseconds))}`.execute(db);
  }
}

/**
 * Adds readings that cannot be there yet.
 * @param readings distinct in their key
 * @throws DatabaseError unique_violation when one of them is there all the same
 */
export async function insertReadings(db: Database, readings: readonly PlacedReading[]): Promise<void> {
  if (readings.length === 0) return;
  const rows = new BinaryRows();
  for (const reading of readings) addReading(rows, reading);
  await copyInto(db, 'reading', columns, rows.end());
  await noteInserted(db, readings);
}

const names = readingColumns.map(({ name }) => name);

/** Of two values for one field the later received one counts, and no value never replaces one. */
function mergedValue(name: string): string {
  return `case when excluded.received_at >= reading.received_at
    then coalesce(excluded.${name}, reading.${name}) else coalesce(reading.${name}, excluded.${name}) end`;
}

const arrays = ['vehicle_id', 'time_us', 'application_id', 'device_id', 'received_ms', ...names];

/**
 * The merging statement: one row for each vehicle and device time. A repeated upload changes nothing, not even the row
 * version, so those who follow changes do not see it again. What did change is listed for them by its keys.
 */
const statement = `
with stored as (
insert into reading (vehicle_id, time, application_id, device_id, received_at, ${names.join(', ')})
select vehicle_id, timestamptz 'epoch' + time_us * interval '1 microsecond', application_id, device_id,
  timestamptz 'epoch' + received_ms * interval '1 millisecond', ${names.join(', ')}
from unnest($1::integer[], $2::bigint[], $3::integer[], $4::text[], $5::bigint[],
  ${readingColumns.map(({ type }, index) => `$${index + 6}::${type}[]`).join(', ')})
  as incoming (${arrays.join(', ')})
on conflict (vehicle_id, time) do update set
  ${names.map((name) => `${name} = ${mergedValue(name)}`).join(',\n  ')},
  received_at = greatest(reading.received_at, excluded.received_at)
where (${names.map(mergedValue).join(',\n  ')})
  is distinct from (${names.map((name) => `reading.${name}`).join(', ')})
returning application_id, vehicle_id, time)
insert into reading_change (application_id, vehicle_ids, times)
select application_id, array_agg(vehicle_id), array_agg(time) from stored group by application_id`;

const parts = statement.split(/\$\d+/);

/**
 * Lays readings over those that may be there already, in one statement.
 * @param readings distinct in their key and sorted by it
 */
export async function mergeIntoReadings(db: Database, readings: readonly PlacedReading[]): Promise<void> {
  if (readings.length === 0) return;
  const parameters = [
    arrayLiteral(readings.map(({ vehicleId }) => vehicleId)),
    arrayLiteral(readings.map(({ timeMicroseconds }) => timeMicroseconds)),
    arrayLiteral(readings.map(({ applicationId }) => applicationId)),
    arrayLiteral(readings.map(({ deviceId }) => deviceId)),
    arrayLiteral(readings.map(({ receivedAtMs }) => receivedAtMs)),
    ...readingColumns.map(({ value }) => arrayLiteral(readings.map(value))),
  ];
  await sql(parts as unknown as TemplateStringsArray, ...parameters).execute(db);
}

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
