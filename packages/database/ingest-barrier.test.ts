import { createOwnDatabase, type OwnDatabase } from '@odograph/testkit/global-setup';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from './database.ts';
import { shareIngestBarrier } from './ingest-barrier.ts';

let own: OwnDatabase;
let db: ReturnType<typeof openDatabase>;

beforeAll(async () => {
  own = await createOwnDatabase('barrier');
  db = openDatabase({ url: own.url, name: 'test-barrier', size: 1 });
});
afterAll(async () => {
  await db?.destroy();
  await own?.drop();
});

const readVersions = () => db.transaction().execute((transaction: Database) => shareIngestBarrier(transaction));

it('the versions of a new database change with the first change, so that a running ingest notices it', async () => {
  const before = await readVersions();
  await sql`delete from alarm_rule`.execute(db);
  await sql`delete from device_link`.execute(db);
  const after = await readVersions();
  expect(after.alarmRules).toBeGreaterThan(before.alarmRules);
  expect(after.decisions).toBeGreaterThan(before.decisions);
});
