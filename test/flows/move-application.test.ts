import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { leftBehind, listApplicationTables } from '@odograph/cli/move/tables';
import { type Database, openConnection, openDatabase } from '@odograph/database/database';
import { startReceiver } from '@odograph/events/webhooks.fixture';
import { childEnvironment } from '@odograph/runtime/config';
import { Sealer, secondFactorContext } from '@odograph/runtime/sealing';
import { connectDevice } from '@odograph/simulator/device-connection';
import { type ApiClient, createApiClient } from '@odograph/testkit/api-client';
import { type ChildPlatform, settingsFrom, spawnPlatform } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { createVehicle, type TestApplication, type TestVehicle, unthrottled } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { createOwnDatabase, type OwnDatabase } from '@odograph/testkit/global-setup';
import { hasHaproxy } from '@odograph/testkit/programs';
import { useDatabase, useDirectory } from '@odograph/testkit/scopes';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startLoad } from '../faults/parts/load.fixture.ts';
import { fillApplication, inMinutes } from './move-application.fixture.ts';

const commandLine = fileURLToPath(new URL('../../packages/cli/bin.mjs', import.meta.url));
const timeoutMs = 240_000;
const directory = useDirectory();
const shared = useDatabase();

/** An installation in processes of its own. */
interface Cell {
  readonly number: number;
  readonly database: OwnDatabase;
  readonly db: ReturnType<typeof openDatabase>;
  readonly settings: Record<string, string>;
  readonly platform: ChildPlatform;
}
const cells: Cell[] = [];

async function startCell(number: number): Promise<Cell> {
  const database = await createOwnDatabase(`cell${number}`);
  const config = await testConfig({ DATABASE_URL: database.url });
  const settings = {
    ...(await settingsFrom(config)),
    ...{ CELL: String(number), ENCRYPTION_KEYS: `keys-of-cell-${number}`.padEnd(40, '0'), LOG_LEVEL: 'warn' },
    ...{ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', PROXY_PROTOCOL_NETWORKS: '127.0.0.1' },
    ...{ HTTP_REQUESTS_PER_MINUTE: '1000000', UPLOAD_SHARDS: '2' },
  };
  const db = openDatabase({ url: database.url, name: 'test', size: 2 });
  const cell = { number, database, db, settings, platform: await spawnPlatform([], settings) };
  cells.push(cell);
  return cell;
}

const spawnCommand = ({ settings }: Cell, ...words: string[]) =>
  spawn(process.execPath, [commandLine, 'application', ...words], {
    env: childEnvironment(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  });

/** Runs `npx odograph application …` on a host of a cell. */
async function run(cell: Cell, ...words: string[]) {
  const child = spawnCommand(cell, ...words);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { error: child.exitCode === 0 ? '' : stderr, answer: stdout === '' ? {} : JSON.parse(stdout) };
}

/** Runs a command that must succeed. */
async function done(cell: Cell, ...words: string[]) {
  const { error, answer } = await run(cell, ...words);
  expect(error).toBe('');
  return answer;
}

let haproxy: ChildProcess | undefined;
let [httpPort, mqttPort]: number[] = [];
const socketPath = join(directory, 'haproxy.sock');

/** Starts HAProxy with the configuration of docs/scaling.md, for cells 0 and 1. */
async function startBalancer(first: Cell, second: Cell): Promise<void> {
  [httpPort, mqttPort] = [await freePort(), await freePort()];
  const manual = await readFile(new URL('../../docs/scaling.md', import.meta.url), 'utf8');
  const block = manual.split('```').find((part) => part.includes('map_beg')) ?? '';
  const addresses: [string, string][] = [
    ...[first, second].flatMap(({ number, settings }): [string, string][] => [
      [`10.0.${number}.10:8080`, `127.0.0.1:${settings['HTTP_PORT']}`],
      [`10.0.${number}.10:1883`, `127.0.0.1:${settings['MQTT_PORT']}`],
    ]),
    ...([[':80\n', `127.0.0.1:${httpPort}\n`]] as const).map(([from, to]): [string, string] => [
      `bind ${from}`,
      `bind ${to}`,
    ]),
    ['bind :1883', `bind 127.0.0.1:${mqttPort}`],
    ['/run/haproxy/admin.sock', socketPath],
  ];
  const config = addresses.reduce((content, [from, to]) => content.replace(from, to), block);
  await writeFile(join(directory, 'haproxy.cfg'), config.replaceAll('/etc/haproxy', directory));
  await writeFile(join(directory, 'cells.map'), 'c1- c1\nc1. c1\n');
  await writeFile(join(directory, 'devices.map'), '');
  haproxy = spawn('haproxy', ['-db', '-f', join(directory, 'haproxy.cfg')], { stdio: 'inherit' });
  await eventually(async () => expect((await fetch(`http://127.0.0.1:${httpPort}/health`)).status).toBe(200));
}

/** Adds a line to a map of the running balancer. */
async function route(map: string, key: string, value: string): Promise<void> {
  const socket = connect(socketPath);
  socket.end(`add map ${join(directory, map)} ${key} ${value}\n`);
  expect((await text(socket)).trim()).toBe('');
}

const balanced = (token: string): ApiClient =>
  createApiClient(`http://127.0.0.1:${httpPort}`, { 'x-service-token': token });

async function login({ appId, appKey }: { appId: string; appKey: string }): Promise<string> {
  const answer = await createApiClient(`http://127.0.0.1:${httpPort}`).post('/v1/login', { appId, appKey });
  expect([answer.status, answer.body.error]).toEqual([200, undefined]);
  return answer.body.token;
}

async function createApplication({ platform, db }: Cell, name: string): Promise<TestApplication> {
  const { appId, appKey } = (await platform.admin.post('/v1/x/admin/applications', { name })).body;
  await db.updateTable('application').set(unthrottled).where('app_id', '=', appId).execute();
  const { id } = await db.selectFrom('application').select('id').where('app_id', '=', appId).executeTakeFirstOrThrow();
  return { id, appId, appKey, token: await login({ appId, appKey }) };
}

const passphraseFile = join(directory, 'passphrase');
let [source, target]: Cell[] = [];

beforeAll(async () => {
  if (!hasHaproxy) return;
  await writeFile(passphraseFile, 'correct horse battery staple');
  [source, target] = await Promise.all([startCell(0), startCell(1)]);
  await startBalancer(source as Cell, target as Cell);
}, timeoutMs);
afterAll(async () => {
  haproxy?.kill('SIGKILL');
  for (const { platform, db, database } of cells) {
    await platform.end('SIGKILL');
    await db.destroy();
    await database.drop();
  }
}, timeoutMs);

const countOf = async (db: Database, query: ReturnType<typeof sql>): Promise<number> =>
  Number(((await query.execute(db)).rows[0] as { count: string | number }).count);
const readingsOf = (db: Database, { id }: TestApplication) =>
  countOf(db, sql`select count(*) from reading where application_id = ${id}`);

const factorSealer = ({ settings }: Cell) => new Sealer([settings['ENCRYPTION_KEYS'] ?? ''], 'second factors');

const seenBy = async (api: ApiClient, { id }: TestVehicle) => ({
  bookings: (await api.get(`/v1/vehicle/${id}/booking`)).body,
  geofences: (await api.get('/v1/x/geofences')).body,
  groups: (await api.get('/v1/x/groups')).body,
  notifications: (await api.get('/v1/x/notifications')).body,
  commands: (await api.get(`/v1/x/commands?vehicleId=${id}`)).body,
});

describe.skipIf(!hasHaproxy)('an application that moves to another cell under load', () => {
  it('keeps every acknowledged reading once, its ids, commands, bookings and webhooks, and disturbs no other', {
    timeout: 2 * timeoutMs,
  }, async () => {
    if (!source || !target) throw new Error('the cells did not start');
    const receiver = await startReceiver((_received, response) => {
      response.statusCode = 500;
    });
    const [moving, staying] = [await createApplication(source, 'moving'), await createApplication(source, 'staying')];
    expect((await createApplication(target, 'own')).appId).toMatch(/^c1-/);
    const mqttUrl = `mqtt://127.0.0.1:${mqttPort}`;
    const load = { db: source.db, mqttUrl, devices: 5, pauseMs: 1000 };
    const executed: string[] = [];
    const execute = ({ id }: TestVehicle) => void executed.push(id);
    const [moved, stayed] = [
      await startLoad({ ...load, application: moving, execute }),
      await startLoad({ ...load, application: staying }),
    ];
    const [vehicle] = moved.vehicles as [TestVehicle];
    await moved.progress(5);
    const { db, platform } = source;
    const clients = { db, api: balanced(moving.token), admin: platform.admin, sealer: factorSealer(source) };
    const { booking, key, command, user, group } = await fillApplication(clients, moving, vehicle, receiver);
    const quarantined = await createVehicle(source.db, moving);
    const faulty = await connectDevice(mqttUrl, quarantined);
    await faulty.upload('no reading');
    await faulty.close();
    await eventually(async () => expect(receiver.received.length).toBeGreaterThan(0));
    const before = await seenBy(balanced(moving.token), vehicle);

    // The first attempt is killed while it writes.
    const out = ['--app', moving.appId, '--passphrase-file', passphraseFile, '--to'];
    const killed = spawnCommand(source, 'move-out', ...out, join(directory, 'moved'));
    for await (const chunk of killed.stderr) if (String(chunk).includes('files of readings')) break;
    killed.kill('SIGKILL');
    await eventually(async () => {
      const refused = await balanced(moving.token).post(`/v1/vehicle/${vehicle.id}/booking`, booking);
      expect(refused).toMatchObject({ status: 503, body: { error: 'OVERLOADED', reason: 'APPLICATION_MOVING' } });
    });
    expect((await balanced(moving.token).get('/v1/x/geofences')).status).toBe(200);
    await expect(login(moving)).rejects.toThrow(/503/);
    // A change by an operator has no caller; the database refuses it.
    const rename = { deviceUploadsPerSecond: 1 };
    expect(await source.platform.admin.put(`/v1/x/admin/applications/${moving.appId}`, rename)).toMatchObject({
      status: 503,
      body: { reason: 'APPLICATION_MOVING' },
    });
    await stayed.progress(3);
    // A cancelled move leaves the application as it was.
    await eventually(async () => {
      await done(source as Cell, 'cancel-move', '--app', moving.appId);
    });
    await moved.progress(2);
    const { readings } = await done(source, 'move-out', ...out, join(directory, 'moved'));
    expect(readings).toBeGreaterThan(10);
    expect(await readingsOf(source.db, moving)).toBe(readings);
    await stayed.progress(3);

    const secondIn = ['move-in', join(directory, 'moved'), '--passphrase-file', passphraseFile];
    const interrupted = spawnCommand(target, ...secondIn);
    await eventually(async () => {
      const { rows } = await sql`select from application_move where app_id = ${moving.appId}`.execute(
        target?.db as Database,
      );
      expect(rows).toHaveLength(1);
    });
    interrupted.kill('SIGKILL');
    await eventually(async () => expect((await run(target as Cell, ...secondIn)).error).toBe(''), 30_000);
    const { receipt } = await done(target, ...secondIn);
    // Inactive in both: only the source gives out the release, and only for the receipt.
    expect((await run(target, 'activate', '--app', moving.appId, '--release', receipt)).error).toMatch(
      /not the release/,
    );
    expect((await run(source, 'hand-over', '--app', moving.appId, '--receipt', 'wrong')).error).toMatch(
      /not the receipt/,
    );
    const { release } = await done(source, 'hand-over', '--app', moving.appId, '--receipt', receipt);
    expect((await run(source, 'cancel-move', '--app', moving.appId)).error).toMatch(/handed over/);
    expect(await done(source, 'hand-over', '--app', moving.appId, '--receipt', receipt)).toEqual({
      ...{ appId: moving.appId, release },
    });
    await route('cells.map', moving.appId, 'c1');
    for (const { deviceId } of [...moved.vehicles, quarantined]) await route('devices.map', deviceId, 'c1');
    receiver.answer = () => undefined;
    await done(target, 'activate', '--app', moving.appId, '--release', release);
    await done(target, 'activate', '--app', moving.appId, '--release', release);
    await done(source, 'purge', '--app', moving.appId);

    await moved.progress(5);
    const token = await login(moving);
    expect(token).toMatch(/^c1\./);
    const api = balanced(token);
    expect(await seenBy(api, vehicle)).toEqual(before);
    const { rows: factors } = await sql<{ sealed_secret: Buffer }>`select * from second_factor`.execute(target.db);
    const otpSecret = factorSealer(target).open(factors[0]?.sealed_secret ?? Buffer.of(), secondFactorContext(user.id));
    expect(String(otpSecret)).toBe('one-time');
    const access = sql`select count(*) from vehicle_access where user_id = ${user.id}`;
    expect(await countOf(target.db, access)).toBe(1);
    await target.platform.admin.delete(`/v1/x/admin/users/${user.id}/groups/${group.id}`);
    expect(await countOf(target.db, access)).toBe(0);
    const repeated = await api.post('/v1/vehicle/lock', { vehicleId: vehicle.id }, { 'idempotency-key': 'one-lock' });
    expect(repeated.body).toEqual(command);
    expect(executed).toEqual([vehicle.id]);
    const again = await api.post(`/v1/vehicle/${vehicle.id}/booking`, booking, key);
    expect([again.status, again.body.error]).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE']);
    const later = { ...booking, from: inMinutes(180), until: inMinutes(240) };
    expect((await api.post(`/v1/vehicle/${vehicle.id}/booking`, later)).status).toBe(200);
    expect((await api.post('/v1/vehicle/unlock', { vehicleId: vehicle.id })).status).toBe(200);
    const commands = (await api.get(`/v1/x/commands?vehicleId=${vehicle.id}`)).body;
    expect(JSON.stringify(commands)).toContain('UNLOCK');
    await eventually(
      async () => expect(receiver.accepted.map(({ event }) => event.data['action'])).toEqual(['LOCK', 'UNLOCK']),
      60_000,
    );
    const { quarantine } = (await target.platform.admin.get('/v1/x/admin/quarantine')).body;
    const opened = await target.platform.admin.post(`/v1/x/admin/quarantine/${quarantine[0].id}/open`, {});
    expect(Buffer.from(opened.body.base64, 'base64').toString()).toBe('no reading');
    expect((await target.platform.admin.get('/v1/x/admin/audit/verify')).body).toMatchObject({ ok: true });
    expect(await moved.finish(target.db)).toBeGreaterThan(20);
    await stayed.finish();
    expect(await readingsOf(source.db, moving)).toBe(0);
    expect(await readingsOf(target.db, staying)).toBe(0);
    expect(
      await countOf(
        target.db,
        sql`select count(*) from device where application_id is distinct from ${moving.id} and deleted_at is null`,
      ),
    ).toBe(0);
    await receiver.close();
  });
  it('waits for changes in flight, refuses to lose what is stored later, can be cancelled, and returns', {
    timeout: timeoutMs,
  }, async ({ skip }) => {
    if (!inject('isNativeDatabase')) skip('the embedded database has one session, so nothing waits for a lock');
    if (!source || !target) throw new Error('the cells did not start');
    const [application, other] = [await createApplication(source, 'small'), await createApplication(source, 'other')];
    const [vehicle, linkedBefore] = [
      await createVehicle(source.db, application),
      await createVehicle(source.db, other),
    ];
    // A device of another application that had been linked to the vehicle: its past stays readable.
    await sql`update device_link set period = tstzrange('2026-01-01', null) where device_id = ${vehicle.deviceId}`.execute(
      source.db,
    );
    await sql`update device_link set period = tstzrange('2026-01-01', null) where device_id = ${linkedBefore.deviceId}`.execute(
      source.db,
    );
    await sql`insert into device_link values
      (${linkedBefore.deviceId}, ${Number(vehicle.id)}, '[2025-01-01,2025-02-01)')`.execute(source.db);
    const app = ['--app', application.appId];
    const files = (name: string) => join(directory, `small-${name}`);
    const out = (cell: Cell, name: string) =>
      done(cell, 'move-out', ...app, '--to', files(name), '--passphrase-file', passphraseFile);
    const into = (cell: Cell, name: string) => run(cell, 'move-in', files(name), '--passphrase-file', passphraseFile);
    const namesOf = async ({ db }: Cell) => {
      const { rows } = await sql<{
        name: string;
      }>`select name from geofence where application_id = ${application.id}`.execute(db);
      return rows.map(({ name }) => name);
    };

    await sql`insert into geofence (application_id, name, geometry, radius_metres)
      values (${application.id}, 'before', '{"type":"Point"}', 1)`.execute(source.db);
    const { client } = await openConnection(source.database.url, 'test');
    await client.query('begin');
    // Not an insert: its foreign key would lock the application.
    await client.query(`update geofence set name = 'in flight' where application_id = $1`, [application.id]);
    const first = out(source, 'first');
    await eventually(async () => {
      const { rows } = await sql`select from pg_stat_activity
        where application_name = 'odograph-move' and wait_event_type = 'Lock'`.execute((source as Cell).db);
      expect(rows).toHaveLength(1);
    }, 30_000);
    await client.query('commit');
    await client.end();
    await first;
    // Ingest stores what is queued, whatever it touches; every other service is refused.
    for (const [service, outcome] of [['ingest-uploads', 'changed'] as const, ['fleet', 'OD001'] as const]) {
      const own = await openConnection(source.database.url, service);
      const change = own.client.query('update geofence set name = name where application_id = $1', [application.id]);
      expect(
        await change.then(
          () => 'changed',
          ({ code }: { code: string }) => code,
        ),
      ).toBe(outcome);
      await own.client.end();
    }
    const part = join(files('first'), 'vehicle-000001.copy.gz');
    const whole = await readFile(part);
    await writeFile(part, gzipSync(gunzipSync(whole).toString().replace('Renault', 'Reno')));
    expect((await into(target, 'first')).error).toMatch(/files of vehicle .* are damaged/);
    await writeFile(part, gzipSync('nothing'));
    expect((await into(target, 'first')).error).toMatch(/vehicle-000001.copy.gz cannot be loaded/);
    await writeFile(part, whole);
    expect((await into(source, 'first')).error).toMatch(/both installations are cell 0: set another CELL here/);
    const { receipt } = (await into(target, 'first')).answer;
    expect(await namesOf(target)).toEqual(['in flight']);
    await sql`insert into reading_change (application_id, vehicle_ids, times)
      values (${application.id}, array[${Number(vehicle.id)}::integer], array[now()])`.execute(source.db);
    const refused = await run(source, 'hand-over', ...app, '--receipt', receipt);
    expect(refused.error).toMatch(/stored after the files were written/);
    expect(await done(target, 'cancel-move', ...app)).toMatchObject({ active: false });
    expect(await done(source, 'cancel-move', ...app)).toMatchObject({ active: true });
    expect(await namesOf(target)).toEqual([]);

    const move = async (from: Cell, to: Cell, name: string): Promise<void> => {
      await out(from, name);
      const loaded = await into(to, name);
      expect(loaded.error).toBe('');
      const { release } = await done(from, 'hand-over', ...app, '--receipt', loaded.answer.receipt);
      await done(to, 'activate', ...app, '--release', release);
      await done(from, 'purge', ...app);
    };
    await move(source, target, 'second');
    const { rows: past } = await sql`select deleted_at is not null as deleted, application_id from device
      join device_link on device_id = id where id = ${linkedBefore.deviceId}`.execute(target.db);
    expect(past).toEqual([{ deleted: true, application_id: null }]);
    await move(target, source, 'third');
    expect([await namesOf(source), await namesOf(target)]).toEqual([['in flight'], []]);
    const device = await connectDevice(`mqtt://127.0.0.1:${mqttPort}`, vehicle);
    await device.upload({ timestamp: Date.now() / 1000, sequence: 1 });
    await device.close();
    await eventually(async () => expect(await readingsOf((source as Cell).db, application)).toBe(1));
    const faults = await sql<{ fault: string }>`select find_database_faults() as fault`.execute(source.db);
    expect(faults.rows).toEqual([]);
    expect((await source.platform.admin.get('/v1/x/admin/audit/verify')).body).toMatchObject({ ok: true });
  });
});

describe('the tables of the database', () => {
  it('each belong to an application and move, or are named with the reason why they stay', async () => {
    const { rows } = await sql<{ name: string }>`select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`.execute(shared);
    const { client } = await openConnection(testDatabaseUrl(), 'test');
    const moved = (await listApplicationTables(client, 1)).map(({ name }) => name);
    await client.end();
    const known = [...moved, ...Object.keys(leftBehind), 'migration', 'installation'];
    expect(known.toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
  });
});
