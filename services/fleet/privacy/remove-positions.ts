import { positionKeyPattern } from '@odograph/contracts/positions';
import type { Database } from '@odograph/database/database';
import { type RawBuilder, sql } from 'kysely';

/** CAN data without those whose key tells of a position. */
const withoutPositionData = (data: RawBuilder<unknown>) => sql`case when ${data} is not null then coalesce((
  select jsonb_agg(datum order by place) from jsonb_array_elements(${data}) with ordinality as list (datum, place)
  where datum->>'key' !~* ${positionKeyPattern}), '[]') end`;

const withoutPositionSensors = (sensors: RawBuilder<unknown>) => sql`case when ${sensors} is not null then coalesce((
  select jsonb_agg(jsonb_set(sensor, '{data}', ${withoutPositionData(sql`sensor->'data'`)}) order by rank)
  from jsonb_array_elements(${sensors}) with ordinality as sensor_list (sensor, rank)), '[]') end`;

/** The speed stays, as a field of the fleet group: with the ignition it decides whether a vehicle may be immobilized. */
const withSpeed = (fleet: RawBuilder<unknown>, speed: RawBuilder<unknown>) =>
  sql`case when ${speed} is null then ${fleet} else jsonb_build_object('speed', ${speed}) || coalesce(${fleet}, '{}') end`;

/** Takes the positions off readings of that moment and later, and tells those who follow changes. @returns how many */
async function cleanReadings(db: Database, vehicleId: number, moment: string): Promise<number> {
  const { rows } = await sql<{ cleaned: number }>`
    with cleaned as (
      update reading set latitude = null, longitude = null, angle = null, altitude = null, satellites = null,
        can = ${withoutPositionData(sql`can`)}, sensors = ${withoutPositionSensors(sql`sensors`)},
        fleet = ${withSpeed(sql`fleet`, sql`speed`)}
      where vehicle_id = ${vehicleId} and time >= ${moment}::timestamptz
      returning application_id, vehicle_id, time),
    changed as (
      insert into reading_change (application_id, vehicle_ids, times)
      select application_id, array_agg(vehicle_id), array_agg(time) from cleaned group by application_id)
    select count(*) as cleaned from cleaned`.execute(db);
  return rows[0]?.cleaned ?? 0;
}

async function cleanLatest(db: Database, vehicleId: number, moment: string): Promise<void> {
  const since = (time: string) => sql`${sql.ref(time)} >= ${moment}::timestamptz`;
  await sql`update vehicle_latest set
      fleet = case when ${since('location_time')} then ${withSpeed(sql`fleet`, sql`location->'speed'`)} else fleet end,
      fleet_time = case when ${since('location_time')} and location ? 'speed'
        then greatest(fleet_time, location_time) else fleet_time end,
      location = case when ${since('location_time')} then null else location end,
      location_time = case when ${since('location_time')} then null else location_time end,
      can = case when ${since('can_time')} then ${withoutPositionData(sql`can`)} else can end,
      sensors = case when ${since('sensors_time')} then ${withoutPositionSensors(sql`sensors`)} else sensors end,
      parked_location = case when ${since('parked_at')} then null else parked_location end,
      parked_at = case when ${since('parked_at')} then null else parked_at end
    where vehicle_id = ${vehicleId} and time >= ${moment}::timestamptz`.execute(db);
}

/** Trips end where readings said; they are told anew from those that are left. */
async function cleanTrips(db: Database, vehicleId: number, moment: string): Promise<void> {
  await sql`update trip set last_latitude = null, last_longitude = null,
      first_latitude = case when started_at < ${moment}::timestamptz then first_latitude end,
      first_longitude = case when started_at < ${moment}::timestamptz then first_longitude end
    where vehicle_id = ${vehicleId} and ended_at >= ${moment}::timestamptz`.execute(db);
  await sql`delete from trip_checkpoint
    where vehicle_id = ${vehicleId} and time >= ${moment}::timestamptz`.execute(db);
  await sql`insert into trip_touched (vehicle_ids, firsts, lasts)
    select array[vehicle_id], array[${moment}::timestamptz], array[max(time)] from reading
    where vehicle_id = ${vehicleId} and time >= ${moment}::timestamptz group by vehicle_id`.execute(db);
}

/**
 * Takes away every position with a device time at or after a moment: a clock may lead by 300 s, so that such a reading
 * can have been stored before its time became private. Run it in changePrivacy.
 * @param moment as text with microseconds
 */
export async function removePositions(db: Database, vehicleId: number, moment: string): Promise<void> {
  await cleanLatest(db, vehicleId, moment);
  if ((await cleanReadings(db, vehicleId, moment)) > 0) await cleanTrips(db, vehicleId, moment);
}
