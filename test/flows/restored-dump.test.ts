import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openConnection, openDatabase } from '@odograph/database/database';
import { findDatabaseFaults, recognizeDatabase } from '@odograph/database/installation';
import { migrate } from '@odograph/database/migrate';
import { queryService } from '@odograph/query/service';
import { childEnvironment } from '@odograph/runtime/config';
import { clientWithToken } from '@odograph/testkit/api-client';
import { spawnServices } from '@odograph/testkit/child-platform';
import { createApplication, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { createSeparateDatabase, type SeparateDatabase } from '../faults/parts/separate-database.fixture.ts';

const run = promisify(execFile);
const readings = 200;
let directory: string;
let dump: string;
let original: SeparateDatabase;
let application: TestApplication;
const copies: SeparateDatabase[] = [];

/** Runs statements one by one, each in its own transaction. */
async function execute(url: string, ...statements: string[]): Promise<unknown[]> {
  const { client } = await openConnection(url, 'test');
  try {
    let rows: unknown[] = [];
    for (const statement of statements) ({ rows } = await client.query(statement));
    return rows;
  } finally {
    await client.end();
  }
}

/** Stores readings of nine days, with their counts and changes, and compresses the first seven days. */
async function fill(url: string): Promise<TestApplication> {
  await migrate(url);
  const db = openDatabase({ url, name: 'test', size: 1 });
  try {
    const owner = await createApplication(db);
    const { id } = await createVehicle(db, owner);
    await sql`with stored as (
        insert into reading (time, application_id, vehicle_id, latitude, device_id, received_at)
          select timestamptz '2026-01-01' + n * interval '1 hour', ${owner.id}, ${id}::integer, n / 7.0, 'device', now()
          from generate_series(0, ${readings - 1}) as n returning vehicle_id, time, application_id),
      counted as (
        insert into reading_count (vehicle_id, hour, application_id, count)
          select vehicle_id, time, application_id, 1 from stored)
      insert into reading_change (application_id, vehicle_ids, times)
        select application_id, array_agg(vehicle_id), array_agg(time) from stored group by 1`.execute(db);
    await sql`select compress_chunk(show_chunks('reading', older_than => timestamptz '2026-01-08'))`.execute(db);
    return owner;
  } finally {
    await db.destroy();
  }
}

async function createCopy(...prepare: string[]): Promise<string> {
  const copy = await createSeparateDatabase();
  copies.push(copy);
  await execute(copy.url, ...prepare);
  return copy.url;
}

/** Restores the dump and ignores errors, as pg_restore does. */
const restoreDump = (url: string, ...options: string[]) =>
  run('pg_restore', [...options, '-d', url, dump]).catch(() => undefined);

async function restoreAsDocumented(): Promise<string> {
  const url = await createCopy('create extension timescaledb', 'select timescaledb_pre_restore()');
  await restoreDump(url);
  await execute(url, 'select timescaledb_post_restore()');
  return url;
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'odograph-dump-'));
  original = await createSeparateDatabase();
  application = await fill(original.url);
});
afterAll(async () => {
  for (const database of [original, ...copies]) await database.drop();
  await rm(directory, { recursive: true, force: true });
});

describe('the check of a database at the start', () => {
  it('accepts a whole one', async () => {
    expect(await findDatabaseFaults(original.url)).toEqual([]);
    expect(await recognizeDatabase(original.url)).toBe(false);
  });

  it('accepts one whose function has the number of a part of an extension, as pg_upgrade may number it', async () => {
    const changeCatalog = (statement: string) =>
      execute(original.url, 'set allow_system_table_mods = on', statement, 'reset allow_system_table_mods');
    await changeCatalog(`insert into pg_depend
      select 'pg_class'::regclass, 'audit_personal'::regproc, 0, 'pg_extension'::regclass, oid, 0, 'e'
      from pg_extension where extname = 'timescaledb'`);
    expect(await findDatabaseFaults(original.url)).toEqual([]);
    await changeCatalog(`delete from pg_depend
      where classid = 'pg_class'::regclass and objid = 'audit_personal'::regproc and deptype = 'e'`);
  });

  it('ends the start of one without an index, in one line that names DATABASE_URL and the index', async () => {
    await execute(original.url, 'drop index reading_change_age');
    const child = spawnServices(
      ['query'],
      childEnvironment({
        ...{ DATABASE_URL: original.url, REDIS_URL: inject('redisUrl'), DATA_DIR: directory, HTTP_PORT: '0' },
      }),
    );
    let errors = '';
    for await (const chunk of child.stderr) errors += String(chunk);
    expect(errors).toMatch(
      /^DATABASE_URL: the database is incomplete: .*missing, such as index reading_change_age; .*\n$/,
    );
    await execute(original.url, 'create index reading_change_age on reading_change (stored_at)');
    expect(await findDatabaseFaults(original.url)).toEqual([]);
  });
});

describe('a dump by pg_dump', () => {
  beforeAll(async () => {
    dump = join(directory, 'odograph.dump');
    if (inject('isNativeDatabase')) await run('pg_dump', ['-Fc', '-f', dump, original.url]);
  });
  beforeEach(({ skip }) => {
    if (!inject('isNativeDatabase')) skip('pg_dump needs a native database');
  });

  it('is whole after a restore as documented; readers of the change feed start again', async () => {
    const platform = await startTestPlatform([queryService], { DATABASE_URL: original.url });
    const feed = (url: string, after = '') =>
      clientWithToken(url, application.token).get(`/v1/x/changes?limit=10000&after=${after}`);
    const { body: before } = await feed(platform.httpUrl);
    expect(before.changes).toHaveLength(readings);
    await platform.stop();

    const url = await restoreAsDocumented();
    expect(await findDatabaseFaults(url)).toEqual([]);
    expect(await recognizeDatabase(url)).toBe(true);
    expect(await recognizeDatabase(url)).toBe(false);
    expect(await execute(url, 'select count(*)::integer from reading')).toEqual([{ count: readings }]);
    const restored = await startTestPlatform([queryService], { DATABASE_URL: url });
    expect((await feed(restored.httpUrl, before.next)).body).toMatchObject({ reason: 'EXPIRED' });
    expect((await feed(restored.httpUrl)).body.changes).toEqual(before.changes);
    await restored.stop();
  });

  it('is refused without timescaledb_post_restore', async () => {
    const url = await createCopy('create extension timescaledb', 'select timescaledb_pre_restore()');
    await restoreDump(url);
    expect(await findDatabaseFaults(url)).toContain('it is in restoring mode; call timescaledb_post_restore()');
  });

  it('is refused when a role without the rights restored it: readings are an empty plain table', async () => {
    const role = `restorer_${randomUUID().replaceAll('-', '')}`;
    const url = new URL(await createCopy('create extension timescaledb', `create role ${role} login`));
    await execute(
      url.href,
      `grant create on database ${url.pathname.slice(1)} to ${role}`,
      `grant all on schema public to ${role}`,
    );
    await restoreDump(url.href, '-O', '-x', `--role=${role}`);
    expect(await execute(url.href, 'select count(*)::integer from reading')).toEqual([{ count: 0 }]);
    expect((await findDatabaseFaults(url.href)).join()).toContain('reading is no hypertable');
    await execute(url.href, `drop owned by ${role}`, `drop role ${role}`);
  });

  it('is refused when it was restored over tables that exist', async () => {
    const url = await createCopy();
    await migrate(url);
    await restoreDump(url);
    expect((await findDatabaseFaults(url)).join()).toContain('chunks of readings are incomplete');
  });

  it('is refused when a chunk has no rows', async () => {
    const url = await restoreAsDocumented();
    await execute(url, "delete from reading where time >= '2026-01-05' and time < '2026-01-06'");
    expect((await findDatabaseFaults(url)).join()).toContain(
      'readings of 1 days are missing, such as those of 2026-01-05',
    );
  });

  it('is refused when pg_restore ended early', async () => {
    const url = await createCopy('create extension timescaledb', 'select timescaledb_pre_restore()');
    await restoreDump(url, '--section=pre-data', '--section=data');
    await execute(url, 'select timescaledb_post_restore()');
    expect((await findDatabaseFaults(url)).join()).toMatch(/tables, indexes and constraints are missing/);
  });
});
