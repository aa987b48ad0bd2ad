import { randomUUID } from 'node:crypto';
import type { Database } from '@odograph/database/database';
import { createLogger } from '@odograph/runtime/logger';
import { compressReadings } from '@odograph/testkit/compress-readings';
import { eventually } from '@odograph/testkit/eventually';
import {
  createApplication,
  createGroup,
  createVehicle,
  type TestApplication,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { useDatabase } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { findListTables, findRemains, findVehicleTables, purgeDeletedVehicles, purgeSteps } from './purge.ts';

const db = useDatabase(4);
const logger = createLogger('silent');
let application: TestApplication;

/** The days around the start of a week, whose chunks no other test uses: the first one can be compressed. */
const day = (index: number) => `timestamptz '2009-07-0${index}'`;

beforeAll(async () => {
  application = await createApplication(db);
});

async function storeReadings(db: Database, { id, deviceId }: TestVehicle): Promise<void> {
  for (const index of [1, 2, 3]) {
    await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, device_id, received_at)
      select ${sql.raw(day(index))} + n * interval '1 minute', ${application.id}, ${Number(id)}, 48, 2, ${deviceId}, now()
      from generate_series(1, 500) n`.execute(db);
  }
}

/** Returns a valid value for a column type. */
const literals: Record<string, string> = {
  integer: '1',
  bigint: '1',
  'double precision': '1',
  boolean: 'true',
  jsonb: `'{}'`,
  bytea: `'\\x00'`,
  uuid: 'gen_random_uuid()',
  xid8: 'pg_current_xact_id()',
  tstzrange: 'tstzrange(null, null)',
  tstzmultirange: 'tstzmultirange(tstzrange(null, null))',
};

interface Column {
  name: string;
  type: string;
  words: string | null;
}

/** Inserts a row of the vehicle into a table known only by its description in the catalog. */
async function fill(db: Database, table: string, vehicleId: number, known: Record<string, string>): Promise<void> {
  const { rows: columns } = await sql<Column>`
    select quote_ident(column_name) as name, data_type as type, (
      select substring(pg_get_constraintdef(oid) from '''([A-Za-z_-]+)''') from pg_constraint
      where conrelid = ${table}::regclass and contype = 'c' and pg_get_constraintdef(oid) like '%' || column_name || ' = ANY%'
      limit 1) as words
    from information_schema.columns where table_schema = current_schema() and table_name = ${table}
      and is_nullable = 'NO' and column_default is null and is_identity = 'NO'
      and column_name <> 'vehicle_id'`.execute(db);
  const moments = columns.filter(({ type }) => type.startsWith('timestamp')).map(({ name }) => name);
  const value = ({ name, type, words }: Column) =>
    known[name] ??
    (type.startsWith('timestamp')
      ? `now() + ${moments.indexOf(name)} * interval '1 hour'`
      : (literals[type] ?? `'${words ?? 'x'}'`));
  const names = ['vehicle_id', ...columns.map(({ name }) => name)];
  await sql`insert into ${sql.raw(table)} (${sql.raw(names.join(', '))})
    values (${vehicleId}, ${sql.raw(columns.map(value).join(', '))}) on conflict do nothing`.execute(db);
}

/** Creates a vehicle with rows in every table that has a vehicle_id or vehicle_ids. */
async function createEverywhere(db: Database): Promise<TestVehicle> {
  const vehicle = await createVehicle(db, application);
  const id = Number(vehicle.id);
  const user = await db
    .insertInto('user_account')
    .values({ application_id: application.id, username: randomUUID(), password_hash: '-' })
    .returning('id')
    .executeTakeFirstOrThrow();
  const parking = { name: 'P', address: 'A', zipcode: 'Z', city: 'C', country: 'F', short_id: randomUUID() };
  const { id: parkingId } = await db
    .insertInto('parking')
    .values({ application_id: application.id, ...parking })
    .returning('id')
    .executeTakeFirstOrThrow();
  const { rows: rules } = await sql<{ id: string }>`insert into alarm_rule (application_id, name, kind, all_vehicles)
    values (${application.id}, 'R', 'crash', true) returning id`.execute(db);
  const { rows: webhooks } = await sql<{ id: string }>`insert into webhook
      (application_id, url, event_types, all_vehicles, sealed_secret, position)
    values (${application.id}, 'https://example.org', '{}', false, '', '') returning id`.execute(db);
  const due = `timestamptz '2009-08-01'`;
  const { rows: schedules } = await sql<{ id: string }>`with schedule as (
      insert into report_schedule (application_id, kind, format, every, time_zone, hour, language, recipients, next_due_at)
      values (${application.id}, 'trips', 'pdf', 'month', 'UTC', 6, 'en', '{office@example.com}', 'infinity') returning id)
    insert into sent_report (application_id, schedule_id, due_at, from_at, until_at, state)
    select ${application.id}, id, ${sql.raw(due)}, now(), now(), 'sent' from schedule returning schedule_id as id`.execute(
    db,
  );
  const known = {
    group_id: `'${await createGroup(db, application)}'`,
    schedule_id: `'${schedules[0]?.id}'`,
    due_at: due,
    webhook_id: `'${webhooks[0]?.id}'`,
    rule_id: `'${rules[0]?.id}'`,
    application_id: String(application.id),
    device_id: `'${vehicle.deviceId}'`,
    user_id: `'${user.id}'`,
    parking_id: `'${parkingId}'`,
    type: `'FREE_FLOATING'`,
  };
  await storeReadings(db, vehicle);
  for (const { name } of await findVehicleTables(db)) {
    if (name === 'reading' || name === 'device_link') continue;
    await fill(db, name, id, known);
  }
  await sql`insert into reading_change (application_id, vehicle_ids, times)
    values (${application.id}, ${[1, id]}, array[now(), now()]), (${application.id}, ${[id]}, array[now()])`.execute(
    db,
  );
  await sql`insert into trip_touched (vehicle_ids, firsts, lasts)
    values (${[1, id]}, array[now(), now()], array[now(), now()])`.execute(db);
  await sql`insert into quarantine (device_id, received_at, sealed_payload, payload_bytes, payload_fingerprint, faults)
    values (${vehicle.deviceId}, now(), '\\x00', 1, sha256(${vehicle.deviceId}::bytea), '[]')`.execute(db);
  return vehicle;
}

/** Marks a vehicle as deleted. Requesting the purge is separate: platforms of other tests purge whatever is requested. */
async function markDeleted({ id, deviceId }: TestVehicle): Promise<void> {
  await sql`update vehicle set deleted_at = now() where id = ${Number(id)}`.execute(db);
  await sql`update device_link set period = tstzrange(lower(period), clock_timestamp())
    where device_id = ${deviceId}`.execute(db);
}

/** Purges the vehicle, unless the platform of another test does first. */
async function purge(vehicle: TestVehicle): Promise<void> {
  const row = { vehicle_id: Number(vehicle.id), application_id: application.id };
  await db
    .insertInto('vehicle_purge')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await purgeDeletedVehicles(db, logger);
}

async function verifiedAt({ id }: TestVehicle): Promise<Date | null> {
  const row = db.selectFrom('vehicle_purge').select('verified_at').where('vehicle_id', '=', Number(id));
  return (await row.executeTakeFirstOrThrow()).verified_at;
}

const rowsOfReading = async ({ id }: TestVehicle) =>
  (await sql<{ count: number }>`select count(*) as count from reading where vehicle_id = ${Number(id)}`.execute(db))
    .rows[0]?.count;

describe('the purge of a deleted vehicle', { timeout: 120_000 }, () => {
  it('leaves no row in any table, compressed chunks included, keeps the audit, and records the verification', async () => {
    // Checked before the commit, because platforms of other tests process trip work.
    const { vehicle, everything } = await db.transaction().execute(async (transaction) => {
      const created = await createEverywhere(transaction);
      return { vehicle: created, everything: await findRemains(transaction, Number(created.id)) };
    });
    const neighbour = await createVehicle(db, application);
    await storeReadings(db, neighbour);
    expect(await compressReadings(db, Date.UTC(2009, 6, 1) / 1000, Date.UTC(2009, 6, 1, 12) / 1000)).toBe(1);
    const tables = [...(await findVehicleTables(db)), ...(await findListTables(db))].map(({ name }) => name);
    expect(Object.keys(everything).sort()).toEqual(['vehicle', ...tables].sort());
    await markDeleted(vehicle);
    await purge(vehicle);
    await eventually(async () => expect(await verifiedAt(vehicle)).toBeInstanceOf(Date));
    expect(await findRemains(db, Number(vehicle.id))).toEqual({});
    expect(await rowsOfReading(neighbour)).toBe(1500);
    const quarantined = await sql`select from quarantine where device_id = ${vehicle.deviceId}`.execute(db);
    expect(quarantined.rows).toEqual([]);
    const { rows } = await sql`select actor, outcome from audit where action = 'vehicle.purge'
      and subject = ${`vehicle:${vehicle.id}`}`.execute(db);
    expect(rows).toEqual([{ actor: 'platform', outcome: 'verified' }]);
  });

  it('keeps the positions of other vehicles in the change feed', async () => {
    const vehicle = await createEverywhere(db);
    await markDeleted(vehicle);
    const { rows: before } = await sql<{ id: number }>`select id from reading_change
      where ${Number(vehicle.id)} = any(vehicle_ids) and cardinality(vehicle_ids) = 2`.execute(db);
    await purge(vehicle);
    await eventually(async () => expect(await verifiedAt(vehicle)).not.toBeNull());
    const { rows } = await sql`select vehicle_ids, times[1] is not null as kept, times[2] as gone from reading_change
      where id = ${before[0]?.id}`.execute(db);
    expect(rows).toEqual([{ vehicle_ids: [1, null], kept: true, gone: null }]);
  });

  it('can be interrupted after any step and completed later', async () => {
    const vehicle = await createEverywhere(db);
    await markDeleted(vehicle);
    let steps = 0;
    // Every chunk is a step, and other tests create many.
    for (let ended = false; !ended; steps = steps < 12 ? steps + 1 : Math.ceil(steps * 1.5)) {
      let done = 0;
      ended = true;
      for await (const _step of purgeSteps(db, Number(vehicle.id))) {
        done += 1;
        if (done <= steps) continue;
        ended = false;
        break;
      }
    }
    expect(steps).toBeGreaterThan(15);
    expect(await findRemains(db, Number(vehicle.id))).toEqual({});
    await purge(vehicle);
    await eventually(async () => expect(await verifiedAt(vehicle)).not.toBeNull());
  });

  it('is repeated and not verified while a row is left', async () => {
    const vehicle = await createVehicle(db, application);
    await markDeleted(vehicle);
    await sql`create table purge_obstacle (vehicle_id integer primary key, kept boolean default true)`.execute(db);
    await sql`create rule keep as on delete to purge_obstacle where old.kept do instead nothing`.execute(db);
    try {
      await sql`insert into purge_obstacle values (${Number(vehicle.id)})`.execute(db);
      await purge(vehicle);
      expect(await verifiedAt(vehicle)).toBeNull();
      expect(await findRemains(db, Number(vehicle.id))).toEqual({ purge_obstacle: 1 });
      await sql`update purge_obstacle set kept = false`.execute(db);
      await purge(vehicle);
      await eventually(async () => expect(await verifiedAt(vehicle)).not.toBeNull());
    } finally {
      await sql`drop table purge_obstacle`.execute(db);
    }
  });

  it('prevents the device from being linked to an earlier time', async () => {
    const vehicle = await createVehicle(db, application);
    await markDeleted(vehicle);
    await purge(vehicle);
    const { rows } = await sql<{ left: Date }>`select left_deleted_vehicle_at as left from device
      where id = ${vehicle.deviceId}`.execute(db);
    expect(Math.abs(Number(rows[0]?.left) - Date.now())).toBeLessThan(60_000);
  });
});
