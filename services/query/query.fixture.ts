import type { Database } from '@odograph/database/database';
import { fillWithoutTriggers } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';

/** Columns of a stored reading: `time` is a PostgreSQL literal, omitted values were not reported. */
export interface StoredReading {
  time: string;
  vehicle_id: string;
  latitude?: number;
  longitude?: number;
  angle?: number;
  altitude?: number;
  speed?: number;
  ignition?: boolean;
  mileage?: number;
  soc?: number;
  max_energy?: number;
  can?: unknown;
  decoded_can?: unknown;
  sensors?: unknown;
}

export async function storeReadings(db: Database, applicationId: number, readings: StoredReading[]): Promise<void> {
  const rows = JSON.stringify(readings);
  await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, angle, altitude, speed, ignition, mileage,
      soc, max_energy, can, decoded_can, sensors, device_id, received_at)
    select time, ${applicationId}, vehicle_id, latitude, longitude, angle, altitude, speed, ignition, mileage,
      soc, max_energy, can, decoded_can, sensors, 'test', now()
    from jsonb_populate_recordset(null::reading, ${rows}::jsonb)`.execute(db);
  await markHours(db, applicationId);
}

/** Marks the hours of stored readings as not counted, as ingest does: other tests count the hours of this database. */
export async function markHours(db: Database, applicationId: number): Promise<void> {
  await sql`insert into reading_count (vehicle_id, hour, application_id)
    select distinct vehicle_id, date_bin('1 hour', time, timestamptz 'epoch'), application_id from reading
    where application_id = ${applicationId}
    on conflict (vehicle_id, hour, application_id) do update set count = null`.execute(db);
}

/** Builds `count` readings one second apart, the first at `start`. */
export async function storeSeries(
  db: Database,
  {
    applicationId,
    vehicleId,
    start,
    count,
  }: { applicationId: number; vehicleId: string; start: string; count: number },
): Promise<void> {
  await sql`insert into reading (time, application_id, vehicle_id, latitude_e7, longitude_e7, mileage_metres, device_id, received_at)
    select ${start}::timestamptz + n * interval '1 second', ${applicationId}, ${vehicleId}::integer, 480000000, 20000000, n * 1000, 'test', now()
    from generate_series(0, ${count} - 1) as n`.execute(db);
  await markHours(db, applicationId);
}

const latestGroups = ['location', 'status', 'electric', 'can', 'sensors', 'fleet', 'alarms'] as const;

/** Stores the latest state of a vehicle, as ingest does; all field groups have the same device time. */
export async function storeLatest(
  db: Database,
  vehicleId: string,
  time: string,
  groups: Partial<Record<(typeof latestGroups)[number], unknown>>,
): Promise<void> {
  const names = latestGroups.filter((name) => groups[name] !== undefined);
  const own = sql.raw(names.map((name) => `, ${name}, ${name}_time`).join(''));
  const values = sql.join(
    names.map((name) => sql`, ${sql.ref(name)}, ${time}::timestamptz`),
    sql``,
  );
  await sql`insert into vehicle_latest (vehicle_id, time, received_at ${own})
    select ${vehicleId}::integer, ${time}, now() ${names.length === 0 ? sql`` : values}
    from jsonb_populate_record(null::vehicle_latest, ${JSON.stringify(groups)}::jsonb)`.execute(db);
}

/** Opens a privacy interval of a vehicle. */
export async function turnPrivacyOn(db: Database, vehicleId: string, from = 'now'): Promise<void> {
  await sql`insert into privacy_period values (${vehicleId}::integer, tstzrange(${from}, null))`.execute(db);
}

/** Creates vehicles, each linked to a device. @returns the ids in order */
export async function createFleet(db: Database, applicationId: number, count: number): Promise<string[]> {
  const rows = await fillWithoutTriggers(
    db,
    sql<{ id: number }>`with fleet as (insert into vehicle (application_id, plate)
        select ${applicationId}, 'F' || n from generate_series(1, ${count}::integer) as n returning id),
      devices as (insert into device (id, model_id, application_id, secret_sha256)
        select 'fleet-' || id, 'generic', ${applicationId}, '' from fleet),
      links as (insert into device_link (device_id, vehicle_id, period)
        select 'fleet-' || id, id, tstzrange(null, null) from fleet)
    select id from fleet order by id`,
  );
  return rows.map(({ id }) => String(id));
}

/** Creates a user of the application with grants for these vehicles. @returns the user's id */
export async function createUser(db: Database, applicationId: number, vehicleIds: string[]): Promise<string> {
  const { id } = await db
    .insertInto('user_account')
    .values({ application_id: applicationId, username: `user-${applicationId}`, password_hash: '' })
    .returning('id')
    .executeTakeFirstOrThrow();
  const grants = vehicleIds.map((vehicleId) => ({ user_id: id, vehicle_id: Number(vehicleId) }));
  await db.insertInto('vehicle_grant').values(grants).execute();
  return id;
}
