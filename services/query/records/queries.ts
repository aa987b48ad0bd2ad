import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import { allCanValues } from '@odograph/database/can-values';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { latestLists, privacyIsOn } from '@odograph/database/reading-json';
import { type RawBuilder, sql } from 'kysely';
import { columnFields, columnOf } from '../series/rules.ts';
import type { LatestGroup } from './rules.ts';
import type { RecordedReading, VehicleLink } from './schemas.ts';

const mostLinks = 1000;

/** Lists the devices that were linked to a vehicle, the newest link first, at most 1,000. */
export async function listLinks(db: Database, vehicleId: number): Promise<VehicleLink[]> {
  const { rows } = await sql<{ link: VehicleLink }>`
    select json_strip_nulls(json_build_object('deviceId', device_id,
      'from', ${isoTime(sql`nullif(lower(period), '-infinity')`)}, 'until', ${isoTime(sql`nullif(upper(period), 'infinity')`)})) as link
    from device_link where vehicle_id = ${vehicleId}
    order by lower(period) desc nulls last limit ${mostLinks}::integer`.execute(db);
  return rows.map(({ link }) => link);
}

const groups = ['location', 'status', 'electric', 'fleet', 'alarms', 'can', 'sensors'] as const;

/** Reads the latest field groups of a vehicle; while privacy is on, without its position and data whose key denotes one. */
export async function readLatestGroups(db: Database, vehicleId: number): Promise<LatestGroup[]> {
  const contentOf = (group: (typeof groups)[number]): RawBuilder<unknown> => {
    if (group === 'can' || group === 'sensors') return sql`(${sql.raw(latestLists[group])})`;
    const content = sql.ref(`vehicle_latest.${group}`);
    return group === 'location' ? sql`case when not ${sql.raw(privacyIsOn)} then ${content} end` : content;
  };
  const listed = groups.map(
    (group) => sql`(${sql.lit(group)}, ${isoTime(`vehicle_latest.${group}_time`)}, ${contentOf(group)})`,
  );
  const { rows } = await sql<LatestGroup>`
    select latest.* from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    cross join lateral (values ${sql.join(listed)}) as latest ("group", time, content)
    where vehicle.id = ${vehicleId} and latest.content is not null`.execute(db);
  return rows;
}

const object = (fields: readonly string[]) =>
  sql.join(fields.flatMap((field) => [sql.lit(field), sql.ref(columnOf(field as (typeof columnFields)[number]))]));
const inLocation = ['angle', 'altitude', 'speed', 'satellites'];
const inStatus = ['ignition', 'movement', 'mileage', 'autonomy'];
const inElectric = columnFields.filter((field) => !inLocation.includes(field) && !inStatus.includes(field));
const unlessEmpty = (content: RawBuilder<unknown>) => sql`nullif(jsonb_strip_nulls(${content}), '{}')`;

/** Reads the newest readings of a vehicle as they are stored, the newest first. @param before device time; undefined for all */
export async function readNewest(
  db: Database,
  vehicleId: number,
  before: Microseconds | undefined,
  limit: number,
): Promise<RecordedReading[]> {
  const isEarlier = before === undefined ? sql`true` : sql`time < ${isoMicroseconds(before)}::timestamptz`;
  const { rows } = await sql<{ reading: RecordedReading }>`
    select jsonb_strip_nulls(jsonb_build_object('time', ${isoTime('time', 'microseconds')}, 'receivedAt', ${isoTime('received_at')},
      'deviceId', device_id, 'sequence', sequence))
      || jsonb_strip_nulls(jsonb_build_object(
        'location', ${unlessEmpty(sql`jsonb_build_object('latitude', latitude, 'longitude', longitude, ${object(inLocation)})`)},
        'status', ${unlessEmpty(sql`jsonb_build_object(${object(inStatus)})`)},
        'electric', ${unlessEmpty(sql`jsonb_build_object(${object(inElectric)})`)},
        'can', ${sql.raw(allCanValues)}, 'sensors', sensors, 'fleet', fleet, 'alarms', alarms)) as reading
    from reading where vehicle_id = ${vehicleId} and ${isEarlier}
    order by time desc limit ${limit}::integer`.execute(db);
  return rows.map(({ reading }) => reading);
}
