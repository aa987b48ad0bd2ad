import type { Caller } from '@odograph/contracts/caller';
import { appendAudit, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { raiseIngestBarrier } from '@odograph/database/ingest-barrier';
import { sensorsWithoutPositions, withoutPositions } from '@odograph/database/private-values';
import type { Tables } from '@odograph/database/tables';
import { fleetWithoutStaleSpeed } from '@odograph/database/vehicle-conditions';
import type { Http } from '@odograph/http/http';
import { answers, VehicleId } from '@odograph/http/schemas';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { lockVehicleForUse } from './queries.ts';

const schema = {
  tags: ['privacy'],
  body: Type.Object({ vehicleId: VehicleId }),
  response: answers(
    Type.Object({ Privacy: Type.Boolean() }),
    ...(['UNKNOWN_VEHICLE', 'UNAUTHORIZED', 'VEHICLE_ARCHIVED'] as const),
  ),
};

async function record(
  db: Database,
  request: { caller: Caller; ip: string; body: { vehicleId: string } },
  action: 'privacy.on' | 'privacy.off',
  changed: boolean,
): Promise<void> {
  const subject = `vehicle:${request.body.vehicleId}`;
  await appendAudit(db, { ...originOf(request), action, subject, outcome: changed ? 'done' : 'unchanged' });
}

/** POST /v1/vehicle/privacy/on and /off (interface specification, "Vehicle data (fleet flavor)"). */
export const privacy: FleetRoutes = { token: [addPrivacyRoutes] };

function addPrivacyRoutes(http: Http, { db, changes }: Fleet): void {
  const onSchema = { ...schema, summary: 'Start a privacy interval: positions of the vehicle are not stored' };
  http.post('/v1/vehicle/privacy/on', { schema: onSchema }, async (request) => {
    const alarmIds = await changePrivacy(db, request.caller, request.body.vehicleId, async (trx, vehicleId) => {
      const from = await openInterval(trx, vehicleId);
      const changed = from === undefined ? [] : await removePositions(trx, vehicleId, from);
      await record(trx, request, 'privacy.on', from !== undefined);
      return changed;
    });
    await changes.announce({ vehicleIds: [Number(request.body.vehicleId)], alarmIds });
    return { Privacy: true };
  });

  const offSchema = { ...schema, summary: 'End the privacy interval of a vehicle' };
  http.post('/v1/vehicle/privacy/off', { schema: offSchema }, async (request) => {
    await changePrivacy(db, request.caller, request.body.vehicleId, async (trx, vehicleId) => {
      await record(trx, request, 'privacy.off', await closeInterval(trx, vehicleId));
    });
    await changes.announce({ vehicleIds: [Number(request.body.vehicleId)] });
    return { Privacy: false };
  });
}

/**
 * Changes privacy in a transaction that excludes ingest, so that the change has one time.
 * @param change takes the vehicle's number in the database
 * @throws Failure UNKNOWN_VEHICLE, UNAUTHORIZED, VEHICLE_ARCHIVED
 */
function changePrivacy<Result>(
  db: Kysely<Tables>,
  caller: Caller,
  id: string,
  change: (trx: Database, vehicleId: number) => Promise<Result>,
): Promise<Result> {
  return db.transaction().execute(async (trx) => {
    await raiseIngestBarrier(trx);
    return change(trx, await lockVehicleForUse(trx, caller, id));
  });
}

/**
 * Opens a privacy interval now, or at the end of the previous one if the clock was set back.
 * @returns its start as text with microseconds; undefined if an interval is already open
 */
async function openInterval(db: Database, vehicleId: number): Promise<string | undefined> {
  const { rows } = await sql<{ from: string }>`
    insert into privacy_period (vehicle_id, period)
    select ${vehicleId}, tstzrange(greatest(clock_timestamp(), (
      select max(upper(period)) from privacy_period where vehicle_id = ${vehicleId})), null)
    where not exists (select from privacy_period where vehicle_id = ${vehicleId} and upper_inf(period))
    returning lower(period)::text as from`.execute(db);
  return rows[0]?.from;
}

/** Closes the open privacy interval now. @returns whether there was one */
async function closeInterval(db: Database, vehicleId: number): Promise<boolean> {
  const { rows } = await sql`
    with open as (
      select ctid, lower(period) as lower, clock_timestamp() as now from privacy_period
      where vehicle_id = ${vehicleId} and upper_inf(period)),
    -- Deletes an interval that has no length because the clock was set back.
    empty as (delete from privacy_period using open where privacy_period.ctid = open.ctid and open.lower >= open.now),
    closed as (update privacy_period set period = tstzrange(open.lower, open.now) from open
      where privacy_period.ctid = open.ctid and open.lower < open.now)
    select from open`.execute(db);
  return rows.length > 0;
}

/** A column of CAN data without what discloses a position. */
const withoutPositionData = (column: string) =>
  sql`case when ${sql.ref(column)} is not null then ${sql.raw(withoutPositions(column))} end`;

const withoutPositionSensors = sql`case when sensors is not null then ${sql.raw(sensorsWithoutPositions('sensors'))} end`;

/** Keeps the speed in the fleet group: together with the ignition it decides whether a vehicle may be immobilized. */
const withSpeed = (fleet: RawBuilder<unknown>, speed: RawBuilder<unknown>) =>
  sql`case when ${speed} is null then ${fleet} else jsonb_build_object('speed', ${speed}) || coalesce(${fleet}, '{}') end`;

/**
 * Removes positions, and raw CAN frames, of readings from a time on, and adds them to the change feed. Upserts them: an
 * update would lock all chunks, so it would wait for one that is being compressed, and all uploads would wait with it.
 * @returns their number
 */
async function clearReadings(db: Database, vehicleId: number, from: string): Promise<number> {
  const { rows } = await sql<{ cleared: number }>`
    with cleared as (
      insert into reading (time, application_id, vehicle_id, device_id, received_at, can, decoded_can, sensors, fleet)
      select time, application_id, vehicle_id, device_id, received_at,
        ${withoutPositionData('can')}, ${withoutPositionData('decoded_can')}, ${withoutPositionSensors},
        ${withSpeed(sql`fleet`, sql`speed`)}
      from reading where vehicle_id = ${vehicleId} and time >= ${from}::timestamptz
      on conflict (vehicle_id, time) do update set
        latitude = null, longitude = null, latitude_e7 = null, longitude_e7 = null,
        angle = null, altitude = null, satellites = null, frames = null,
        can = excluded.can, decoded_can = excluded.decoded_can, sensors = excluded.sensors, fleet = excluded.fleet
      returning application_id, vehicle_id, time),
    changed as (
      insert into reading_change (application_id, vehicle_ids, times)
      select application_id, array_agg(vehicle_id), array_agg(time) from cleared group by application_id)
    select count(*) as cleared from cleared`.execute(db);
  return rows[0]?.cleared ?? 0;
}

async function clearLatestState(db: Database, vehicleId: number, from: string): Promise<void> {
  const since = (time: string) => sql`${sql.ref(time)} >= ${from}::timestamptz`;
  await sql`update vehicle_latest set
      fleet = case when ${since('location_time')}
        then ${withSpeed(fleetWithoutStaleSpeed, sql`location->'speed'`)} else fleet end,
      fleet_time = case when ${since('location_time')} and location ? 'speed'
        then greatest(fleet_time, location_time) else fleet_time end,
      location = case when ${since('location_time')} then null else location end,
      location_time = case when ${since('location_time')} then null else location_time end,
      can = case when ${since('can_time')} then ${withoutPositionData('can')} else can end,
      sensors = case when ${since('sensors_time')} then ${withoutPositionSensors} else sensors end,
      parked_location = case when ${since('parked_at')} then null else parked_location end,
      parked_at = case when ${since('parked_at')} then null else parked_at end
    where vehicle_id = ${vehicleId} and time >= ${from}::timestamptz`.execute(db);
}

/** Removes the end points of trips, which come from readings, and schedules the trips for recalculation. */
async function clearTrips(db: Database, vehicleId: number, from: string): Promise<void> {
  await sql`update trip set last_latitude = null, last_longitude = null,
      first_latitude = case when started_at < ${from}::timestamptz then first_latitude end,
      first_longitude = case when started_at < ${from}::timestamptz then first_longitude end
    where vehicle_id = ${vehicleId} and ended_at >= ${from}::timestamptz`.execute(db);
  await sql`delete from trip_checkpoint
    where vehicle_id = ${vehicleId} and time >= ${from}::timestamptz`.execute(db);
  await sql`insert into trip_touched (vehicle_ids, firsts, lasts)
    select array[vehicle_id], array[${from}::timestamptz], array[max(time)] from reading
    where vehicle_id = ${vehicleId} and time >= ${from}::timestamptz group by vehicle_id`.execute(db);
}

/**
 * Deletes the alarms that tell where or how fast the vehicle was since then, ends earlier ones then, and removes the positions
 * of the others.
 * @returns the ids of the deleted and changed alarms
 */
async function clearAlarms(db: Database, vehicleId: number, from: string): Promise<string[]> {
  const deleted = await sql<{ id: string }>`delete from alarm where vehicle_id = ${vehicleId}
    and raised_at >= ${from}::timestamptz and kind in ('geofence', 'speed') returning id`.execute(db);
  const ended = await sql<{ id: string }>`update alarm set cleared_at = ${from}::timestamptz
    where vehicle_id = ${vehicleId} and cleared_at > ${from}::timestamptz and kind in ('geofence', 'speed')
    returning id`.execute(db);
  const cleared = await sql<{ id: string }>`update alarm set latitude = null, longitude = null
    where vehicle_id = ${vehicleId} and raised_at >= ${from}::timestamptz returning id`.execute(db);
  return [deleted, ended, cleared].flatMap(({ rows }) => rows.map(({ id }) => id));
}

/**
 * Removes every position with a device time from `from` on; run it in changePrivacy. A device clock may be up to 300 s
 * ahead, so readings of a privacy interval can be stored before the interval begins.
 * @param from as text with microseconds
 * @returns the ids of the alarms that changed
 */
async function removePositions(db: Database, vehicleId: number, from: string): Promise<string[]> {
  await clearLatestState(db, vehicleId, from);
  const alarmIds = await clearAlarms(db, vehicleId, from);
  if ((await clearReadings(db, vehicleId, from)) > 0) await clearTrips(db, vehicleId, from);
  return alarmIds;
}
