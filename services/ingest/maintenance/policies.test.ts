import { type Database, openDatabase } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { testConfig } from '@odograph/testkit/test-platform';
import { type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { analyzeReadings, deleteExpired, dropOldReadings } from './policies.ts';

let db: Kysely<Tables>;

beforeAll(async () => {
  const { DATABASE_URL: url } = await testConfig();
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

describe('chunks of readings', () => {
  it('are analyzed while they are filled, and once when they have no statistics', async () => {
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
    await analyzeReadings(db);
    const before = await count(today);
    expect(before).toBeGreaterThanOrEqual(300);
    expect(await count(once)).toBe(300);
    await fill(301, 600).execute(db);
    await analyzeReadings(db);
    expect(await count(today)).toBeGreaterThanOrEqual((before ?? 0) + 300);
    expect(await count(once)).toBe(300);
  });

  it('are dropped with their hourly counts at the retention limit', async () => {
    const { id } = await createVehicle(db, await createApplication(db));
    const moments = ['1985-03-01T10:30:00Z', '1996-03-01T10:30:00Z'];
    const transaction = await db.startTransaction().execute();
    try {
      await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
        select moment, 1, ${id}::integer, 'test', now() from unnest(${moments}::timestamptz[]) as moment`.execute(
        transaction,
      );
      await sql`insert into reading_count (vehicle_id, hour, application_id, count)
        select ${id}::integer, date_trunc('hour', moment), 1, 1 from unnest(${moments}::timestamptz[]) as moment`.execute(
        transaction,
      );
      const years = (table: string, column: string) =>
        sql`select extract(year from ${sql.ref(column)})::integer as year from ${sql.table(table)}
          where vehicle_id = ${id}::integer`.execute(transaction);
      expect(await dropOldReadings(transaction, 35 * 366)).toBeGreaterThan(0);
      expect((await years('reading', 'time')).rows).toEqual([{ year: 1996 }]);
      expect((await years('reading_count', 'hour')).rows).toEqual([{ year: 1996 }]);
    } finally {
      await transaction.rollback().execute();
    }
  });
});
