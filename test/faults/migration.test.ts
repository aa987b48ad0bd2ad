import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Database } from '@odograph/database/database';
import { migrate } from '@odograph/database/migrate';
import { eventually } from '@odograph/testkit/eventually';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { Load } from './parts/load.fixture.ts';
import { hasRedisServer } from './parts/redis-server.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { createSeparateDatabase, type SeparateDatabase } from './parts/separate-database.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 600_000;
const shipped = new URL('../../migrations/', import.meta.url);
/** The newest of an installation that is older than the services, which the broker needs and ingest finds lacking. */
const olderVersion = '0010';

/** What a version to come might bring. */
const toCome: Record<string, string> = {
  '9001_column.sql': 'alter table reading add column under_load text;',
  '9002_table.sql': 'create table under_load (vehicle_id integer references vehicle, time timestamptz not null);',
  '9003_index.sql': 'create index reading_under_load on reading (device_id, time) where under_load is not null;',
};

/** What the embedded database cannot do. */
const onServersOnly: Record<string, string> = {
  '9004_index_by_chunk.sql': `-- outside a transaction
drop index if exists reading_by_chunk;
-- one chunk at a time
create index reading_by_chunk on reading (received_at) with (timescaledb.transaction_per_chunk);
`,
};

let database: SeparateDatabase;
let testbed: Testbed | undefined;
let directory: string;

async function folderWith(more: Record<string, string>, isWanted: (name: string) => boolean): Promise<URL> {
  const folder = await mkdtemp(join(directory, 'migrations-'));
  for (const name of await readdir(shipped)) {
    if (isWanted(name)) await cp(new URL(name, shipped), join(folder, name));
  }
  for (const [name, text] of Object.entries(more)) await writeFile(join(folder, name), text);
  return pathToFileURL(`${folder}/`);
}

async function storedReadings(db: Database): Promise<number> {
  const { rows } = await sql<{ stored: number }>`select count(*)::int as stored from reading`.execute(db);
  return rows[0]?.stored ?? 0;
}

/** Somebody reads in a long transaction; a migration of `reading` cannot begin before its end. */
async function whileSomebodyReads(db: Database, work: () => Promise<void>): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql`select from reading limit 1`.execute(transaction);
    await work();
  });
}

describe.skipIf(!hasRedisServer)('a migration under load', () => {
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'odograph-faults-'));
    database = await createSeparateDatabase();
  }, timeoutMs);
  afterEach(async () => {
    await testbed?.close();
    await database.drop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Uploads go on, and those of the newest version are stored, while somebody keeps the migration from beginning. */
  async function migrateBesideReader(db: Database, load: Load, folder: URL): Promise<number> {
    let waits = 0;
    let migration: Promise<string[]> | undefined;
    await whileSomebodyReads(db, async () => {
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
    expect(await migration).toEqual([...Object.keys(toCome), ...Object.keys(onServersOnly)]);
    return waits;
  }

  it(
    'loses no upload: an older version is brought up to the newest, and the newest to one to come',
    async () => {
      await migrate(database.url, { directory: await folderWith({}, (name) => name.slice(0, 4) <= olderVersion) });
      // The services find their version elsewhere, so that they start before the database has it.
      const settings = { MIGRATION_DATABASE_URL: inject('databaseUrl') };
      testbed = await openTestbed({ databaseUrl: database.url, settings });
      const { db } = testbed;
      const load = await testbed.startLoad();
      await load.progress(3);
      expect(await migrate(database.url)).not.toEqual([]);
      await eventually(async () => expect(await storedReadings(db)).toBeGreaterThan(0), 120_000);
      await load.progress(3);
      const folder = await folderWith(database.embedded ? toCome : { ...toCome, ...onServersOnly }, () => true);
      let waits = 0;
      if (database.embedded) await migrate(database.url, { directory: folder });
      else waits = await migrateBesideReader(db, load, folder);
      await load.progress(3);
      const uploads = await load.finish();
      await sql`select under_load from reading limit 1`.execute(db);
      await report('migrations under load', { devices: scale.devices, waits, acknowledged: uploads, stored: uploads });
    },
    timeoutMs,
  );
});
