import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '@odograph/cli/command-line';
import { openDatabase } from '@odograph/database/database';
import { findMissingMigrations } from '@odograph/database/migrate';
import { startEmbeddedTimescale } from '@odograph/embedded/postgres/timescaledb';
import { childEnvironment } from '@odograph/runtime/config';
import { copyTemplate } from '@odograph/testkit/global-setup';
import { testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { expect, it } from 'vitest';

// Each file is made by `npm run keep:database` with the version that it is named after.
const kept = new URL('kept/', import.meta.url);
const files = await readdir(kept);

it('keeps a database of 0.1.0', () => expect(files).toContain('0.1.0.backup'));

it.each(files)('%s is upgraded with all that it holds', { timeout: 240_000 }, async (file) => {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-kept-'));
  await copyTemplate('empty', join(directory, 'timescaledb'));
  const engine = await startEmbeddedTimescale({ dataDirectory: join(directory, 'timescaledb') });
  try {
    const { REDIS_URL } = await testConfig();
    const environment = childEnvironment({ DATABASE_URL: engine.url, REDIS_URL, DATA_DIR: directory });
    await runCommandLine(['restore', fileURLToPath(new URL(file, kept))], environment);
    expect(await findMissingMigrations(engine.url)).toEqual([]);
    const db = openDatabase({ url: engine.url, name: 'test', size: 1 });
    const { rows } = await sql`select (select count(*)::integer from reading) as readings,
      (select array_agg(distinct type order by type) from event) as events,
      (select count(*)::integer from vehicle join device_link on vehicle_id = id) as vehicles,
      (select array_agg(action || ' ' || state) from command) as commands, (select array_agg(kind) from alarm) as alarms,
      (select array_agg(user_id) from booking) as bookings,
      (select array_agg(fault) from find_database_faults() as fault) as faults`.execute(db);
    await db.destroy();
    expect(rows).toEqual([
      {
        ...{ readings: 100, vehicles: 1, commands: ['LOCK acknowledged'], alarms: ['crash'], bookings: ['driver'] },
        events: expect.arrayContaining(['alarm.raised', 'booking.created', 'command.ended']),
        faults: null,
      },
    ]);
  } finally {
    await engine.stop();
    await rm(directory, { recursive: true, force: true });
  }
});
