import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openDatabase } from '@odograph/database/database';
import { childEnvironment } from '@odograph/runtime/config';
import { connectDevice } from '@odograph/simulator/device-connection';
import { type ApiAnswer, type ApiClient, createApiClient } from '@odograph/testkit/api-client';
import { type ChildPlatform, spawnPlatform, spawnServices } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { freePort } from '@odograph/testkit/free-port';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';

/** Secrets that must not be disclosed, by kind. */
const planted: Record<string, string> = {
  'admin token': 'planted-admin-token-0123456789',
  'encryption key': 'planted-encryption-key-0123456789abcdef',
  // The embedded engine has one password for every user.
  'database password': inject('isNativeDatabase') ? 'planted-database-password' : new URL(testDatabaseUrl()).password,
  // The real password of Redis, if any: it would reject another.
  'Redis password': new URL(inject('redisUrl')).password || 'planted-redis-password',
  'key of the registration provider': 'planted-provider-key',
  'password of a user': 'planted user password',
  'wrong password': 'planted wrong password',
  'wrong token': 'planted-wrong-token',
};
/** Collects all answers except those that issue a secret. */
const answers: string[] = [];

let directory: string;
let line: Awaited<ReturnType<typeof startLine>>;
let platform: ChildPlatform;
let mqttUrl: string;

/** Starts a proxy to the database that can be cut. */
async function startLine(target: URL) {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const beyond = connect(Number(target.port || 5432), target.hostname);
    for (const end of [socket, beyond]) {
      open.add(end);
      end.on('error', () => undefined);
      end.on('close', () => {
        socket.destroy();
        beyond.destroy();
      });
    }
    socket.pipe(beyond).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cut(): void {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

const plantedUser = `planted_${process.pid}`;

/** Runs statements on a database server; the embedded engine has no roles. */
async function onServer(...statements: string[]): Promise<void> {
  if (!inject('isNativeDatabase')) return;
  const db = openDatabase({ url: testDatabaseUrl(), name: 'test', size: 1 });
  for (const statement of statements) await sql.raw(statement).execute(db);
  await db.destroy();
}

/** Builds the address of the database through the proxy, with a user of this test's own. */
function plantedDatabaseUrl(): string {
  const url = new URL(testDatabaseUrl());
  url.username = inject('isNativeDatabase') ? plantedUser : url.username;
  url.password = planted['database password'] ?? '';
  url.port = String(line.port);
  return url.href;
}

function plantedRedisUrl(): string {
  const url = new URL(inject('redisUrl'));
  url.password = planted['Redis password'] ?? '';
  return url.href;
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'odograph-secrets-'));
  await onServer(`create role ${plantedUser} superuser login password '${planted['database password']}'`);
  line = await startLine(new URL(testDatabaseUrl()));
  const provider = join(directory, 'provider.json');
  const url = `http://127.0.0.1:${await freePort()}/{plate}`;
  await writeFile(provider, JSON.stringify({ url, fields: { brand: 'make' } }));
  const [httpPort, mqttPort] = [String(await freePort()), String(await freePort())];
  mqttUrl = `mqtt://127.0.0.1:${mqttPort}`;
  platform = await spawnPlatform([], {
    DATABASE_URL: plantedDatabaseUrl(),
    REDIS_URL: plantedRedisUrl(),
    ADMIN_TOKEN: planted['admin token'] ?? '',
    ENCRYPTION_KEYS: planted['encryption key'] ?? '',
    REGISTRATION_PROVIDER: provider,
    REGISTRATION_PROVIDER_KEY: planted['key of the registration provider'] ?? '',
    QUEUE_PREFIX: `test-secrets-${process.pid}`,
    DATA_DIR: directory,
    HTTP_PORT: httpPort,
    MQTT_PORT: mqttPort,
    LOG_LEVEL: 'trace',
  });
}, 90_000);
afterAll(async () => {
  await platform?.end('SIGKILL');
  line?.cut();
  await onServer(`reassign owned by ${plantedUser} to current_user`, `drop role ${plantedUser}`);
  await rm(directory, { recursive: true, force: true });
});

/** Creates a client whose answers are searched. */
function watched(headers: Record<string, string>): ApiClient {
  const api = createApiClient(platform.httpUrl, headers);
  const watch = async (answer: Promise<ApiAnswer>): Promise<ApiAnswer> => {
    const { headers: received, body } = await answer;
    answers.push(JSON.stringify([...received]), typeof body === 'string' ? body : JSON.stringify(body));
    return answer;
  };
  return {
    get: (path) => watch(api.get(path)),
    post: (path, body, more) => watch(api.post(path, body, more)),
    put: (path, body) => watch(api.put(path, body)),
    delete: (path, body) => watch(api.delete(path, body)),
  };
}

interface Actors {
  admin: ApiClient;
  user: ApiClient;
  /** A browser that is signed in. */
  browser: ApiClient;
  operator: { name: string; password: string };
  application: { appId: string; appKey: string };
  device: { deviceId: string; secret: string };
  source: { sourceId: string; secret: string };
  tokens: { token: string; refresh_token: string };
}

async function enterActors(): Promise<Actors> {
  const authorization = `Bearer ${planted['admin token']}`;
  const silent = createApiClient(platform.httpUrl, { authorization });
  const enter = async (path: string, body: object) => (await silent.post(`/v1/x/admin/${path}`, body)).body;
  const application = await enter('applications', { name: 'planted' });
  const password = planted['password of a user'];
  const { userId } = await enter('users', { appId: application.appId, username: 'driver', password });
  const vehicle = await enter('vehicles', { appId: application.appId, plate: `S-${Date.now()}` });
  await silent.put(`/v1/x/admin/users/${userId}/vehicles/${vehicle.id}`);
  const id = `secrets-${Date.now()}`;
  const device = await enter('devices', { id, model: 'generic', vehicleId: vehicle.id, bluetoothPin: 'planted-pin' });
  const login = { ...application, username: 'driver', password };
  const tokens = (await platform.anonymous.post('/v1/login', login)).body;
  const operator = await enter('operators', { name: id, role: 'administrator' });
  const source = await enter('sources', { appId: application.appId, format: 'flespi' });
  const origin = platform.httpUrl;
  const signedIn = await createApiClient(platform.httpUrl, { origin }).post('/v1/x/session', operator);
  const [cookie = ''] = signedIn.headers.get('set-cookie')?.split(';') ?? [];
  Object.assign(planted, {
    'password of an operator': operator.password,
    'token of a browser session': cookie.split('=')[1],
    'key of an application': application.appKey,
    'secret of a device': device.secret,
    'secret of a source': source.secret,
    'access token': tokens.token,
    'refresh token': tokens.refresh_token,
    'Bluetooth pin': 'planted-pin',
  });
  return {
    admin: watched({ authorization }),
    browser: watched({ cookie, origin }),
    operator,
    user: watched({ 'x-service-token': tokens.token }),
    application,
    device,
    source,
    tokens,
  };
}

async function callAsBrowser({ browser, operator }: Pick<Actors, 'browser' | 'operator'>): Promise<void> {
  const origin = platform.httpUrl;
  const token = planted['token of a browser session'];
  await watched({ origin, cookie: `odograph_session=${token}` }).get(`/queues?token=${token}`);
  await createApiClient(origin, { origin }).post('/v1/x/session', operator);
  await watched({ origin }).post('/v1/x/session', { ...operator, password: planted['wrong password'] });
  await watched({ origin: 'https://elsewhere.example' }).post('/v1/x/session', operator);
  await watched({ origin }).post('/v1/x/session', { ...operator, name: [operator.password] });
  const passwords = { currentPassword: planted['wrong password'], newPassword: operator.password };
  await browser.post('/v1/x/session/password', passwords);
  for (const path of ['/v1/x/session', '/v1/x/admin/operators', '/v1/x/admin/audit', '/v1/parkings', '/docs']) {
    await browser.get(path);
  }
}

/** Sends the secrets of a device and of a source to the endpoints for other systems and apps. */
async function callEndpoints({ device, source: sender }: Pick<Actors, 'device' | 'source'>): Promise<void> {
  const basic = (name: string, secret: string) => `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
  const osmand = `/in/osmand/${device.deviceId}`;
  for (const secret of [device.secret, sender.secret, planted['wrong token']]) {
    await watched({}).get(`${osmand}?secret=${secret}&lat=1&lon=2&timestamp=1`);
    await watched({}).get(`${osmand}?secret=${secret}&secret=${secret}`);
    await watched({ authorization: basic(device.deviceId, secret ?? '') }).post('/in/owntracks', `not JSON ${secret}`);
    const source = watched({ authorization: `Bearer ${secret}` });
    await source.post('/in/flespi', [{ ident: 'planted', timestamp: 'never', secret }]);
    await source.post('/in/flespi', `{"ident":"${secret}`);
    await source.post('/in/traccar', { device: { uniqueId: secret } });
  }
}

/** Sends every secret in each place that accepts it, and in some that do not. */
async function callEverything({ admin, user, application, device, tokens, ...rest }: Actors): Promise<void> {
  await callAsBrowser(rest);
  await callEndpoints({ device, ...rest });
  const nobody = watched({ 'x-service-token': planted['wrong token'] ?? '', cookie: `session=${tokens.token}` });
  const wrong = { ...application, username: 'driver', password: planted['wrong password'] };
  await nobody.post('/v1/login', wrong);
  await nobody.post('/v1/login', `{"appKey":"${application.appKey}","password":"${planted['password of a user']}"`);
  await nobody.post('/v1/login', { ...wrong, appKey: [application.appKey] });
  await nobody.post(`/v1/login?appKey=${application.appKey}&password=${encodeURIComponent(wrong.password ?? '')}`);
  await nobody.post('/v1/refreshToken', { ...application, refresh_token: planted['wrong token'] });
  await nobody.get('/v1/vehicles/status');
  await nobody.get(`/v1/vehicles/status?token=${tokens.token}`);
  await nobody.get('/v1/x/admin/devices');
  await watched({ authorization: `Bearer ${planted['wrong password']}` }).get('/queues');
  const passwords = { oldPassword: planted['wrong password'], newPassword: planted['password of a user'] };
  await user.post('/v1/user/updatePassword', passwords);
  await user.get('/v1/vehicles/status');
  for (const path of ['devices', `devices?appId=${application.appId}`, 'applications', 'quarantine', 'audit']) {
    await admin.get(`/v1/x/admin/${path}`);
  }
  await admin.post('/v1/x/admin/devices', { id: device.deviceId, model: 'generic', secret: device.secret });
  await admin.get('/v1/x/admin/registrations/AB123CD');
  await user.get('/v1/siv/fr/AB123CD');
  for (const path of ['/', '/queues', '/queues/api/queues?activeQueue=uploads&status=latest', '/metrics', '/health']) {
    await admin.get(path);
  }
  await connectDevice(mqttUrl, { ...device, secret: planted['wrong password'] ?? '' }).catch(() => undefined);
  await connectDevice(mqttUrl, device)
    .then(async (connection) => {
      await connection.upload({ timestamp: 1, secret: device.secret });
      await connection.upload(`not JSON ${device.secret}`);
      await connection.close();
    })
    .catch(() => undefined);
}

function expectNowhere(text: string): void {
  const forms = (one: string) => [one, encodeURIComponent(one), JSON.stringify(one).slice(1, -1), btoa(one)];
  const found = Object.entries(planted).filter(([, secret]) => forms(secret).some((form) => text.includes(form)));
  expect(found.map(([name]) => name)).toEqual([]);
}

it('discloses no secret in any answer, page, metric or log line, with the database up and down', async () => {
  const actors = await enterActors();
  await callEverything(actors);
  await eventually(async () => {
    const { body } = await actors.admin.get('/v1/x/admin/quarantine');
    expect(JSON.stringify(body)).toContain(actors.device.deviceId);
  });
  line.cut();
  await callEverything(actors);
  const health = await actors.admin.get('/health');
  expect(health.status).toBe(503);
  expect(answers.length).toBeGreaterThan(80);
  expect(answers.join('\n')).toContain('OUTCOME_UNKNOWN');
  expectNowhere(answers.join('\n'));
  expect(platform.output().length).toBeGreaterThan(10_000);
  expectNowhere(platform.output());
}, 120_000);

/** Collects the output of a failing start. */
async function failedStart(settings: Record<string, string>): Promise<string> {
  const given = { HTTP_PORT: '0', MQTT_PORT: '0', LOG_LEVEL: 'trace', DATA_DIR: directory, ...settings };
  const child = spawnServices([], childEnvironment(given));
  const [[code], ...texts] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
  expect([code, texts.join('') === '']).toEqual([1, false]);
  return texts.join('');
}

it.each([
  ['invalid settings', { ADMIN_TOKEN: 'planted', DATABASE_URL: 'mysql://u:planted@x/y' }],
  ['a Redis address of another kind', { REDIS_URL: 'http://u:planted@127.0.0.1:1', ENCRYPTION_KEYS: 'planted' }],
])('discloses no secret when it cannot start: %s', async (_what, settings) => {
  expect(await failedStart(settings)).not.toContain('planted');
});
