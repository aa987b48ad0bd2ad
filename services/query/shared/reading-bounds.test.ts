import { inSnapshot } from '@odograph/database/batches';
import { historyMembers } from '@odograph/database/reading-json';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { useDatabase } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { findPage, maximumReadings, readPage } from './reading-page.ts';
import { scopeOfCaller } from './vehicle-scope.ts';

const db = useDatabase();

async function storeReadings(applicationId: number, vehicleId: string, first: string, last: string, step: string) {
  await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
    select time, ${applicationId}, ${vehicleId}::integer, 'test', now()
    from generate_series(${first}::timestamptz, ${last}::timestamptz, ${step}::interval) as time`.execute(db);
  await sql`insert into vehicle_latest (vehicle_id, earliest_time, time, received_at)
    values (${vehicleId}::integer, ${first}::timestamptz, ${last}::timestamptz, now())`.execute(db);
}

/**
 * Counts the chunks for which statements of this transaction were planned, since planning locks them. On the embedded
 * engine the only session has the process number 0, and its locks have none.
 */
const lockedChunks = sql<{ count: number }>`select count(*) as count from pg_locks
  where pid is not distinct from nullif(pg_backend_pid(), 0) and locktype = 'relation'
    and relation in (select chunk::oid from show_chunks('reading') as chunk)`;

it('plans a page without bounds only for chunks between the oldest and newest reading of its vehicles', async () => {
  const [neighbour, application] = [await createApplication(db), await createApplication(db)];
  const [theirs, own] = [await createVehicle(db, neighbour), await createVehicle(db, application)];
  await storeReadings(neighbour.id, theirs.id, '2011-01-01', '2013-01-01', '14 days');
  await storeReadings(application.id, own.id, '2012-06-01', '2012-06-02', '1 hour');
  const { text, chunks } = await inSnapshot(db, async (snapshot) => {
    const scope = await scopeOfCaller(snapshot, { applicationId: application.id });
    const request = { from: 0n, offset: 0, limit: maximumReadings };
    const page = await findPage(snapshot, scope, request);
    if (!page) throw new Error('the page is not empty');
    const pieces: Buffer[] = [];
    await readPage(snapshot, scope, page, { members: historyMembers }, 1024 * 1024, (piece) => pieces.push(piece));
    const { rows } = await lockedChunks.execute(snapshot);
    return { text: Buffer.concat(pieces).toString(), chunks: rows[0]?.count };
  });
  expect(JSON.parse(`[${text}]`)).toHaveLength(25);
  expect(chunks).toBeGreaterThan(0);
  expect(chunks).toBeLessThanOrEqual(2);
});
