import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Database } from '@odograph/database/database';
import { migrate } from '@odograph/database/migrate';
import { eventually } from '@odograph/testkit/eventually';
import { hasRedisServer } from '@odograph/testkit/programs';
import { createTestDirectory } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Load } from './parts/load.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { createSeparateDatabase, type SeparateDatabase } from './parts/separate-database.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 600_000;
const shipped = new URL('../../migrations/', import.meta.url);
/** Migrations of a later version. */
const later: Record<string, string> = {
  '9001_column.sql': 'alter table reading add column under_load text;',
  '9002_table.sql': 'create table under_load (vehicle_id integer references vehicle, time timestamptz not null);',
  '9003_index.sql': 'create index reading_under_load on reading (device_id, time) where under_load is not null;',
};

/** Migrations that need a native server. */
const laterOnServers: Record<string, string> = {
  '9004_index_by_chunk.sql': `-- outside a transaction
drop index if exists reading_by_chunk;
-- one chunk at a time
create index reading_by_chunk on reading (received_at) with (timescaledb.transaction_per_chunk);
`,
};

let database: SeparateDatabase;
let testbed: Testbed | undefined;
let directory: string;

/** Creates a directory with the migrations of this version and later ones. */
async function folderWith(added: Record<string, string>): Promise<URL> {
  const folder = await mkdtemp(join(directory, 'migrations-'));
  await cp(shipped, folder, { recursive: true });
  for (const [name, text] of Object.entries(added)) await writeFile(join(folder, name), text);
  return pathToFileURL(`${folder}/`);
}

async function storedReadings(db: Database): Promise<number> {
  const { rows } = await sql<{ stored: number }>`select count(*)::int as stored from reading`.execute(db);
  return rows[0]?.stored ?? 0;
}

/** Runs `work` during a long read-only transaction; a migration of `reading` cannot start before it ends. */
async function duringLongRead(db: Database, work: () => Promise<void>): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql`select from reading limit 1`.execute(transaction);
    await work();
  });
}

describe.skipIf(!hasRedisServer)('a migration under load', () => {
  beforeEach(async () => {
    directory = createTestDirectory();
    database = await createSeparateDatabase();
  }, timeoutMs);
  afterEach(async () => {
    await testbed?.close();
    await database.drop();
  });

  /** Migrates while a long transaction blocks the migration, and checks that uploads are still stored meanwhile. */
  async function migrateDuringLongRead(db: Database, load: Load, folder: URL): Promise<number> {
    let waits = 0;
    let migration: Promise<string[]> | undefined;
    await duringLongRead(db, async () => {
      const onWait = () => {
        waits += 1;
      };
      migration = migrate(database.url, { directory: folder, onWait });
      migration.catch(() => undefined);
      for (let seen = 0; seen < 2; seen += 1) {
        await eventually(async () => expect(waits).toBeGreaterThan(seen), 60_000);
        const before = await storedReadings(db);
        await load.progress(2);
        await eventually(async () => expect(await storedReadings(db)).toBeGreaterThan(before), 60_000);
      }
    });
    expect(await migration).toEqual([...Object.keys(later), ...Object.keys(laterOnServers)]);
    return waits;
  }

  it(
    'loses no upload, and uploads are stored while the migration waits for a lock',
    async () => {
      await migrate(database.url);
      testbed = await openTestbed({ databaseUrl: database.url });
      const { db } = testbed;
      const load = await testbed.startLoad();
      await load.progress(3);
      await eventually(async () => expect(await storedReadings(db)).toBeGreaterThan(0), 120_000);
      const folder = await folderWith(database.embedded ? later : { ...later, ...laterOnServers });
      let waits = 0;
      if (database.embedded) await migrate(database.url, { directory: folder });
      else waits = await migrateDuringLongRead(db, load, folder);
      await load.progress(3);
      const uploads = await load.finish();
      await sql`select under_load from reading limit 1`.execute(db);
      await report('migrations under load', { devices: scale.devices, waits, acknowledged: uploads, stored: uploads });
    },
    timeoutMs,
  );
});
