import { randomUUID } from 'node:crypto';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { type ApiAnswer, createApiClient, createBrowser } from '@odograph/testkit/api-client';
import {
  createApplication,
  createOperator,
  createUnlinkedVehicle,
  createUser,
  signIn,
} from '@odograph/testkit/fixtures';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { fleetService } from '../service.ts';
import { hashPassword } from './passwords.ts';

const password = 'correct horse battery';
const passwordHash = await hashPassword(password);
const { platform, application, as } = await startFleet();
const { db, httpUrl } = platform;
const page = createApiClient(httpUrl, { origin: httpUrl });
const asUser = (username: string) => ({ appId: application.appId, username, password });

/** The header `cookie` of a browser after an answer. */
const cookieOf = ({ headers }: ApiAnswer) => headers.get('set-cookie')?.split(';')[0] ?? '';
const withCookie = (cookie: string) => createBrowser(httpUrl, cookie);
const whoIs = async (cookie: string) => (await withCookie(cookie).get('/v1/x/session')).body;

describe('a session', () => {
  it('is required by its routes', async () => {
    for (const [method, path] of [
      ['get', '/v1/x/session'],
      ['delete', '/v1/x/session'],
      ['delete', '/v1/x/sessions'],
      ['post', '/v1/x/session/password'],
    ] as const) {
      expect((await page[method](path)).body.error).toBe('MISSING_TOKEN');
      expect((await withCookie(`odograph_session=${createSecret()}`)[method](path)).body.error).toBe('INVALID_TOKEN');
    }
  });

  it('ends with sign-out, in the browser and on the server', async () => {
    const { cookie } = await createOperator(db);
    const answer = await withCookie(cookie).delete('/v1/x/session');
    expect(answer.headers.get('set-cookie')).toMatch(/^odograph_session=; Path=\/; Max-Age=0; /);
    expect((await whoIs(cookie)).error).toBe('INVALID_TOKEN');
  });

  it('is kept alive by GET /v1/x/session', async () => {
    const { id, cookie } = await createOperator(db, { role: 'viewer' });
    const use = (ago: string) =>
      sql`update sign_in set used_at = now() - ${ago}::interval where operator_id = ${id}`.execute(db);
    for (let round = 0; round < 2; round += 1) {
      await use('11 hours 50 minutes');
      expect((await withCookie(cookie).get('/v1/x/session')).status).toBe(200);
    }
    await use('12 hours');
    expect((await whoIs(cookie)).error).toBe('TOKEN_EXPIRED');
  });

  it('ends with all others of the operator on sign-out everywhere, and with no other operator', async () => {
    const [one, other] = [await createOperator(db, { role: 'viewer' }), await createOperator(db)];
    const second = await signIn(db, { operator_id: one.id });
    expect((await withCookie(second).delete('/v1/x/sessions')).status).toBe(200);
    for (const cookie of [one.cookie, second]) expect((await whoIs(cookie)).error).toBe('INVALID_TOKEN');
    expect((await whoIs(other.cookie)).name).toBe(other.name);
  });

  it('of a user ends with the access tokens of the user on sign-out everywhere, and with no other user', async () => {
    const [user, other] = [await createUser(db, application, { passwordHash }), await createUser(db, application)];
    const cookie = cookieOf(await page.post('/v1/x/session', asUser(user.username)));
    expect((await withCookie(cookie).delete('/v1/x/sessions')).status).toBe(200);
    expect((await whoIs(cookie)).error).toBe('INVALID_TOKEN');
    const statusOf = async (token: string) => (await as(token).get('/v1/parkings')).status;
    expect([await statusOf(user.token), await statusOf(other.token)]).toEqual([401, 200]);
  });

  it('of a user ends with a reset of the password and with the deletion of the user', async () => {
    const admin = createBrowser(httpUrl, (await createOperator(db)).cookie);
    const user = await createUser(db, application, { passwordHash });
    const cookie = cookieOf(await page.post('/v1/x/session', asUser(user.username)));
    await admin.post(`/v1/x/admin/users/${user.id}/password`, { password });
    expect((await whoIs(cookie)).error).toBe('INVALID_TOKEN');
    const again = cookieOf(await page.post('/v1/x/session', asUser(user.username)));
    await admin.delete(`/v1/x/admin/users/${user.id}`);
    expect((await whoIs(again)).error).toBe('INVALID_TOKEN');
  });
});

describe('a change of the password', () => {
  const newPassword = 'staple battery horse';

  it('of an operator keeps this session under another token, and ends the others', async () => {
    const { id, name, cookie } = await createOperator(db, { role: 'viewer', passwordHash });
    await db.updateTable('operator').set({ must_change_password: true }).where('id', '=', id).execute();
    const other = await signIn(db, { operator_id: id });
    const answer = await withCookie(cookie).post('/v1/x/session/password', { currentPassword: password, newPassword });
    expect(answer.status).toBe(200);
    for (const former of [cookie, other]) expect((await whoIs(former)).error).toBe('INVALID_TOKEN');
    expect(await whoIs(cookieOf(answer))).toMatchObject({ name, mustChangePassword: false });
    expect((await page.post('/v1/x/session', { name, password })).status).toBe(401);
    expect((await page.post('/v1/x/session', { name, password: newPassword })).status).toBe(200);
  });

  it('of a user does the same, and ends the access tokens of the user', async () => {
    const user = await createUser(db, application, { passwordHash });
    const cookie = cookieOf(await page.post('/v1/x/session', asUser(user.username)));
    const answer = await withCookie(cookie).post('/v1/x/session/password', { currentPassword: password, newPassword });
    expect(answer.status).toBe(200);
    expect((await whoIs(cookie)).error).toBe('INVALID_TOKEN');
    expect((await whoIs(cookieOf(answer))).userId).toBe(user.id);
    expect((await as(user.token).get('/v1/parkings')).status).toBe(401);
  });

  it('over the route of the interface keeps the session of the browser', async () => {
    const user = await createUser(db, application, { passwordHash });
    const cookie = cookieOf(await page.post('/v1/x/session', asUser(user.username)));
    const passwords = { oldPassword: password, newPassword };
    expect((await withCookie(cookie).post('/v1/user/updatePassword', passwords)).status).toBe(200);
    expect((await whoIs(cookie)).userId).toBe(user.id);
    expect((await as(user.token).get('/v1/parkings')).status).toBe(401);
  });

  it('needs the current password and a new one of at least 8 characters', async () => {
    const { cookie } = await createOperator(db, { passwordHash });
    const change = async (body: object) => (await withCookie(cookie).post('/v1/x/session/password', body)).body.error;
    expect(await change({ currentPassword: 'wrong password', newPassword })).toBe('INVALID_OLD_PASSWORD');
    expect(await change({ currentPassword: password, newPassword: 'short' })).toBe('INVALID_PASSWORD_LENGTH');
    expect((await whoIs(cookie)).kind).toBe('operator');
  });
});

describe('a request with the cookie', () => {
  it('changes nothing unless it comes from a page of our own', async () => {
    const { name, cookie } = await createOperator(db, { passwordHash });
    const { host, port } = new URL(httpUrl);
    const foreign = ['https://elsewhere.example', 'null', `http://${host}.elsewhere.example`, `http://127.0.0.1:1`];
    foreign.push(`http://localhost:${port}`, `ftp://${host}`, '', httpUrl.replace('//', '//user@elsewhere.example/'));
    for (const origin of [undefined, ...foreign]) {
      const client = createApiClient(httpUrl, { cookie, ...(origin !== undefined && { origin }) });
      const answers = [
        await client.post('/v1/x/admin/applications', { name: 'forged' }),
        await client.put('/v1/x/admin/device-models/forged', {}),
        await client.delete('/v1/x/sessions'),
        await client.post('/v1/x/session', { name, password }),
        await client.post(
          '/v1/vehicle/privacy/on',
          { vehicleId: '1000000001' },
          { 'x-application': application.appId },
        ),
      ];
      expect([origin, ...answers.map(({ body }) => body.error)]).toEqual([
        origin,
        ...answers.map(() => 'UNAUTHORIZED'),
      ]);
      expect((await client.get('/v1/x/session')).status).toBe(200);
    }
  });

  it('has no session if several cookies of this name are sent', async () => {
    const [victim, attacker] = [await createOperator(db), await createOperator(db)];
    const client = createBrowser(httpUrl, `${attacker.cookie}; other=1; ${victim.cookie}`);
    expect((await client.get('/v1/x/session')).body.error).toBe('MISSING_TOKEN');
    expect((await createBrowser(httpUrl, `other=1; ${victim.cookie}`).get('/v1/x/session')).body.name).toBe(
      victim.name,
    );
  });

  it('is authenticated by its access token if it has one', async () => {
    const { cookie } = await createOperator(db);
    const both = createApiClient(httpUrl, { cookie, 'x-service-token': application.token });
    expect((await both.post('/v1/parkings', {})).body.error).toBe('MISSING_NAME');
    const wrong = createApiClient(httpUrl, { cookie, 'x-service-token': 'wrong' });
    expect((await wrong.get('/v1/parkings')).body.error).toBe('INVALID_TOKEN');
  });
});

describe('signing in', () => {
  it('answers the operator with role and applications, and gives the browser a session', async () => {
    const other = await createApplication(db);
    const { name } = await createOperator(db, { role: 'operator', applicationIds: [other.id], passwordHash });
    const answer = await page.post('/v1/x/session', { name: name.toUpperCase(), password });
    const person = {
      ...{ kind: 'operator', name, role: 'operator', limited: true, mustChangePassword: false },
      ...{ hasPassword: true, hasSecondFactor: false, mustAddSecondFactor: false },
      applications: [{ appId: other.appId, name: other.appId, timeZone: 'UTC' }],
    };
    expect([answer.status, answer.body]).toEqual([200, person]);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^odograph_session=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
    );
    expect(await whoIs(cookieOf(answer))).toEqual(person);
    const { rows } = await sql`select actor, action, outcome from audit
      where subject = ${`operator:${name}`}`.execute(db);
    expect(rows).toEqual([{ actor: `operator:${name}`, action: 'operator.sign-in', outcome: 'done' }]);
  });

  it('names all applications for an operator without limits', async () => {
    const { cookie } = await createOperator(db);
    const { limited, applications } = await whoIs(cookie);
    expect(limited).toBe(false);
    expect(applications).toContainEqual({ appId: application.appId, name: application.appId, timeZone: 'UTC' });
  });

  it('gives a user of an application what the access token of the user gives', async () => {
    const vehicle = await createUnlinkedVehicle(db, application);
    const user = await createUser(db, application, { passwordHash, vehicleIds: [vehicle], mustChangePassword: true });
    const hidden = await createUnlinkedVehicle(db, application);
    const answer = await page.post('/v1/x/session', asUser(user.username.toUpperCase()));
    const { appId } = application;
    expect(answer.body).toEqual({
      ...{ kind: 'user', username: user.username, userId: user.id, mustChangePassword: true },
      ...{ hasPassword: true, hasSecondFactor: false },
      ...{ appId, applicationName: appId, timeZone: 'UTC' },
    });
    const browser = withCookie(cookieOf(answer));
    const token = as(user.token);
    for (const id of [vehicle, hidden]) {
      const path = `/v1/vehicle/${id}`;
      expect((await browser.get(path)).body).toEqual((await token.get(path)).body);
    }
    expect((await browser.get(`/v1/vehicle/${hidden}`)).body.error).toBe('UNKNOWN_VEHICLE');
    expect((await browser.get('/v1/x/admin/vehicles?appId=x')).body.error).toBe('UNAUTHORIZED');
  });

  it('answers alike for a wrong name, application or password and for a deleted account', async () => {
    const { name } = await createOperator(db, { passwordHash });
    const user = await createUser(db, application, { passwordHash });
    const other = await createApplication(db);
    const deleted = await createOperator(db, { passwordHash });
    await db.updateTable('operator').set({ deleted_at: new Date() }).where('id', '=', deleted.id).execute();
    const wrong = [
      { name, password: 'wrong password' },
      { name: 'unknown', password },
      { name: deleted.name, password },
      { name: user.username, password },
      { ...asUser(user.username), password: 'wrong password' },
      { ...asUser(user.username), appId: other.appId },
      { ...asUser(user.username), appId: 'unknown' },
      asUser(name),
    ];
    for (const body of wrong) {
      const answer = await page.post('/v1/x/session', body);
      expect([answer.status, answer.body, answer.headers.get('set-cookie')]).toEqual([
        401,
        { error: 'INVALID_CREDENTIALS', message: 'the credentials are wrong' },
        null,
      ]);
    }
  });

  it('takes as long for a missing operator, user or application as for a wrong password', async () => {
    const { name } = await createOperator(db, { passwordHash });
    const { username } = await createUser(db, application, { passwordHash });
    const attempts = [
      { name },
      { name: 'unknown' },
      asUser(username),
      asUser('unknown'),
      { ...asUser(username), appId: 'unknown' },
    ].map((body) => ({ body: { ...body, password: 'wrong password' }, milliseconds: [] as number[] }));
    for (let round = 0; round < 12; round += 1) {
      for (const { body, milliseconds } of attempts) {
        const start = performance.now();
        await page.post('/v1/x/session', body);
        milliseconds.push(performance.now() - start);
      }
    }
    const shortest = attempts.map(({ milliseconds }) => Math.min(...milliseconds));
    // Without a verification it would take a tenth of the time; the margin is for scheduling noise.
    expect(Math.max(...shortest)).toBeLessThan(Math.min(...shortest) * 3);
  });

  it.each([
    ['name', { password }],
    ['name', { name: 'one', appId: 'two', username: 'three', password }],
    ['username', { appId: 'two', password }],
    ['password', { name: 'one' }],
    ['password', { name: 'one', password: 'x'.repeat(1025) }],
  ])('names %s if it is missing or malformed', async (field, body) => {
    const { status, body: answer } = await page.post('/v1/x/session', body);
    expect([status, answer.error, answer.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('never takes a token from the browser, and ends the session that the browser had', async () => {
    const [first, second] = [await createOperator(db, { passwordHash }), await createOperator(db, { passwordHash })];
    const planted = `odograph_session=${createSecret()}`;
    const answer = await withCookie(planted).post('/v1/x/session', { name: first.name, password });
    expect(cookieOf(answer)).not.toBe(planted);
    expect((await whoIs(planted)).error).toBe('INVALID_TOKEN');
    const next = await withCookie(cookieOf(answer)).post('/v1/x/session', { name: second.name, password });
    expect((await whoIs(cookieOf(answer))).error).toBe('INVALID_TOKEN');
    expect((await whoIs(cookieOf(next))).name).toBe(second.name);
  });

  it('stores only a hash of the token', async () => {
    const { name } = await createOperator(db, { passwordHash });
    const token = cookieOf(await page.post('/v1/x/session', { name, password })).split('=')[1] ?? '';
    const { rows } = await sql<{ row: string }>`select sign_in::text as row from sign_in
      where token_sha256 = ${hashSecret(token)}`.execute(db);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.row).not.toContain(token);
  });
});

describe('the cookie', () => {
  it('is restricted to TLS if a trusted proxy, or the browser itself, says that it uses TLS', async () => {
    const trusting = await startTestPlatform([fleetService], { HTTP_TRUST_PROXY: '1' });
    afterAll(() => trusting.stop());
    const { name } = await createOperator(db, { passwordHash });
    const isSecure = async (url: string, headers: Record<string, string>) => {
      const answer = await createApiClient(url, headers).post('/v1/x/session', { name, password });
      return [answer.status, / Secure/.test(answer.headers.get('set-cookie') ?? '')];
    };
    const overTls = (url: string) => ({ origin: url.replace('http:', 'https:') });
    const forwarded = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' };
    expect(await isSecure(trusting.httpUrl, { ...overTls(trusting.httpUrl), ...forwarded })).toEqual([200, true]);
    expect(await isSecure(httpUrl, overTls(httpUrl))).toEqual([200, true]);
    expect(await isSecure(httpUrl, { origin: httpUrl, ...forwarded })).toEqual([200, false]);
    // A page without TLS is not a page of our own that uses TLS.
    expect(await isSecure(trusting.httpUrl, { origin: trusting.httpUrl, ...forwarded })).toEqual([403, false]);
  });
});

describe('wrong passwords', () => {
  it('are limited for an account and address, and for an address in all, as the counts of the login', async () => {
    const limited = await startTestPlatform(
      [fleetService],
      { HTTP_TRUST_PROXY: '1' },
      { maxLoginFailuresPerMinute: 3 },
    );
    afterAll(() => limited.stop());
    const { name } = await createOperator(db, { passwordHash });
    const from = (address: string) =>
      createApiClient(limited.httpUrl, { origin: limited.httpUrl, 'x-forwarded-for': address });
    const attempt = async (address: string, body: object) => (await from(address).post('/v1/x/session', body)).status;
    const wrong = { name, password: 'wrong password' };
    for (let round = 0; round < 3; round += 1) expect(await attempt('192.0.2.1', wrong)).toBe(401);
    expect(await attempt('192.0.2.1', { name, password })).toBe(429);
    expect(await attempt('192.0.2.2', { name, password })).toBe(200);
    const guess = () => attempt('192.0.2.3', { name: randomUUID(), password });
    const statuses = await Promise.all(Array.from({ length: 12 }, guess));
    const count = (wanted: number) => statuses.filter((status) => status === wanted).length;
    expect([count(401), count(429)]).toEqual([9, 3]);
    expect(await attempt('192.0.2.3', { name, password })).toBe(429);
    const { username } = await createUser(db, application, { passwordHash });
    const { appId, appKey } = application;
    for (let round = 0; round < 3; round += 1) {
      await attempt('192.0.2.4', { appId, username, password: 'wrong password' });
    }
    const login = await from('192.0.2.4').post('/v1/login', { appId, appKey, username, password });
    expect(login.status).toBe(429);
  });
});
