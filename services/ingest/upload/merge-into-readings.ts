import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { arrayLiteral } from './array-literal.ts';
import type { PlacedReading } from './place-readings.ts';
import { readingColumns } from './reading-columns.ts';

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
