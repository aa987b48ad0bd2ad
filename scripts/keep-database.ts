// Makes test/flows/kept/VERSION.backup, a database of this version that every later one must upgrade
// (test/flows/kept-databases.test.ts). Run it once for each minor version, when it is cut: npm run keep:database
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { appendAudit } from '@odograph/database/audit';
import { openDatabase } from '@odograph/database/database';
import { migrate } from '@odograph/database/migrate';
import { startEmbeddedTimescale } from '@odograph/embedded/postgres/timescaledb';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import root from '../package.json' with { type: 'json' };
import { runCommandLine } from '../packages/cli/command-line.ts';

/** Stores one row of each kind; triggers add the events. */
async function fill(url: string): Promise<void> {
  const db = openDatabase({ url, name: 'keep-database', size: 1 });
  const application = await createApplication(db);
  const vehicle = await createVehicle(db, application);
  const id = Number(vehicle.id);
  await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, speed, device_id, received_at)
    select timestamptz '2026-01-01' + n * interval '6 hours', ${application.id}, ${id}, 48 + n / 1000.0, 2.35, 50,
      ${vehicle.deviceId}, now() from generate_series(1, 100) as n`.execute(db);
  await sql`select compress_chunk(show_chunks('reading', older_than => timestamptz '2026-01-09'))`.execute(db);
  await sql`insert into command (application_id, vehicle_id, device_id, action, state, expires_at, ended_at, status)
    values (${application.id}, ${id}, ${vehicle.deviceId}, 'LOCK', 'acknowledged', now(), now(), 'done')`.execute(db);
  await sql`with rule as (insert into alarm_rule (application_id, name, kind, all_vehicles)
      values (${application.id}, 'crash', 'crash', true) returning id)
    insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at)
      select ${application.id}, id, ${id}, 'crash', now() from rule`.execute(db);
  await sql`insert into booking (application_id, vehicle_id, user_id, authorization_id, type, starts_at, ends_at)
    values (${application.id}, ${id}, 'driver', gen_random_uuid(), 'BOOKING', now(), now() + interval '1 hour')`.execute(
    db,
  );
  await appendAudit(db, {
    ...{ chain: application.id, actor: 'operator', address: '', action: 'test', subject: 'vehicle', outcome: 'done' },
  });
  await db.destroy();
}

const directory = await mkdtemp(join(tmpdir(), 'odograph-keep-'));
const engine = await startEmbeddedTimescale({ dataDirectory: join(directory, 'timescaledb') });
await migrate(engine.url);
await fill(engine.url);
const file = fileURLToPath(new URL(`../test/flows/kept/${root.version}.backup`, import.meta.url));
const environment = { DATABASE_URL: engine.url, DATA_DIR: directory };
process.stdout.write(await runCommandLine(['backup', file, '--overwrite'], environment));
await engine.stop();
await rm(directory, { recursive: true });
