import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '@odograph/database/database';
import { childEnvironment } from '@odograph/runtime/config';
import { createApiClient } from '@odograph/testkit/api-client';
import { spawnServices } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { freePort } from '@odograph/testkit/free-port';
import { testConfig, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from './command-line.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
let environment: NodeJS.ProcessEnv;
let httpUrl: string;
let dataDirectory: string;
let platform: ReturnType<typeof spawnServices>;
let platformLog: Promise<string>;

beforeAll(async () => {
  const config = await testConfig();
  const port = await freePort();
  httpUrl = `http://127.0.0.1:${port}`;
  dataDirectory = config.DATA_DIR;
  environment = childEnvironment({
    DATABASE_URL: config.DATABASE_URL,
    REDIS_URL: config.REDIS_URL,
    QUEUE_PREFIX: config.QUEUE_PREFIX,
    DATA_DIR: dataDirectory,
    ENCRYPTION_KEYS: testEncryptionKeys,
    HTTP_PORT: String(port),
    LOG_LEVEL: 'trace',
    ADMIN_TOKEN: '',
    XDG_CONFIG_HOME: dataDirectory,
  });
  platform = spawnServices(['fleet', 'access', 'console', '--allow-unreadable-values'], environment);
  platform.stderr.pipe(process.stderr);
  platformLog = text(platform.stdout);
  await eventually(async () => {
    if (!(await fetch(`${httpUrl}/health`)).ok) throw new Error('the platform is not ready');
  }, 50_000);
}, 240_000);
afterAll(async () => {
  if (platform.exitCode === null) {
    platform.kill('SIGTERM');
    await once(platform, 'exit');
  }
  await rm(dataDirectory, { recursive: true, force: true });
});

interface Outcome {
  status: unknown;
  stdout: string;
  stderr: string;
}

/** Runs the command in a process of its own, as a shell does: two seconds, so only where the process matters. */
async function odograph(args: readonly string[], settings: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const child = spawn(join(root, 'node_modules/.bin/odograph'), args, {
    cwd: root,
    env: { ...environment, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { status, stdout, stderr };
}

/** Runs a command that succeeds, and returns the JSON value that it prints. */
async function answerOf(...args: string[]) {
  const output = await runCommandLine(args, environment);
  expect(output.endsWith('\n')).toBe(true);
  return JSON.parse(output);
}

/** Runs a command that fails, and returns its message. */
async function refusalOf(args: readonly string[], settings: NodeJS.ProcessEnv = {}): Promise<string> {
  return runCommandLine(args, { ...environment, ...settings }).then(
    (output) => expect.fail(`printed ${output}`),
    (error: Error) => error.message,
  );
}

/** Changes a row of the audit with its append-only trigger disabled. */
async function tamperWithAudit(databaseUrl: string, appId: string): Promise<void> {
  const db = openDatabase({ url: databaseUrl, name: 'test', size: 1 });
  await db.transaction().execute(async (trx) => {
    await sql`alter table audit disable trigger audit_append_only`.execute(trx);
    await sql`update audit set outcome = 'changed' where position = 2
      and chain = (select id from application where app_id = ${appId})`.execute(trx);
    await sql`alter table audit enable trigger audit_append_only`.execute(trx);
  });
  await db.destroy();
}

describe('npx odograph', () => {
  it('prints the result as one line of JSON', async () => {
    const { status, stdout, stderr } = await odograph(['application', 'create', '--name', 'Printed']);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^\{[^\n]+\}\n$/);
    expect(JSON.parse(stdout)).toEqual({ appId: expect.any(String), appKey: expect.any(String) });
  });

  it('reports the code of a refusal in one line', async () => {
    const { status, stdout, stderr } = await odograph(['application', 'list'], {
      ADMIN_TOKEN: 'a-token-that-is-wrong',
    });
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^odograph: INVALID_TOKEN[^\n]*\n$/);
  });

  it('imports the device model that it shows, and names every fault of one', async () => {
    const shown = await answerOf('model', 'show', 'teltonika-outputs');
    const file = join(dataDirectory, 'model.json');
    await writeFile(file, JSON.stringify({ ...shown, name: 'relay' }));
    expect(await answerOf('model', 'import', file)).toEqual({ models: [{ ...shown, name: 'relay' }] });
    const { IMMOBILIZE } = shown.commands;
    const commands = { IMMOBILIZE: { ...IMMOBILIZE, success: [] }, FLY: IMMOBILIZE };
    await writeFile(file, JSON.stringify({ ...shown, name: 'relay', commands, bluetooth: 'no' }));
    const message = await refusalOf(['model', 'import', file]);
    for (const field of ['commands.IMMOBILIZE.success', 'commands.FLY', 'bluetooth']) expect(message).toContain(field);
    expect(await answerOf('model', 'show', 'relay')).toEqual({ ...shown, name: 'relay' });
    const { name: _, ...nameless } = shown;
    await writeFile(file, JSON.stringify([{ ...shown, name: 'second' }, nameless]));
    expect(await refusalOf(['model', 'import', file])).toBe(`${file}: a device model has no name`);
    await writeFile(file, '{"name": "relay",');
    expect(await refusalOf(['model', 'import', file])).toContain(`${file} cannot be read as JSON: `);
    expect(await refusalOf(['model', 'show', 'second'])).toContain('NOT_FOUND');
  });

  it('creates, lists and revokes a share', async () => {
    const { appId } = await answerOf('application', 'create', '--name', 'Sharing');
    const { id: vehicle } = await answerOf('vehicle', 'create', '--app', appId, '--plate', 'SH-123-AR');
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const options = ['--vehicle', vehicle, '--until', until, '--place', '48.85,2.35', '--grid', '500'];
    const { id, url } = await answerOf('share', 'create', ...options);
    expect(url).toMatch(/\/share#[\w-]{43}$/);
    const place = { latitude: 48.85, longitude: 2.35, radiusMetres: 200 };
    expect((await answerOf('share', 'list', '--vehicle', vehicle)).shares).toMatchObject([
      { id, state: 'active', gridMetres: 500, place, views: 0 },
    ]);
    await answerOf('share', 'revoke', id);
    expect((await answerOf('share', 'list', '--vehicle', vehicle)).shares).toMatchObject([{ id, state: 'ended' }]);
  });

  it('creates, lists, rotates and deletes a source', async () => {
    const { appId } = await answerOf('application', 'create', '--name', 'Forwarding');
    const options = ['--app', appId, '--format', 'traccar', '--create-devices'];
    const { sourceId, secret } = await answerOf('source', 'create', ...options);
    const { sources } = await answerOf('source', 'list', '--app', appId);
    expect(sources).toMatchObject([{ sourceId, appId, format: 'traccar', createDevices: true, messages: 0 }]);
    const rotated = await answerOf('source', 'rotate', '--id', sourceId, '--overlap-hours', '0');
    expect(rotated).toEqual({ sourceId, secret: expect.not.stringMatching(secret) });
    expect(await answerOf('source', 'delete', '--id', sourceId)).toEqual({});
    expect(await refusalOf(['source', 'delete', '--id', sourceId])).toContain('NOT_FOUND');
    expect(await refusalOf(['source', 'create', '--app', appId, '--format', 'gpx'])).toContain('format');
  });

  it('approves and declines vehicle requests, recorded in the audit', async () => {
    const application = await answerOf('application', 'create', '--name', 'Asking');
    const { appId } = application;
    const { body: login } = await createApiClient(httpUrl).post('/v1/login', application);
    const api = createApiClient(httpUrl, { 'x-service-token': login.token });
    const { body: requested } = await api.post('/v1/vehicle', { plate: 'XY-987-ZW', request: 'OBD' });
    const id = requested.request_id;
    const listed = await answerOf('request', 'list', '--app', appId, '--state', 'pending');
    expect(listed.requests).toMatchObject([{ requestId: id, plate: 'XY-987-ZW', request: 'OBD' }]);
    const approved = await answerOf('request', 'approve', id, '--brand', 'Renault', '--accessory', 'CARDHOLDER');
    expect((await api.get(`/v1/vehicle/${approved.id}`)).body).toMatchObject({
      plate: 'XY-987-ZW',
      builder: 'Renault',
    });
    expect(await refusalOf(['request', 'decline', id, '--reason', 'too late'])).toContain('ALREADY_DECIDED');
    const { audit } = await answerOf('audit', 'list', '--app', appId, '--limit', '1000');
    expect(audit.at(-1)).toMatchObject({ action: 'request.approve', actor: 'operator', subject: `request:${id}` });
  }, 240_000);

  it('exits with 1 and names the row when the audit was tampered with', async () => {
    const { appId } = await answerOf('application', 'create', '--name', 'Tampered');
    for (const plate of ['AA-111-AA', 'BB-222-BB'])
      await answerOf('vehicle', 'create', '--app', appId, '--plate', plate);
    const verify = async () => {
      const { status, stdout } = await odograph(['audit', 'verify']);
      const { ok, chains } = JSON.parse(stdout);
      expect(status).toBe(ok ? 0 : 1);
      return { ok, chain: chains.find((chain: { appId: string }) => chain.appId === appId) };
    };
    const { chain: before } = await verify();
    expect(before).toEqual({
      appId,
      length: 2,
      prunedThrough: 0,
      erasedRows: 0,
      head: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await tamperWithAudit(environment['DATABASE_URL'] ?? '', appId);
    expect(await verify()).toEqual({
      ok: false,
      chain: { ...before, fault: { position: 2, reason: 'CHANGED' } },
    });
  }, 240_000);

  it('sets up an application, a vehicle and a device on an empty platform, without a secret in the log', async () => {
    const application = await answerOf('application', 'create', '--name', 'Acme & Söhne');
    expect(Object.keys(application)).toEqual(['appId', 'appKey']);
    const { appId } = application;
    const vehicle = await answerOf(
      ...['vehicle', 'create', '--app', appId, '--plate', 'AB-123-CD', '--vin', 'VF1AG000000000001'],
      ...['--brand', 'Renault', '--model', 'Zoe', '--seats', '5', '--accessory', 'CARDHOLDER'],
    );
    expect(vehicle).toEqual({ id: expect.stringMatching(/^\d{10}$/) });
    const id = `test-${appId}`;
    const device = await answerOf('device', 'create', '--id', id, '--model', 'generic', '--vehicle', vehicle.id);
    expect(device).toEqual({ deviceId: id, secret: expect.any(String) });
    const password = 'correct horse battery';
    const account = ['--app', appId, '--username', 'anna', '--password', password, '--must-change'];
    const user = await answerOf('user', 'create', ...account);
    expect(Object.keys(user)).toEqual(['userId']);
    await answerOf('user', 'grant', '--user', user.userId, '--vehicle', vehicle.id);

    expect((await answerOf('vehicle', 'list', '--app', appId)).vehicles).toEqual([
      expect.objectContaining({ id: vehicle.id, plate: 'AB-123-CD', seats: 5, deviceId: id }),
    ]);
    expect((await answerOf('user', 'list', '--app', appId)).users[0].vehicleIds).toEqual([vehicle.id]);
    const rotated = await answerOf('device', 'secret', '--id', id);
    const provisioned = await answerOf('device', 'key', '--id', id);
    expect(provisioned).toEqual({ deviceId: id, key: expect.stringMatching(/^[\w-]{43}$/), keyVersion: 1 });
    expect(await answerOf('device', 'key-state', '--id', id)).toMatchObject({ keyVersion: 1, listVersion: 1 });
    expect(await answerOf('key', 'reseal')).toMatchObject({ deviceKeys: { resealed: 0 } });
    await answerOf('device', 'unlink', '--id', id);
    await answerOf('device', 'link', '--id', id, '--vehicle', vehicle.id);
    await answerOf('device', 'move', '--id', id, '--vehicle', vehicle.id);
    await answerOf('user', 'revoke', '--user', user.userId, '--vehicle', vehicle.id);
    expect((await answerOf('device', 'list', '--app', appId)).devices).toHaveLength(1);
    expect(await answerOf('quarantine', 'list')).toEqual({ quarantine: expect.any(Array) });
    expect(await answerOf('quarantine', 'replay', '--all')).toEqual({ replayed: expect.any(Number) });

    const api = createApiClient(httpUrl);
    const { body: login } = await api.post('/v1/login', { ...application, username: 'anna', password });
    const { body: refreshed } = await api.post('/v1/refreshToken', {
      ...application,
      refreshToken: login.refresh_token,
    });
    await createApiClient(httpUrl, { 'x-service-token': refreshed.token }).post('/v1/user/updatePassword', {
      oldPassword: password,
      newPassword: 'another password',
    });
    const adminToken = (await readFile(join(dataDirectory, 'admin-token'), 'utf8')).trim();
    platform.kill('SIGTERM');
    await once(platform, 'exit');
    const log = await platformLog;
    expect(log).toContain('/v1/user/updatePassword');
    const tokens = [login.token, login.refresh_token, refreshed.token, refreshed.refresh_token, adminToken];
    const secrets = [
      ...tokens,
      application.appKey,
      provisioned.key,
      device.secret,
      rotated.secret,
      password,
      'another password',
    ];
    for (const secret of secrets) expect([secret, log.includes(secret)]).toEqual([secret, false]);
  }, 240_000);

  it('reports an unreachable platform with its URL', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    for (const [args, settings] of [
      [['application', 'list', '--url', url], {}],
      [['application', 'list'], { ODOGRAPH_URL: url }],
    ] as const) {
      expect(await refusalOf(args, settings)).toBe(`no answer from ${url} (ECONNREFUSED); is the platform running?`);
    }
  });

  it('names the expected file when there is no admin token', async () => {
    expect(await refusalOf(['application', 'list'], { DATA_DIR: '/nowhere' })).toContain('/nowhere/admin-token');
  });

  it.each([
    [['application', 'create', '--nam', 'x'], '--nam'],
    [['application', 'create'], '--name'],
    [['application', 'create', '--name'], '--name'],
    [['vehicle', 'create', '--app', 'x'], '--plate'],
    [['user', 'grant', '--user', 'x'], '--vehicle'],
    [['application', 'list', 'surplus'], 'surplus'],
    [['quarantine', 'replay'], '--all'],
    [['quarantine', 'replay', '1', '--all'], '--all'],
    [['request', 'approve'], 'ID'],
    [['request', 'decline', 'x'], '--reason'],
    [['audit', 'verify', 'surplus'], 'surplus'],
    [['application', 'remove'], 'application list'],
    [['nonsense'], '--help'],
    [[], '--help'],
    [['application', 'list', '--url', 'ftp://x'], '--url'],
  ])('names the fault of %j', async (args, named) => {
    expect(await refusalOf(args, { ADMIN_TOKEN: 'a-token-of-sixteen' })).toContain(named);
  });
});
