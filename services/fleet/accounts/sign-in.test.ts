import { randomUUID } from 'node:crypto';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { type ApiAnswer, clientWithToken, createApiClient, createBrowser } from '@odograph/testkit/api-client';
import { createApplication, createOperator, createUnlinkedVehicle, createUser } from '@odograph/testkit/fixtures';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { fleetService } from '../service.ts';
import { hashPassword } from './passwords.ts';

const password = 'correct horse battery';
const passwordHash = await hashPassword(password);
const { platform, application } = await startFleet();
const { db, httpUrl } = platform;
const page = createApiClient(httpUrl, { origin: httpUrl });
const asUser = (username: string) => ({ appId: application.appId, username, password });

/** The header `cookie` of a browser after an answer. */
const cookieOf = ({ headers }: ApiAnswer) => headers.get('set-cookie')?.split(';')[0] ?? '';
const withCookie = (cookie: string) => createBrowser(httpUrl, cookie);
const whoIs = async (cookie: string) => (await withCookie(cookie).get('/v1/x/session')).body;

describe('signing in', () => {
  it('answers the operator with role and applications, and gives the browser a session', async () => {
    const other = await createApplication(db);
    const { name } = await createOperator(db, { role: 'operator', applicationIds: [other.id], passwordHash });
    const answer = await page.post('/v1/x/session', { name: name.toUpperCase(), password });
    const person = {
      ...{ kind: 'operator', name, role: 'operator', limited: true, mustChangePassword: false },
      applications: [{ appId: other.appId, name: other.appId }],
    };
    expect([answer.status, answer.body]).toEqual([200, person]);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^odograph_session=[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
    );
    expect(await whoIs(cookieOf(answer))).toEqual(person);
    const { rows } = await sql`select actor, action, outcome from audit where subject = ${`operator:${name}`}`.execute(
      db,
    );
    expect(rows).toEqual([{ actor: `operator:${name}`, action: 'operator.sign-in', outcome: 'done' }]);
  });

  it('names all applications for an operator without limits', async () => {
    const { cookie } = await createOperator(db);
    const { limited, applications } = await whoIs(cookie);
    expect(limited).toBe(false);
    expect(applications).toContainEqual({ appId: application.appId, name: application.appId });
  });

  it('gives a user of an application what the access token of the user gives', async () => {
    const vehicle = await createUnlinkedVehicle(db, application);
    const user = await createUser(db, application, { passwordHash, vehicleIds: [vehicle], mustChangePassword: true });
    const hidden = await createUnlinkedVehicle(db, application);
    const answer = await page.post('/v1/x/session', asUser(user.username.toUpperCase()));
    const { appId } = application;
    expect(answer.body).toEqual({
      ...{ kind: 'user', username: user.username, userId: user.id, mustChangePassword: true },
      ...{ appId, applicationName: appId },
    });
    const browser = withCookie(cookieOf(answer));
    const token = clientWithToken(httpUrl, user.token);
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
    const limited = await startTestPlatform([fleetService], { LOGIN_ATTEMPTS_PER_MINUTE: '3', HTTP_TRUST_PROXY: '1' });
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
