import { BinaryRows } from '@odograph/database/binary-rows';
import { copyInto } from '@odograph/database/copy';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { arrayLiteral, instantArray } from './array-literal.ts';
import { groupBy } from './group-by.ts';
import type { PlacedReading } from './place-readings.ts';
import { type ReadingColumn, readingColumns } from './reading-columns.ts';

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
