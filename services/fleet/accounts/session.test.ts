import { createSecret } from '@odograph/runtime/secrets';
import { type ApiAnswer, clientWithToken, createApiClient, createBrowser } from '@odograph/testkit/api-client';
import { createOperator, createUser, signIn } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
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
    const statusOf = async (token: string) => (await clientWithToken(httpUrl, token).get('/v1/parkings')).status;
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
    expect((await clientWithToken(httpUrl, user.token).get('/v1/parkings')).status).toBe(401);
  });

  it('over the route of the interface keeps the session of the browser', async () => {
    const user = await createUser(db, application, { passwordHash });
    const cookie = cookieOf(await page.post('/v1/x/session', asUser(user.username)));
    const passwords = { oldPassword: password, newPassword };
    expect((await withCookie(cookie).post('/v1/user/updatePassword', passwords)).status).toBe(200);
    expect((await whoIs(cookie)).userId).toBe(user.id);
    expect((await clientWithToken(httpUrl, user.token).get('/v1/parkings')).status).toBe(401);
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
