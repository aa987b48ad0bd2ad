import { storeAddress } from '@odograph/database/addresses';
import { openConnection } from '@odograph/database/database';
import { createApplication } from '@odograph/testkit/fixtures';
import { useDatabase } from '@odograph/testkit/scopes';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { removeRows } from './tables.ts';

const db = useDatabase();

it('purging an application deletes its cached place addresses, and does not store queued ones afterwards', async () => {
  const [purged, other] = [await createApplication(db), await createApplication(db)];
  await sql`update application set moving_since = now() where id = ${purged.id}`.execute(db);
  await sql`insert into place_address (application_id, latitude_cell, longitude_cell, address)
    select unnest(array[${purged.id}, ${other.id}]::integer[]), 488000, 23000, 'rue de la Paix'`.execute(db);
  const { client } = await openConnection(testDatabaseUrl(), 'test');
  try {
    await removeRows(client, purged.id);
    await storeAddress(db, { applicationId: purged.id, latitudeCell: 488001, longitudeCell: 23000 }, 'rue Daunou');
  } finally {
    await client.end();
  }
  const { rows } = await sql<{ id: number }>`select application_id as id from place_address
    where application_id in (${purged.id}, ${other.id})`.execute(db);
  expect(rows).toEqual([{ id: other.id }]);
});
