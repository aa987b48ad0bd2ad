import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createApiClient, createBrowser } from '@odograph/testkit/api-client';
import { createApplication, createOperator, createUser, createVehicle } from '@odograph/testkit/fixtures';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application, api, admin, anonymous, as } = await startFleet();
const { db, httpUrl } = platform;
const page = createApiClient(httpUrl, { origin: httpUrl });
const path = '/v1/x/admin/operators';
const newName = () => `op-${randomUUID()}`;
const listed = async (name: string) =>
  (await admin.get(path)).body.operators.find((operator: { name: string }) => operator.name === name);

describe('/v1/x/admin/operators', () => {
  it('creates an operator who signs in with the password that is shown once', async () => {
    const name = newName();
    const { status, body } = await admin.post(path, { name, role: 'administrator' });
    expect([status, Object.keys(body)]).toEqual([200, ['name', 'password']]);
    expect(body.password).toMatch(/^[\w-]{20}$/);
    const { body: person } = await page.post('/v1/x/session', body);
    expect(person).toMatchObject({ name, role: 'administrator', limited: false, mustChangePassword: false });
    expect(await listed(name)).toMatchObject({ name, role: 'administrator', appIds: [], mustChangePassword: false });
    expect(Date.now() - Date.parse((await listed(name)).usedAt)).toBeLessThan(60_000);
    expect(JSON.stringify((await admin.get(path)).body)).not.toMatch(/argon2|password_hash/);
  });

  it('limits an operator to applications, and changes role and limits in open sessions', async () => {
    const other = await createApplication(db);
    const name = newName();
    const { body } = await admin.post(path, { name, role: 'viewer', appIds: [application.appId, other.appId] });
    expect((await listed(name)).appIds).toEqual([application.appId, other.appId]);
    const signedIn = await page.post('/v1/x/session', body);
    const browser = createBrowser(httpUrl, signedIn.headers.get('set-cookie')?.split(';')[0] ?? '');
    const sees = async () =>
      (await browser.get('/v1/x/admin/applications')).body.applications.map(({ appId }: { appId: string }) => appId);
    expect(await sees()).toEqual([application.appId, other.appId]);
    const changed = await admin.put(`${path}/${name.toUpperCase()}`, { role: 'operator', appIds: [other.appId] });
    expect(changed.body).toMatchObject({ name, role: 'operator', appIds: [other.appId] });
    expect(await sees()).toEqual([other.appId]);
    expect((await admin.put(`${path}/${name}`, { role: 'viewer' })).body.appIds).toEqual([other.appId]);
    expect((await admin.put(`${path}/${name}`, { appIds: [] })).body.appIds).toEqual([]);
    expect(await sees()).toContain(application.appId);
  });

  it('refuses a change that is based on what another person has changed meanwhile', async () => {
    const name = newName();
    await admin.post(path, { name, role: 'viewer' });
    const { version } = await listed(name);
    const first = await admin.put(`${path}/${name}`, { role: 'operator', version });
    expect(first.status).toBe(200);
    const { status, body } = await admin.put(`${path}/${name}`, { role: 'viewer', version });
    expect([status, body.error]).toEqual([412, 'CHANGED_MEANWHILE']);
    expect((await listed(name)).role).toBe('operator');
    expect((await admin.put(`${path}/${name}`, { role: 'viewer', version: first.body.version })).status).toBe(200);
  });

  it('keeps the limit of an operator whose application is deleted', async () => {
    const other = await createApplication(db);
    const { cookie } = await createOperator(db, { role: 'viewer', applicationIds: [other.id] });
    await admin.delete(`/v1/x/admin/applications/${other.appId}`);
    const { body } = await createBrowser(httpUrl, cookie).get('/v1/x/admin/applications');
    expect(body.applications).toEqual([]);
  });

  it('ends the sessions of an operator with a reset of the password, by themselves, and with the deletion', async () => {
    const { id, name, cookie } = await createOperator(db);
    const isSignedIn = async (header: string) =>
      (await createBrowser(httpUrl, header).get('/v1/x/session')).status === 200;
    expect(await isSignedIn(cookie)).toBe(true);
    const { body: reset } = await admin.post(`${path}/${name}/password`);
    expect(await isSignedIn(cookie)).toBe(false);
    const signIn = async () => {
      const answer = await page.post('/v1/x/session', reset);
      return { answer, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
    };
    const first = await signIn();
    expect(first.answer.body.mustChangePassword).toBe(true);
    await admin.delete(`${path}/${name}/sessions`);
    expect(await isSignedIn(first.cookie)).toBe(false);
    const second = await signIn();
    await admin.delete(`${path}/${name}`);
    expect(await isSignedIn(second.cookie)).toBe(false);
    expect((await signIn()).answer.body.error).toBe('INVALID_CREDENTIALS');
    expect(await listed(name)).toBeUndefined();
    expect((await admin.post(path, { name, role: 'viewer' })).status).toBe(200);
    const { rows } = await sql`select count(*)::integer as hashes from operator
      where id = ${id} and password_hash <> ''`.execute(db);
    expect(rows).toEqual([{ hashes: 0 }]);
  });

  it('records each change with the name of the operator who made it', async () => {
    const { name: by, cookie } = await createOperator(db);
    const browser = createBrowser(httpUrl, cookie);
    const name = newName();
    await browser.post(path, { name, role: 'viewer', appIds: [application.appId] });
    await browser.put(`${path}/${name}`, { role: 'operator' });
    await browser.post(`${path}/${name}/password`);
    await browser.delete(`${path}/${name}/sessions`);
    await browser.delete(`${path}/${name}`);
    const { rows } = await sql<{ action: string; details: object }>`select action, details from audit
      where chain = 0
      and subject = ${`operator:${name}`} and actor = ${`operator:${by}`} order by position`.execute(db);
    expect(rows).toEqual([
      { action: 'operator.create', details: { role: 'viewer', appIds: application.appId } },
      { action: 'operator.change', details: { role: 'operator' } },
      ...['operator.reset', 'operator.sessions.end', 'operator.delete'].map((action) => ({ action, details: {} })),
    ]);
  });

  it('keeps the last administrator, also while another transaction demotes the one before', async () => {
    await db.updateTable('operator').set({ role: 'viewer' }).execute();
    const [first, last] = [await createOperator(db), await createOperator(db)];
    const demotion = db.transaction().execute(async (trx) => {
      await trx.updateTable('operator').set({ role: 'operator' }).where('id', '=', first.id).execute();
      const deletion = admin.delete(`${path}/${last.name}`);
      // It waits for this transaction.
      expect(await Promise.race([deletion, delay(300)])).toBeUndefined();
      return { deletion };
    });
    const refusals = [
      await (await demotion).deletion,
      await admin.put(`${path}/${last.name}`, { role: 'viewer' }),
      await admin.put(`${path}/${last.name}`, { appIds: [application.appId] }),
    ];
    expect(refusals.map(({ status, body }) => [status, body.error])).toEqual(
      Array(3).fill([409, 'LAST_ADMINISTRATOR']),
    );
    expect(await listed(last.name)).toMatchObject({ role: 'administrator', appIds: [] });
    const successor = await createOperator(db, { role: 'viewer' });
    expect((await admin.put(`${path}/${successor.name}`, { role: 'administrator' })).status).toBe(200);
    expect((await admin.delete(`${path}/${last.name}`)).status).toBe(200);
  });

  it('refuses a name that is taken in any case, and names and applications that do not exist', async () => {
    const name = newName();
    await admin.post(path, { name, role: 'viewer' });
    expect((await admin.post(path, { name: name.toUpperCase(), role: 'viewer' })).body.error).toBe('ALREADY_EXISTS');
    const unknown = { name: newName(), role: 'viewer', appIds: ['none'] };
    expect((await admin.post(path, unknown)).body.error).toBe('UNKNOWN_APPLICATION');
    expect(await listed(unknown.name)).toBeUndefined();
    expect((await admin.put(`${path}/none`, { role: 'viewer' })).body.error).toBe('UNKNOWN_USER');
    expect((await admin.delete(`${path}/none`)).body.error).toBe('UNKNOWN_USER');
  });

  it.each([
    ['name', { name: '' }],
    ['name', { name: 'user:1' }],
    ['name', { name: 'a\nb' }],
    ['name', { name: 'x'.repeat(65) }],
    ['role', { role: 'root' }],
    ['appIds', { appIds: 'all' }],
  ])('names %s if it is malformed', async (field, change) => {
    const { status, body } = await admin.post(path, { name: newName(), role: 'viewer', ...change });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });
});

describe('/v1/x/admin/applications', () => {
  it('creates an application that can sign in, and shows its appKey only once', async () => {
    const { body: created } = await admin.post('/v1/x/admin/applications', { name: 'Acme' });
    expect((await anonymous.post('/v1/login', created)).status).toBe(200);
    const { body: list } = await admin.get('/v1/x/admin/applications');
    expect(list.applications).toContainEqual(expect.objectContaining({ appId: created.appId, name: 'Acme' }));
    expect(JSON.stringify(list)).not.toContain(created.appKey);
  });

  it('changes the given settings of an application, and names malformed ones', async () => {
    const own = await createApplication(db);
    const path = `/v1/x/admin/applications/${own.appId}`;
    expect((await admin.put(path, { timeZone: 'Europe/Paris', tariffPerKm: 0.35 })).body).toEqual({
      view: 'combined',
      timeZone: 'Europe/Paris',
      tariffPerKm: 0.35,
      tariffPerMinute: 0,
      deviceUploadsPerSecond: 0,
      deviceBytesPerSecond: 0,
      version: expect.any(String),
    });
    expect((await admin.put(path, { view: 'fleet' })).body).toMatchObject({ view: 'fleet', tariffPerKm: 0.35 });
    expect((await admin.put(path, { view: 'combined' })).body.view).toBe('combined');
    for (const timeZone of ['Mars/Olympus', 'CET', 'US/Pacific-New']) {
      expect((await admin.put(path, { timeZone })).body).toMatchObject({
        error: 'INVALID_PARAMETER',
        field: 'timeZone',
      });
    }
    expect((await admin.put(path, { tariffPerKm: -1 })).body).toMatchObject({ field: 'tariffPerKm' });
    expect((await admin.put(path, { deviceUploadsPerSecond: 1.5 })).body).toMatchObject({
      field: 'deviceUploadsPerSecond',
    });
    expect((await admin.put('/v1/x/admin/applications/none', {})).body.error).toBe('UNKNOWN_APPLICATION');
  });

  it('shows the settings, and refuses a change that is based on other ones', async () => {
    const path = `/v1/x/admin/applications/${(await createApplication(db)).appId}`;
    const { body: seen } = await admin.get(path);
    expect(seen).toMatchObject({ view: 'combined', tariffPerKm: 0 });
    const { body: changed } = await admin.put(path, { tariffPerKm: 2, version: seen.version });
    expect(changed.tariffPerKm).toBe(2);
    const { status, body } = await admin.put(path, { tariffPerMinute: 3, version: seen.version });
    expect([status, body.error]).toEqual([412, 'CHANGED_MEANWHILE']);
    expect((await admin.get(path)).body).toEqual(changed);
    expect((await admin.get('/v1/x/admin/applications/missing')).body.error).toBe('UNKNOWN_APPLICATION');
  });

  it('sets the rates of the devices of an application, and returns to those of the platform with 0', async () => {
    const own = await createApplication(db);
    const path = `/v1/x/admin/applications/${own.appId}`;
    const set = { deviceUploadsPerSecond: 500, deviceBytesPerSecond: 4_000_000 };
    expect((await admin.put(path, set)).body).toMatchObject(set);
    expect((await admin.put(path, { deviceUploadsPerSecond: 0 })).body).toMatchObject({
      deviceUploadsPerSecond: 0,
      deviceBytesPerSecond: 4_000_000,
    });
  });

  it('rotates the appKey: the old one stays valid during the overlap only', async () => {
    const { body: first } = await admin.post('/v1/x/admin/applications', { name: 'Rotating' });
    const key = `/v1/x/admin/applications/${first.appId}/key`;
    const login = async ({ appId, appKey }: { appId: string; appKey: string }) =>
      (await anonymous.post('/v1/login', { appId, appKey })).status;
    const { body: second } = await admin.post(key);
    expect([await login(first), await login(second)]).toEqual([200, 200]);
    const { previous_app_key_until: until } = await db
      .selectFrom('application')
      .select('previous_app_key_until')
      .where('app_id', '=', first.appId)
      .executeTakeFirstOrThrow();
    expect(Math.abs(Number(until) - Date.now() - 24 * 3_600_000)).toBeLessThan(10_000);
    await sql`update application set previous_app_key_until = now() where app_id = ${first.appId}`.execute(db);
    expect([await login(first), await login(second)]).toEqual([401, 200]);
    const { body: third } = await admin.post(key, { overlapHours: 2 });
    expect([await login(first), await login(second), await login(third)]).toEqual([401, 200, 200]);
    const { body: fourth } = await admin.post(key, { overlapHours: 0 });
    expect([await login(second), await login(third), await login(fourth)]).toEqual([401, 401, 200]);
    expect((await admin.post(key, { overlapHours: 721 })).body.field).toBe('overlapHours');
    expect((await admin.post('/v1/x/admin/applications/none/key')).body.error).toBe('UNKNOWN_APPLICATION');
  });

  it('ends all sessions of an application and its users, and no others', async () => {
    const own = await createApplication(db);
    const user = await createUser(db, own);
    const refused = async (token: string) => (await as(token).delete('/v1/device', { deviceId: 'none' })).body.error;
    const { body } = await admin.delete(`/v1/x/admin/applications/${own.appId}/sessions`);
    expect(body).toEqual({ ended: 2 });
    for (const token of [own.token, user.token]) expect(await refused(token)).toBe('INVALID_TOKEN');
    expect(await refused(application.token)).toBe('UNKNOWN_DEVICE');
    const { appId, appKey } = own;
    expect((await anonymous.post('/v1/login', { appId, appKey })).status).toBe(200);
  });

  it('deletes an application with its users and vehicles, and no others', async () => {
    const own = await createApplication(db);
    const { appId, appKey } = own;
    const [vehicle, other] = [await createVehicle(db, own), await createVehicle(db, application)];
    const user = await createUser(db, own, { vehicleIds: [vehicle.id] });
    const path = `/v1/x/admin/applications/${appId}`;
    for (let round = 0; round < 2; round += 1) expect((await admin.delete(path)).status).toBe(200);
    for (const token of [own.token, user.token]) {
      const { body } = await as(token).get(`/v1/vehicle/${vehicle.id}`);
      expect(body.error).toBe('INVALID_TOKEN');
    }
    expect((await anonymous.post('/v1/login', { appId, appKey })).body.error).toBe('INVALID_CREDENTIALS');
    expect((await admin.get(`/v1/x/admin/vehicles?appId=${appId}`)).body.error).toBe('UNKNOWN_APPLICATION');
    expect((await admin.put(path, { view: 'fleet' })).body.error).toBe('UNKNOWN_APPLICATION');
    const { rows } = await sql`select deleted_at is not null as deleted, vehicle_purge.vehicle_id is not null as purged
      from vehicle left join vehicle_purge on vehicle_id = id where id = ${Number(vehicle.id)}`.execute(db);
    expect(rows).toEqual([{ deleted: true, purged: true }]);
    expect((await admin.post(`/v1/x/admin/devices/${vehicle.deviceId}/release`)).status).toBe(200);
    expect((await api.get(`/v1/vehicle/${other.id}`)).body.deviceId).toBe(other.deviceId);
    expect((await admin.delete('/v1/x/admin/applications/none')).body.error).toBe('UNKNOWN_APPLICATION');
  });

  it('answers 401 with a challenge if the token is missing or wrong, and accepts no basic authentication', async () => {
    const wrong = [
      [undefined, 'MISSING_TOKEN'],
      ['Bearer wrong', 'INVALID_TOKEN'],
      [`Basic ${Buffer.from(`admin:${testAdminToken}`).toString('base64')}`, 'MISSING_TOKEN'],
      [`Digest ${testAdminToken}`, 'MISSING_TOKEN'],
    ] as const;
    for (const [authorization, code] of wrong) {
      const client = createApiClient(httpUrl, authorization === undefined ? {} : { authorization });
      const answer = await client.post('/v1/x/admin/applications', { name: 'intruder' });
      expect([answer.status, answer.headers.get('www-authenticate')?.split(' ')[0]]).toEqual([401, 'Bearer']);
      expect(answer.body.error).toBe(code);
    }
    const { body } = await admin.get('/v1/x/admin/applications');
    expect(JSON.stringify(body)).not.toContain('intruder');
  });
});
