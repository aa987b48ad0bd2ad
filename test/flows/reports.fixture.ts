import type { Database } from '@odograph/database/database';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';

export interface Fleet {
  readonly application: TestApplication;
  readonly vehicle: TestVehicle;
}

/** A moment of the morning of the readings. */
export const at = (minutes: number) => new Date(Date.UTC(2026, 2, 1, 8, minutes)).toISOString();

/** Creates an application with a vehicle and a row in every view. */
export async function createFleet(db: Database): Promise<Fleet> {
  const application = await createApplication(db);
  const vehicle = await createVehicle(db, application);
  const ids = { app: sql`${application.id}::integer`, vehicle: sql`${vehicle.id}::integer`, device: vehicle.deviceId };
  await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, speed, soc, mileage, device_id, received_at)
    select ${at(0)}::timestamptz + n * interval '1 minute', ${ids.app}, ${ids.vehicle}, 48 + n / 1000.0, 2, 50 + n, 80 - n, 1000 + n,
      ${ids.device}, now() from generate_series(0, 29) as n`.execute(db);
  await sql`insert into vehicle_latest (vehicle_id, time, received_at, location, location_time, status, status_time, electric, electric_time)
    values (${ids.vehicle}, ${at(29)}, now(), '{"latitude": 48.029, "longitude": 2, "speed": 79}', ${at(29)},
      '{"ignition": true, "mileage": 1029, "autonomy": 200}', ${at(29)}, '{"soc": 51}', ${at(29)})`.execute(db);
  await sql`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled, inferred, distance_km, electric_kwh, first_latitude,
    first_longitude, last_latitude, last_longitude)
    values (${ids.vehicle}, ${at(0)}, ${at(29)}, ${at(40)}, true, false, 29, 5, 48, 2, 48.029, 2)`.execute(db);
  await sql`with rule as (insert into alarm_rule (application_id, name, kind, all_vehicles) values (${ids.app}, 'fast', 'speed', true) returning id)
    insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, value, latitude, longitude)
    select ${ids.app}, id, ${ids.vehicle}, 'speed', ${at(20)}, 70, 48.02, 2 from rule`.execute(db);
  await sql`insert into command (application_id, vehicle_id, device_id, action, state, expires_at)
    values (${ids.app}, ${ids.vehicle}, ${ids.device}, 'LOCK', 'acknowledged', now())`.execute(db);
  await sql`insert into booking (application_id, vehicle_id, user_id, type, starts_at, ends_at, authorization_id)
    values (${ids.app}, ${ids.vehicle}, 'driver', 'BOOKING', ${at(0)}, ${at(30)}, gen_random_uuid())`.execute(db);
  await sql`insert into device_sequence (device_id, gaps, open_gaps) values (${ids.device},
    ${JSON.stringify([{ from: 5, until: 7, sinceMs: Date.now() }])}::jsonb, 1)`.execute(db);
  return { application, vehicle };
}

/** Runs something with the rights of a login, in a transaction: the embedded engine lets everyone in as its superuser. */
export async function runAs<Result>(
  db: Database,
  { reader, owner }: { reader: string; owner: string },
  run: (trx: Database) => Promise<Result>,
): Promise<Result> {
  try {
    return await db.transaction().execute(async (trx) => {
      await sql`set local session authorization ${sql.id(reader)}`.execute(trx);
      await sql`set local search_path = fleet, public`.execute(trx);
      return run(trx);
    });
  } finally {
    // The embedded engine does not return to its user by itself.
    await sql`set session authorization ${sql.id(owner)}`.execute(db);
  }
}

/** The macros of Grafana's PostgreSQL data source, as it expands them. */
export const grafanaMacros: readonly [RegExp, string][] = [
  [/\$__timeFilter\(([a-z_]+)\)/g, `$1 between '${at(0)}' and '2100-01-01'`],
  [/\$__timeGroupAlias\(([a-z_]+), \$__interval\)/g, `floor(extract(epoch from $1) / 60) * 60 as "time"`],
  [/\$__timeFrom\(\)/g, `'${at(0)}'`],
  [/\$__timeTo\(\)/g, `'2100-01-01'`],
];
