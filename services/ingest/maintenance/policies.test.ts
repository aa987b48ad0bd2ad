import { randomUUID } from 'node:crypto';
import { appendAudit, verifyAudit } from '@odograph/database/audit';
import { type Database, openConnection, openDatabase } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { createLogger } from '@odograph/runtime/logger';
import { urlInRole } from '@odograph/testkit/database-roles';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { testConfig } from '@odograph/testkit/test-platform';
import { type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  analyzeReadings,
  compressReadings,
  deleteExpired,
  deleteOldAudit,
  deleteOldBookings,
  deleteOldCommands,
  deleteOldEvents,
  dropOldReadings,
  vacuumBusyTables,
} from './policies.ts';
import { applyRetention } from './schedule.ts';

const logger = createLogger('silent');
let db: Kysely<Tables>;
let url: string;

beforeAll(async () => {
  ({ DATABASE_URL: url } = await testConfig());
  db = openDatabase({ url, name: 'test-policies', size: 2 });
});
afterAll(() => db.destroy());

async function storeChange(into: Database, applicationId: number, daysAgo: number): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into reading_change (application_id, stored_at, vehicle_ids, times)
    values (${applicationId}, now() - make_interval(days => ${daysAgo}), '{}', '{}')
    returning transaction_id::text as id`.execute(into);
  return rows[0]?.id ?? '';
}

async function forgottenUntil(applicationId: number): Promise<string> {
  const { rows } = await sql<{ until: string }>`
    select changes_forgotten_until::text as until from application where id = ${applicationId}`.execute(db);
  return rows[0]?.until ?? '';
}

describe('changes older than 30 days', () => {
  it('are deleted, and the position up to which is recorded for each application and never decreases', async () => {
    const [followed, quiet] = [await createApplication(db), await createApplication(db)];
    await storeChange(db, followed.id, 40);
    const last = await storeChange(db, followed.id, 31);
    const kept = await storeChange(db, followed.id, 29);
    await storeChange(db, quiet.id, 29);
    await deleteExpired(db);
    expect([await forgottenUntil(followed.id), await forgottenUntil(quiet.id)]).toEqual([last, '0']);
    const { rows } = await sql`select transaction_id::text as id from reading_change
      where application_id = ${followed.id}`.execute(db);
    expect(rows).toEqual([{ id: kept }]);
    await deleteExpired(db);
    expect(await forgottenUntil(followed.id)).toBe(last);
  });
});

it('answers of requests with an idempotency key are deleted after 24 hours', async () => {
  const principal = randomUUID();
  await sql`insert into idempotent_request (principal, key_sha256, fingerprint, created_at) values
    (${principal}, '\\x01', '\\x', now() - interval '23 hours'), (${principal}, '\\x02', '\\x', now() - interval '25 hours')`.execute(
    db,
  );
  await deleteExpired(db);
  const { rows } = await sql`select key_sha256 from idempotent_request where principal = ${principal}`.execute(db);
  expect(rows).toEqual([{ key_sha256: Buffer.from([1]) }]);
});

it('addresses are deleted after a year, with the rights of ingest', async () => {
  const { id } = await createApplication(db);
  await sql`insert into place_address (application_id, latitude_cell, longitude_cell, answered_at) values
    (${id}, 1, 1, now() - interval '367 days'), (${id}, 2, 2, now() - interval '364 days')`.execute(db);
  const ingest = openDatabase({
    url: inject('isNativeDatabase') ? urlInRole(url, 'odograph_ingest') : url,
    ...{ name: 'test', size: 1 },
  });
  await deleteExpired(ingest);
  await ingest.destroy();
  const { rows } = await sql`select latitude_cell from place_address where application_id = ${id}`.execute(db);
  expect(rows).toEqual([{ latitude_cell: 2 }]);
});

it('each retention policy runs even if others fail, and every failure is reported', async () => {
  const deviceId = randomUUID();
  await sql`insert into quarantine (device_id, received_at, sealed_payload, payload_bytes, payload_fingerprint, faults)
    values (${deviceId}, now() - interval '101 years', '\\x00', 1, '\\x', '[]')`.execute(db);
  const others = { BOOKING_RETENTION_DAYS: 0, ALARM_RETENTION_DAYS: 0, AUDIT_RETENTION_DAYS: 0 };
  const tooLong = 2 ** 31;
  const failing = { RETENTION_DAYS: tooLong, COMMAND_RETENTION_DAYS: tooLong };
  const config = { ...(await testConfig()), ...others, ...failing, QUARANTINE_RETENTION_DAYS: 36_500 };
  const outOfRange = expect.objectContaining({ message: expect.stringContaining('out of range') });
  await expect(applyRetention(db, config, logger)).rejects.toMatchObject({ errors: [outOfRange, outOfRange] });
  expect((await sql`select from quarantine where device_id = ${deviceId}`.execute(db)).rows).toEqual([]);
});

describe('events', () => {
  it('are deleted when they are too old, and the position up to which is recorded for their application alone', async () => {
    const [application, quiet] = [await createApplication(db), await createApplication(db)];
    const store = async (daysAgo: number, to = application.id) => {
      const { rows } = await sql<{ id: string }>`
        insert into event (application_id, transaction_id, type, stored_at, occurred_at, subject)
        values (${to}, pg_current_xact_id(), 'upload.quarantined', now() - make_interval(days => ${daysAgo}), now(), '0')
        returning transaction_id::text as id`.execute(db);
      return rows[0]?.id ?? '';
    };
    const forgotten = async (id: number) => {
      const { rows } =
        await sql`select events_forgotten_until::text as until from application where id = ${id}`.execute(db);
      return rows[0];
    };
    const last = await store(8);
    const kept = await store(6);
    await store(6, quiet.id);
    expect(await deleteOldEvents(db, 7)).toBeGreaterThanOrEqual(1);
    expect([await forgotten(application.id), await forgotten(quiet.id)]).toEqual([{ until: last }, { until: '0' }]);
    const { rows } = await sql`select transaction_id::text as id from event
      where application_id = ${application.id} and type = 'upload.quarantined'`.execute(db);
    expect(rows).toEqual([{ id: kept }]);
  });
});

describe('chunks of readings', () => {
  it('span a week, so that a statement over two years locks few of them', async () => {
    const transaction = await db.startTransaction().execute();
    try {
      await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
        select moment, 1, 1, 'test', now()
        from generate_series(timestamptz '1980-01-01', '1981-12-31', '1 day') as moment`.execute(transaction);
      const { rows } = await sql<{ chunks: number }>`select count(*)::integer as chunks
        from show_chunks('reading', newer_than => timestamptz '1979-12-01', older_than => timestamptz '1982-02-01')`.execute(
        transaction,
      );
      expect(rows[0]?.chunks).toBeLessThanOrEqual(106);
    } finally {
      await transaction.rollback().execute();
    }
  });

  it('are left for the next run while a backup reads them', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded engine has one session');
    await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
      values ('1951-03-10', 1, 1, 'test', now())`.execute(db);
    const days = 70 * 365;
    const chunks = async () => {
      const { rows } = await sql<{ is_compressed: boolean }>`select is_compressed
        from timescaledb_information.chunks where hypertable_name = 'reading' and range_start < '1952-01-01'`.execute(
        db,
      );
      return rows.map((row) => row.is_compressed);
    };
    const backup = await db.startTransaction().execute();
    await sql`select from reading where time < '1952-01-01'`.execute(backup);
    expect(await compressReadings(db, days, logger)).toBe(0);
    expect(await dropOldReadings(db, days, logger)).toBe(0);
    await backup.commit().execute();
    expect(await chunks()).toEqual([false]);
    await compressReadings(db, days, logger);
    expect(await chunks()).toEqual([true]);
    expect(await dropOldReadings(db, days, logger)).toBe(1);
  });

  it('with late readings are left for the next run while a backup is written', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded engine has one session');
    const days = 70 * 365;
    const store = (time: string) =>
      sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
        values (${time}, 1, 1, 'test', now())`.execute(db);
    await store('1952-03-10');
    expect(await compressReadings(db, days, logger)).toBe(1);
    await store('1952-03-11');
    const backup = await db.startTransaction().execute();
    await sql`lock table reading in row share mode`.execute(backup);
    expect(await compressReadings(db, days, logger)).toBe(0);
    await backup.commit().execute();
    expect(await compressReadings(db, days, logger)).toBe(1);
    expect(await dropOldReadings(db, days, logger)).toBe(1);
  });

  it('are left for the next run when the service stops', async () => {
    await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
      values ('1971-03-10', 1, 1, 'test', now())`.execute(db);
    const chunks = await compressReadings(db, 1, logger, AbortSignal.abort());
    const { rows } = await sql<{ compressed: number }>`select count(*)::integer as compressed
      from timescaledb_information.chunks where hypertable_name = 'reading' and is_compressed
        and range_start >= '1971-03-01' and range_end <= '1971-03-20'`.execute(db);
    expect([chunks, rows[0]?.compressed]).toEqual([0, 0]);
  });

  it('are analyzed in the role of ingest while they are filled, and once when they have no statistics', async () => {
    const ingest = openDatabase({ url: urlInRole(url, 'odograph_ingest'), name: 'test', size: 1 });
    const count = async (moment: string) => {
      const { rows } = await sql<{ count: number }>`select reltuples::integer as count from pg_class
        join timescaledb_information.chunks on pg_class.oid = format('%I.%I', chunk_schema, chunk_name)::regclass
        where hypertable_name = 'reading' and range_start <= ${moment} and range_end > ${moment}`.execute(db);
      return rows[0]?.count;
    };
    const [today, once] = [new Date().toISOString(), '1999-12-31T12:00:00Z'];
    const fill = (first: number, last: number) => sql`
      insert into reading (time, application_id, vehicle_id, device_id, received_at)
      select moment + n * interval '1 us', 1, 1, 'test', now()
      from unnest(${[today, once]}::timestamptz[]) as moment cross join generate_series(${first}::integer, ${last}) as n`;
    await fill(1, 300).execute(db);
    await analyzeReadings(ingest);
    const before = await count(today);
    expect(before).toBeGreaterThanOrEqual(300);
    expect(await count(once)).toBe(300);
    await fill(301, 600).execute(db);
    await analyzeReadings(ingest);
    expect(await count(today)).toBeGreaterThanOrEqual((before ?? 0) + 300);
    expect(await count(once)).toBe(300);
    await ingest.destroy();
  });

  it('and other busy tables are maintained without a right that the role of ingest lacks', async () => {
    // The embedded engine has no roles but the owner.
    const { client, db: ingest } = await openConnection(
      inject('isNativeDatabase') ? urlInRole(url, 'odograph_ingest') : url,
      'test',
    );
    const notices: unknown[] = [];
    client.on('notice', ({ message }) => notices.push(message));
    await vacuumBusyTables(ingest);
    await client.end();
    expect(notices).toEqual([]);
  });

  it('are dropped with their hourly counts at the retention limit', async () => {
    const { id } = await createVehicle(db, await createApplication(db));
    const moments = ['1985-03-01T10:30:00Z', '1996-03-01T10:30:00Z'];
    const transaction = await db.startTransaction().execute();
    try {
      await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
        select moment, 1, ${id}::integer, 'test', now()
        from unnest(${moments}::timestamptz[]) as moment`.execute(transaction);
      await sql`insert into reading_count (vehicle_id, hour, application_id, count)
        select ${id}::integer, date_trunc('hour', moment), 1, 1
        from unnest(${moments}::timestamptz[]) as moment`.execute(transaction);
      const years = (table: string, column: string) =>
        sql`select extract(year from ${sql.ref(column)})::integer as year from ${sql.table(table)}
          where vehicle_id = ${id}::integer`.execute(transaction);
      expect(await dropOldReadings(transaction, 35 * 366, logger)).toBeGreaterThan(0);
      expect((await years('reading', 'time')).rows).toEqual([{ year: 1996 }]);
      expect((await years('reading_count', 'hour')).rows).toEqual([{ year: 1996 }]);
    } finally {
      await transaction.rollback().execute();
    }
  });
});

describe('retention', () => {
  const daysAgo = (days: number) => sql<Date>`now() - make_interval(days => ${days})`;

  it('removes commands that ended before it, and keeps younger and unfinished ones', async () => {
    const application = await createApplication(db);
    const { id, deviceId } = await createVehicle(db, application);
    const insert = (reason: string, endedDaysAgo: number | null) =>
      sql`insert into command (application_id, vehicle_id, device_id, action, state, created_at, expires_at, ended_at, reason)
        values (${application.id}, ${Number(id)}, ${deviceId}, 'HONK', ${endedDaysAgo === null ? 'pending' : 'acknowledged'},
          ${daysAgo(50)}, ${daysAgo(50)}, ${endedDaysAgo === null ? null : daysAgo(endedDaysAgo)}, ${reason})`.execute(
        db,
      );
    await insert('old', 41);
    await insert('young', 39);
    await insert('unfinished', null);
    await deleteOldCommands(db, 40);
    const { rows } = await sql`select reason from command where vehicle_id = ${Number(id)} order by reason`.execute(db);
    expect(rows).toEqual([{ reason: 'unfinished' }, { reason: 'young' }]);
  });

  it('removes ended bookings with their authorizations, and no authorization that a younger booking refers to', async () => {
    const application = await createApplication(db);
    const vehicleId = Number((await createVehicle(db, application)).id);
    const authorize = async (untilDaysAgo: number, replacedBy: string | null) => {
      const { rows } = await sql<{ id: string }>`
        insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from, valid_until, replaced_by)
        values (${vehicleId}, 'driver', 'DRIVE', ${daysAgo(60)}, ${daysAgo(untilDaysAgo)}, ${replacedBy})
        returning id`.execute(db);
      return rows[0]?.id ?? '';
    };
    const book = (authorizationId: string, fromDaysAgo: number, untilDaysAgo: number) =>
      sql`insert into booking (application_id, vehicle_id, user_id, type, starts_at, ends_at, authorization_id)
        values (${application.id}, ${vehicleId}, 'driver', 'BOOKING', ${daysAgo(fromDaysAgo)}, ${daysAgo(untilDaysAgo)},
          ${authorizationId})`.execute(db);
    const old = await authorize(41, null);
    const newest = await authorize(10, null);
    const replaced = await authorize(45, newest);
    await book(old, 50, 41);
    await book(replaced, 30, 10);
    expect(await deleteOldBookings(db, 40)).toBeGreaterThanOrEqual(2);
    const { rows: bookings } = await sql`select authorization_id as id from booking
      where vehicle_id = ${vehicleId}`.execute(db);
    const { rows: authorizations } = await sql<{ id: string }>`select id from bluetooth_authorization
      where vehicle_id = ${vehicleId}`.execute(db);
    expect(bookings).toEqual([{ id: replaced }]);
    expect(authorizations.map(({ id }) => id).sort()).toEqual([newest, replaced].sort());
  });

  it('clears the positions of old trips, and keeps their distance', async () => {
    const vehicleId = Number((await createVehicle(db, await createApplication(db))).id);
    for (const days of [41, 39]) {
      await sql`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled, inferred, distance_km,
          first_latitude, first_longitude, last_latitude, last_longitude)
        values (${vehicleId}, ${daysAgo(days)} - interval '1 hour', ${daysAgo(days)}, ${daysAgo(days)}, true, false, 12,
          48, 2, 49, 3)`.execute(db);
    }
    await dropOldReadings(db, 40, logger);
    const { rows } = await sql`select distance_km, first_latitude, last_longitude from trip
      where vehicle_id = ${vehicleId} order by started_at`.execute(db);
    expect(rows).toEqual([
      { distance_km: 12, first_latitude: null, last_longitude: null },
      { distance_km: 12, first_latitude: 48, last_longitude: 3 },
    ]);
  });

  it('leaves an audit that is younger alone', async () => {
    const { id } = await createApplication(db);
    await appendAudit(db, {
      ...{ chain: id, actor: 'operator', address: '', action: 'test', subject: '', outcome: 'done' },
    });
    await deleteOldAudit(db, 1);
    expect((await verifyAudit(db)).find(({ chain }) => chain === id)).toMatchObject({ length: 1, prunedThrough: 0 });
  });
});
