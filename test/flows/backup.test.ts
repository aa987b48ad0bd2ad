import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '@odograph/cli/command-line';
import { openConnection, openDatabase } from '@odograph/database/database';
import { findDatabaseFaults } from '@odograph/database/installation';
import { migrate } from '@odograph/database/migrate';
import { childEnvironment } from '@odograph/runtime/config';
import { connectDevice } from '@odograph/simulator/device-connection';
import { clientWithToken } from '@odograph/testkit/api-client';
import { type ChildPlatform, spawnPlatform, spawnServices } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { copyTemplate } from '@odograph/testkit/global-setup';
import { createTestDirectory } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { startLoad } from '../faults/parts/load.fixture.ts';
import { createSeparateDatabase, type SeparateDatabase } from '../faults/parts/separate-database.fixture.ts';

const commandLine = fileURLToPath(new URL('../../packages/cli/bin.mjs', import.meta.url));
const timeoutMs = 480_000;
const devices = 3;
let directory: string;
let file: string;
let passphraseFile: string;

beforeEach(async () => {
  directory = createTestDirectory();
  file = join(directory, 'odograph.backup');
  passphraseFile = join(directory, 'passphrase');
  await writeFile(passphraseFile, 'correct horse battery staple');
});
afterEach(async () => {
  for (const platform of platforms.splice(0)) if (platform.process.exitCode === null) await platform.end('SIGKILL');
});
const platforms: ChildPlatform[] = [];

async function startPlatform(settings: Record<string, string>): Promise<ChildPlatform> {
  const platform = await spawnPlatform([], settings);
  platforms.push(platform);
  return platform;
}

/** Settings of an installation with embedded engines, unless a database is given, and with its own keys. */
async function installation(
  databaseUrl = '',
  template: 'empty' | 'migrated' = 'migrated',
): Promise<Record<string, string>> {
  const dataDirectory = join(directory, `data-${await freePort()}`);
  await mkdir(dataDirectory);
  if (databaseUrl === '') await copyTemplate(template, join(dataDirectory, 'timescaledb'));
  return {
    ...{ DATABASE_URL: databaseUrl, REDIS_URL: '', DATA_DIR: dataDirectory, ADMIN_TOKEN: '', ENCRYPTION_KEYS: '' },
    ...{ HTTP_PORT: String(await freePort()), MQTT_PORT: String(await freePort()) },
    LOG_LEVEL: 'warn',
  };
}

function spawnCommand(settings: Record<string, string>, ...args: string[]) {
  return spawn(process.execPath, [commandLine, ...args], {
    env: childEnvironment(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs `npx odograph` in a process of its own. */
async function odograph(settings: Record<string, string>, ...args: string[]) {
  const child = spawnCommand(settings, ...args);
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { status, stderr, report: stdout === '' ? undefined : JSON.parse(stdout) };
}
const backup = (settings: Record<string, string>) =>
  odograph(settings, 'backup', file, '--passphrase-file', passphraseFile);
const restore = (settings: Record<string, string>, path = file) =>
  odograph(settings, 'restore', path, '--passphrase-file', passphraseFile);

/** Runs a command of the operator's interface in this process. */
async function answerOf(settings: Record<string, string>, ...args: string[]) {
  return JSON.parse(await runCommandLine(args, childEnvironment(settings)));
}

async function databaseUrlOf(settings: Record<string, string>): Promise<string> {
  if (settings['DATABASE_URL']) return settings['DATABASE_URL'];
  const engines = await readFile(join(settings['DATA_DIR'] ?? '', 'engines.json'), 'utf8');
  return JSON.parse(engines).databaseUrl;
}

/** Counts the rows of tables that nothing but their owners changes. */
async function countRows(databaseUrl: string, tables: readonly string[]): Promise<Record<string, number>> {
  const db = openDatabase({ url: databaseUrl, name: 'test', size: 1 });
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const { rows } = await sql<{ count: number }>`select count(*)::integer as count
      from ${sql.table(table)}`.execute(db);
    counts[table] = rows[0]?.count ?? -1;
  }
  await db.destroy();
  return counts;
}

/** Creates a device with a key and a quarantined upload, both sealed, and an application that follows the feed. */
async function prepare(platform: ChildPlatform, settings: Record<string, string>) {
  const db = openDatabase({ url: await databaseUrlOf(settings), name: 'test', size: 1 });
  const application = await createApplication(db);
  const vehicle = await createVehicle(db, application);
  await answerOf(settings, 'device', 'key', '--id', vehicle.deviceId);
  const device = await connectDevice(`mqtt://127.0.0.1:${settings['MQTT_PORT']}`, vehicle);
  await device.upload('no reading');
  await device.close();
  const quarantined = await eventually(async () => {
    const { quarantine } = await answerOf(settings, 'quarantine', 'list');
    expect(quarantine).toHaveLength(1);
    return String(quarantine[0].id);
  }, 30_000);
  const client = platform.as(application.token);
  return { db, vehicle, quarantined, token: application.token, next: (await client.get('/v1/x/changes')).body.next };
}

const queuedBatches = (report: { queued: string }) => Number(/^up to (\d+)/.exec(report.queued)?.[1] ?? '0');
const fixedTables = ['application', 'vehicle', 'device', 'device_key', 'device_link', 'quarantine'];

async function startServices(settings: Record<string, string>): Promise<string> {
  const child = spawnServices([], childEnvironment(settings));
  const [errors] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return errors;
}

describe.each(['embedded', 'native'])('backup and restore on the %s database', (kind) => {
  let database: SeparateDatabase | undefined;
  const createDatabase = async () => {
    if (kind === 'native') database = await createSeparateDatabase();
    return database?.url;
  };
  beforeEach(({ skip }) => {
    if (kind === 'native' && !inject('isNativeDatabase')) skip('needs a native database');
  });
  afterEach(async () => {
    await database?.drop();
    database = undefined;
  });

  it('brings back everything after the database and the data folder are destroyed, from a backup taken during uploads', {
    timeout: timeoutMs,
  }, async () => {
    const settings = await installation(await createDatabase());
    const platform = await startPlatform(settings);
    const { db, vehicle, quarantined, token, next } = await prepare(platform, settings);
    const load = await startLoad({ db, mqttUrl: `mqtt://127.0.0.1:${settings['MQTT_PORT']}`, devices });
    await load.progress(3);
    const acknowledged = load.acknowledged();
    const { status, stderr, report } = await backup(settings);
    expect([status, stderr]).toEqual([0, '']);
    expect(report).toMatchObject({ keys: 'encrypted', audit: expect.stringMatching(/^\d+ entries verified$/) });
    await load.progress(1);
    await load.finish();
    const before = await countRows(await databaseUrlOf(settings), fixedTables);
    await db.destroy();
    await platform.end('SIGKILL');
    await rm(settings['DATA_DIR'] ?? '', { recursive: true });
    await database?.drop();

    const fresh = await installation(await createDatabase(), 'empty');
    const restored = await restore(fresh);
    expect([restored.status, restored.stderr]).toEqual([0, '']);
    expect(restored.report).toMatchObject({ rows: report.rows, queued: report.queued, audit: report.audit });

    const again = await startPlatform(fresh);
    const url = await databaseUrlOf(fresh);
    expect(await countRows(url, fixedTables)).toEqual(before);
    const { reading = 0 } = await countRows(url, ['reading']);
    // Each device has one upload in flight, so a batch holds at most one of each.
    expect(reading).toBeGreaterThanOrEqual(acknowledged - queuedBatches(report) * devices);
    const chains = await answerOf(fresh, 'audit', 'verify');
    expect(JSON.stringify(chains)).not.toMatch(/CHANGED|MISSING|NOT_IN_CHAIN/);
    const opened = await answerOf(fresh, 'quarantine', 'open', quarantined);
    expect(JSON.stringify(opened)).toContain(Buffer.from('no reading').toString('base64'));
    const { body } = await clientWithToken(again.httpUrl, token).get(`/v1/x/changes?after=${next}`);
    expect(body).toMatchObject({ error: 'INVALID_PARAMETER', reason: 'EXPIRED' });
    const device = await connectDevice(`mqtt://127.0.0.1:${fresh['MQTT_PORT']}`, vehicle);
    await device.upload({ timestamp: Date.now() / 1000, status: { mileage: 1 } });
    await device.close();
    const refused = await restore(fresh);
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('stop the platform first')]);
  });
});

describe('kill -9', () => {
  it('of a backup leaves no file that restore accepts', { timeout: timeoutMs }, async () => {
    const engine = await createSeparateDatabase();
    try {
      const settings = await installation(engine.url);
      await migrate(engine.url);
      await fillReadings(engine.url);
      const child = spawnCommand(settings, 'backup', file);
      const exited = once(child, 'exit');
      const unfinished = await eventually(async () => {
        const names = (await readdir(directory)).filter((name) => name.endsWith('.unfinished'));
        expect(names).toHaveLength(1);
        return join(directory, names.join());
      }, 60_000);
      child.kill('SIGKILL');
      await exited;
      expect(existsSync(file)).toBe(false);
      const { status, stderr } = await restore(settings, unfinished);
      expect([status, stderr]).toEqual([1, expect.stringMatching(/not a complete backup|is damaged in /)]);
      expect((await backup(settings)).status).toBe(0);
    } finally {
      await engine.drop();
    }
  });

  it('of a restore leaves a database that does not start until the restore is repeated', {
    timeout: timeoutMs,
  }, async ({ skip }) => {
    skip(
      !inject('isNativeDatabase'),
      'the embedded database has one session, so the test cannot see a restore under way',
    );
    const [source, target] = [await createSeparateDatabase(), await createSeparateDatabase()];
    try {
      await migrate(source.url);
      await fillReadings(source.url);
      expect((await backup(await installation(source.url))).status).toBe(0);
      await migrate(target.url);
      const settings = await installation(target.url);
      const child = spawnCommand(settings, 'restore', file);
      const exited = once(child, 'exit');
      await untilRestoring(target.url);
      child.kill('SIGKILL');
      await exited;
      const refusal = await startServices(settings);
      expect(refusal).toMatch(
        /^DATABASE_URL: the database is incomplete: the restore that began at .* did not finish; .*\n$/,
      );
      expect((await restore(settings)).status).toBe(0);
      expect(await findDatabaseFaults(target.url)).toEqual([]);
      expect(await countRows(target.url, ['reading'])).toEqual({ reading: filledReadings });
    } finally {
      await source.drop();
      await target.drop();
    }
  });
});

const filledReadings = 20_000;

async function fillReadings(url: string): Promise<void> {
  const db = openDatabase({ url, name: 'test', size: 1 });
  const application = await createApplication(db);
  const { id } = await createVehicle(db, application);
  await sql`insert into reading (time, application_id, vehicle_id, latitude, device_id, received_at)
    select timestamptz '2026-01-01' + n * interval '1 minute', ${application.id}, ${id}::integer, n / 7.0, 'device', now()
    from generate_series(1, ${filledReadings}::integer) as n`.execute(db);
  await db.destroy();
}

/** Resolves once a restore has announced itself; on the embedded engine the query waits its turn between its statements. */
async function untilRestoring(url: string): Promise<void> {
  const { client } = await openConnection(url, 'test');
  // A restore is refused while the platform is connected.
  await client.query("set application_name = 'observer'");
  for (;;) {
    const { rows } = await client.query('select from installation where restoring_since is not null');
    if (rows.length > 0) break;
    await delay(1);
  }
  await client.end();
}
