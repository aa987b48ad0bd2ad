import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Limits } from '@odograph/runtime/limits';
import { type ApiClient, createBrowser } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import {
  createApplication,
  createGroup,
  createOperator,
  createUser,
  createVehicle,
  grantVehicle,
  type TestApplication,
  updateVehicle,
} from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { storeSeries, turnPrivacyOn } from '../query.fixture.ts';
import { queryService } from '../service.ts';

let directory: string;
let platform: TestPlatform;
let application: TestApplication;
let client: ApiClient;
let vehicleId: string;

const count = 300;
const interval = { from: '2025-11-21T00:00:00Z', until: '2025-11-22T00:00:00Z' };
const request = { format: 'csv', ...interval };

/** Starts the service; those with the same prefix share the queue and the files. */
const start = (prefix: string, limits: Partial<Limits> = {}) =>
  startTestPlatform([queryService], { QUEUE_PREFIX: prefix, DATA_DIR: directory }, { maxExportJobs: 3, ...limits });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'odograph-exports-'));
  platform = await start(`test-${randomUUID()}`);
});
afterAll(async () => {
  await platform.stop();
  await rm(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  application = await createApplication(platform.db);
  client = platform.as(application.token);
  vehicleId = await createFilledVehicle(application);
});

async function createFilledVehicle({ id: applicationId }: TestApplication, readings = count): Promise<string> {
  const { id } = await createVehicle(platform.db, { id: applicationId });
  await storeSeries(platform.db, { applicationId, vehicleId: id, start: interval.from, count: readings });
  await sql`insert into vehicle_latest (vehicle_id, earliest_time, time, received_at)
    select vehicle_id, min(time), max(time), now() from reading where vehicle_id = ${id}::integer
    group by 1`.execute(platform.db);
  return id;
}

const pathOf = ({ id }: { id: string }) => `/v1/x/exports/${id}`;
const filesOf = async (id: string) => (await readdir(join(directory, 'exports'))).filter((name) => name.includes(id));

async function ended(job: { id: string }, at = client) {
  return eventually(async () => {
    const { body } = await at.get(pathOf(job));
    expect(['DONE', 'FAILED']).toContain(body.state);
    return body;
  }, 60_000);
}

async function createDone(body: object = request) {
  const created = await client.post('/v1/x/exports', body);
  expect(created.status).toBe(200);
  return ended(created.body);
}

function download({ id }: { id: string }, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  const url = new URL(`${pathOf({ id })}/file`, platform.httpUrl);
  return fetch(url, { method, headers: { 'x-service-token': application.token, ...headers } });
}

describe('an export job', () => {
  it('writes the file of the direct export, which only this user of the machine may read', async () => {
    const created = await client.post('/v1/x/exports', { ...request, vehicleId });
    expect(created.body).toMatchObject({ of: 'readings', format: 'csv', vehicleId, rows: 0 });
    const done = await ended(created.body);
    const direct = await client.get(
      `/v1/x/vehicle/${vehicleId}/export?format=csv&${String(new URLSearchParams(interval))}`,
    );
    const file = await download(done);
    expect(await file.text()).toBe(direct.body);
    expect(file.headers.get('content-disposition')).toBe(direct.headers.get('content-disposition'));
    expect(done).toMatchObject({ state: 'DONE', progress: 1, rows: count, bytes: Buffer.byteLength(direct.body) });
    expect(Date.parse(done.expiresAt) - Date.parse(done.finishedAt)).toBe(86_400_000);
    const [name = ''] = await filesOf(done.id);
    expect((await stat(join(directory, 'exports', name))).mode & 0o777).toBe(0o600);
  });

  it('of a group contains the readings of its vehicles and of its subgroups, as a direct export does', async () => {
    const inSubgroup = await createFilledVehicle(application, 5);
    await createFilledVehicle(application, 7);
    const group = await createGroup(platform.db, application, { vehicleIds: [vehicleId] });
    await createGroup(platform.db, application, { parentId: group, vehicleIds: [inSubgroup] });
    const done = await createDone({ ...request, group });
    expect(done).toMatchObject({ state: 'DONE', group, rows: count + 5 });
    const parameters = new URLSearchParams({ ...request, group });
    expect(await (await download(done)).text()).toBe((await client.get(`/v1/x/vehicles/export?${parameters}`)).body);
  });

  it('is created once for concurrent requests with one idempotency key, which rejects a different request', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const created = await Promise.all([1, 2, 3].map(() => client.post('/v1/x/exports', request, headers)));
    expect(new Set(created.map(({ body }) => body.id)).size).toBe(1);
    const again = await client.post('/v1/x/exports', request, headers);
    expect([again.body.id, again.headers.get('idempotency-replayed')]).toEqual([created[0]?.body.id, 'true']);
    const other = await client.post('/v1/x/exports', { ...request, format: 'gpx' }, headers);
    expect([other.status, other.body.error]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
    expect((await client.get('/v1/x/exports')).body.exports).toHaveLength(1);
    await ended(again.body);
  });

  // The embedded engine runs one transaction at a time.
  it.skipIf(!inject('isNativeDatabase'))(
    'that is deleted while it runs is not returned for its idempotency key',
    async () => {
      const headers = { 'idempotency-key': randomUUID() };
      const body = { ...request, of: 'trips' };
      await platform.db.transaction().execute(async (holder) => {
        await sql`lock table trip in access exclusive mode`.execute(holder);
        const created = await client.post('/v1/x/exports', body, headers);
        await waitForLock(holder);
        expect((await client.delete(pathOf(created.body))).status).toBe(200);
        const again = await client.post('/v1/x/exports', body, headers);
        expect([again.status, again.body.error]).toEqual([409, 'IDEMPOTENCY_KEY_IN_USE']);
      });
      expect((await client.get('/v1/x/exports')).body.exports).toEqual([]);
    },
  );

  it.skipIf(!inject('isNativeDatabase'))(
    'contains no vehicle that becomes visible to its user while it runs and is hidden later',
    async () => {
      const user = await createUser(platform.db, application, { vehicleIds: [vehicleId] });
      const at = platform.as(user.token);
      const later = await createFilledVehicle(application, 5);
      const created = await platform.db.transaction().execute(async (holder) => {
        await sql`lock table vehicle_latest in access exclusive mode`.execute(holder);
        const { body } = await at.post('/v1/x/exports', request);
        await waitForLock(holder);
        await grantVehicle(platform.db, user.id, later, 'viewer');
        return body;
      });
      expect(await ended(created, at)).toMatchObject({ state: 'DONE', rows: count });
    },
  );

  it('is listed for the application or user that created it, newest first', async () => {
    const user = await createUser(platform.db, application, { vehicleIds: [vehicleId] });
    const [first, second] = [await createDone(), await createDone({ ...request, format: 'ndjson' })];
    const listed = async () =>
      (await client.get('/v1/x/exports')).body.exports.map(({ id, state }: { id: string; state: string }) => [
        id,
        state,
      ]);
    expect(await listed()).toEqual([
      [second.id, 'DONE'],
      [first.id, 'DONE'],
    ]);
    expect((await platform.as(user.token).get('/v1/x/exports')).body).toEqual({ exports: [] });
    await client.delete(pathOf(second));
    expect(await listed()).toEqual([[first.id, 'DONE']]);
  });

  it('resumes a download where it was cut, unless the file is another one', async () => {
    const done = await createDone();
    const whole = await (await download(done)).text();
    const etag = (await download(done, {}, 'HEAD')).headers.get('etag') ?? '';
    const rest = await download(done, { range: 'bytes=1000-', 'if-range': etag });
    expect([rest.status, rest.headers.get('content-range')]).toEqual([
      206,
      `bytes 1000-${done.bytes - 1}/${done.bytes}`,
    ]);
    expect(await rest.text()).toBe(whole.slice(1000));
    const other = await download(done, { range: 'bytes=1000-', 'if-range': '"other"' });
    expect([other.status, (await other.text()).length]).toEqual([200, done.bytes]);
    const none = await download(done, { range: `bytes=${done.bytes}-` });
    expect([none.status, none.headers.get('content-range')]).toEqual([416, `bytes */${done.bytes}`]);
  });

  it('belongs to its caller, and to none else of the application', async () => {
    const done = await createDone();
    const stranger = platform.as((await createApplication(platform.db)).token);
    const user = platform.as((await createUser(platform.db, application, { vehicleIds: [vehicleId] })).token);
    for (const other of [stranger, user]) {
      for (const path of [pathOf(done), `${pathOf(done)}/file`]) {
        expect((await other.get(path)).body.error).toBe('NOT_FOUND');
      }
      expect((await other.delete(pathOf(done))).body.error).toBe('NOT_FOUND');
    }
    expect((await client.get(pathOf(done))).body.state).toBe('DONE');
  });

  it('is downloaded by an operator, whose link names the application', async () => {
    const done = await createDone();
    const other = await createApplication(platform.db);
    const { cookie } = await createOperator(platform.db, { role: 'viewer', applicationIds: [application.id] });
    const operator = createBrowser(platform.httpUrl, cookie);
    const answerTo = async (appId: string) => {
      const { status, body } = await operator.get(`${pathOf(done)}/file?appId=${appId}`);
      return [status, body.error];
    };
    expect(await answerTo(application.appId)).toEqual([200, undefined]);
    for (const appId of [other.appId, '%00']) expect(await answerTo(appId)).toEqual([404, 'UNKNOWN_APPLICATION']);
    expect((await operator.get(`${pathOf(done)}?appId=${application.appId}`)).status).toBe(400);
  });

  it('counts towards the limit of the application until it is deleted, with its file', async () => {
    const jobs = [await createDone(), await createDone(), await createDone()];
    expect((await client.post('/v1/x/exports', request)).body.error).toBe('TOO_MANY');
    const [first] = jobs;
    expect((await client.delete(pathOf(first))).status).toBe(200);
    expect((await client.get(pathOf(first))).body.error).toBe('NOT_FOUND');
    expect(await filesOf(first.id)).toEqual([]);
    await createDone();
  });

  it.each([
    ['is deleted', () => updateVehicle(platform.db, vehicleId, { deleted_at: new Date() })],
    ['becomes private for its interval', () => turnPrivacyOn(platform.db, vehicleId, '2025-11-21T12:00:00Z')],
  ])('loses its file when a vehicle in it %s', async (_case, change) => {
    const done = await createDone();
    await change();
    const { status } = await download(done);
    expect(status).toBe(404);
    expect(await filesOf(done.id)).toEqual([]);
    expect((await client.get(pathOf(done))).status).toBe(404);
  });

  it('is refused like a direct export, and answers no file before it is done', async () => {
    const refused = async (body: object) => (await client.post('/v1/x/exports', { ...request, ...body })).body.error;
    expect(await refused({ format: 'gpx', of: 'trips' })).toBe('INVALID_PARAMETER');
    expect(await refused({ until: interval.from })).toBe('INVALID_INTERVAL');
    expect(await refused({ vehicleId: '1' })).toBe('UNKNOWN_VEHICLE');
    expect((await client.get('/v1/x/exports/none')).body.error).toBe('NOT_FOUND');
    const created = await client.post('/v1/x/exports', request);
    const { body } = await client.get(`${pathOf(created.body)}/file`);
    // It may be done by now.
    expect(['NO_DATA', undefined]).toContain(body.error);
    await ended(created.body);
  });
});

it('an export job survives a restart, and fails clearly when the files have no room', async () => {
  const many = 5000;
  await createFilledVehicle(application, many);
  const prefix = `test-${randomUUID()}`;
  const before = await start(prefix);
  const created = await before.as(application.token).post('/v1/x/exports', request);
  await before.stop();
  const after = await start(prefix);
  expect(await ended(created.body, after.as(application.token))).toMatchObject({
    state: 'DONE',
    rows: count + many,
  });
  await after.stop();
  const full = await start(prefix, { maxExportBytes: 1024 ** 2 });
  const at = full.as(application.token);
  const refused = await at.post('/v1/x/exports', { ...request, format: 'ndjson' });
  expect(await ended(refused.body, at)).toMatchObject({
    state: 'FAILED',
    reason: 'exports have reached their limit of 1 MiB',
  });
  expect(await filesOf(refused.body.id)).toEqual([]);
  await full.stop();
});
