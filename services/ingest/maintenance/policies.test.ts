import { type Database, openDatabase } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { createApplication } from '@odograph/testkit/fixtures';
import { testConfig } from '@odograph/testkit/test-platform';
import { type Kysely, sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forgetExpired } from './policies.ts';

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

describe('changes that are older than 30 days', () => {
  it('are forgotten, and up to where is remembered for each application, and never set back', async () => {
    const [followed, quiet] = [await createApplication(db), await createApplication(db)];
    await storeChange(db, followed.id, 40);
    const last = await storeChange(db, followed.id, 31);
    const kept = await storeChange(db, followed.id, 29);
    await storeChange(db, quiet.id, 29);
    await forgetExpired(db);
    expect([await forgottenUntil(followed.id), await forgottenUntil(quiet.id)]).toEqual([last, '0']);
    const { rows } = await sql`select transaction_id::text as id from reading_change
      where application_id = ${followed.id}`.execute(db);
    expect(rows).toEqual([{ id: kept }]);
    await forgetExpired(db);
    expect(await forgottenUntil(followed.id)).toBe(last);
  });
});
