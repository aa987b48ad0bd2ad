import { randomInt, randomUUID } from 'node:crypto';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { createApiClient } from '@odograph/testkit/api-client';
import { createApplication, createUser } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { fleetService } from '../service.ts';
import { hashPassword } from './passwords.ts';

const password = 'correct horse battery';
const { platform, application, anonymous, as } = await startFleet();
const credentials = () => ({ appId: application.appId, appKey: application.appKey });

const newUser = async (mustChangePassword = false) =>
  createUser(platform.db, application, { passwordHash: await hashPassword(password), mustChangePassword });

const works = async (token: string) => (await as(token).delete('/v1/device', { deviceId: 'none' })).body.error;

describe('POST /v1/login', () => {
  it('answers tokens with their expiry in ISO 8601 UTC, and update_password, in application mode', async () => {
    const before = Date.now();
    const { status, body } = await anonymous.post('/v1/login', credentials());
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['refresh_token', 'refresh_until', 'token', 'until', 'update_password']);
    expect(body.update_password).toBe(false);
    for (const [date, seconds] of [[body.until, 3600] as const, [body.refresh_until, 30 * 86_400] as const]) {
      expect(date).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      expect(Math.abs(Date.parse(date) - before - seconds * 1000)).toBeLessThan(10_000);
    }
    expect(await works(body.token)).toBe('UNKNOWN_DEVICE');
  });

  it.each(['', null])('treats a username and password of %j as missing', async (empty) => {
    const { status, body } = await anonymous.post('/v1/login', { ...credentials(), username: empty, password: empty });
    expect([status, body.update_password]).toEqual([200, false]);
  });

  it('signs a user in ignoring the case of the name, and reports that the password must be changed', async () => {
    const { username } = await newUser(true);
    const { status, body } = await anonymous.post('/v1/login', {
      ...credentials(),
      username: username.toUpperCase(),
      password,
    });
    expect(status).toBe(200);
    expect(body.update_password).toBe(true);
  });

  it('answers alike for a wrong appId, appKey, user or password and for a user of another application', async () => {
    const { username } = await newUser();
    const other = await createApplication(platform.db);
    const wrong = [
      { ...credentials(), appId: 'unknown' },
      { ...credentials(), appKey: createSecret() },
      { ...credentials(), username: 'unknown', password },
      { ...credentials(), username, password: 'wrong password' },
      { appId: other.appId, appKey: other.appKey, username, password },
    ];
    const answers = await Promise.all(wrong.map((body) => anonymous.post('/v1/login', body)));
    for (const { status, body } of answers) {
      expect(status).toBe(401);
      expect(body).toEqual({ error: 'INVALID_CREDENTIALS', message: answers[0]?.body.message });
    }
  });

  it('takes as long for a missing user as for a wrong password', async () => {
    const { username } = await newUser();
    const timeOf = async (name: string) => {
      const start = performance.now();
      await anonymous.post('/v1/login', { ...credentials(), username: name, password: 'wrong password' });
      return performance.now() - start;
    };
    const [absent, present]: [number[], number[]] = [[], []];
    for (let round = 0; round < 12; round += 1) {
      absent.push(await timeOf('unknown'));
      present.push(await timeOf(username));
    }
    // Without a verification it would take a tenth of the time; the margin is for scheduling noise.
    expect(Math.min(...absent)).toBeGreaterThan(Math.min(...present) / 3);
  });

  it.each([
    ['appId', { appKey: 'x' }],
    ['appKey', { appId: 'x' }],
    ['password', { appId: 'x', appKey: 'x', username: 'x' }],
    ['username', { appId: 'x', appKey: 'x', password: 'x' }],
    ['appId', { appId: { a: 1 }, appKey: 'x' }],
    ['username', { appId: 'x', appKey: 'x', username: 'a\0b', password: 'x' }],
  ])('names %s if it is missing or malformed', async (field, body) => {
    const answer = await anonymous.post('/v1/login', body);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: 'INVALID_PARAMETER', field });
  });

  describe('behind the limit', () => {
    const settings = { QUEUE_PREFIX: `test-${randomUUID()}`, HTTP_TRUST_PROXY: '1' };
    const startReplica = () => startTestPlatform([fleetService], settings, { maxLoginFailuresPerMinute: 3 });
    let replicas: TestPlatform[] = [];
    beforeAll(async () => {
      replicas = [await startReplica(), await startReplica()];
    });
    afterAll(async () => {
      for (const replica of replicas) await replica.stop();
    });

    const newAddress = () => `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;
    const login = (body: object, address: string, replica = 0) =>
      createApiClient(replicas[replica]?.httpUrl ?? '', { 'x-forwarded-for': address }).post('/v1/login', body);
    const statuses = async (logins: Promise<{ status: number }>[]) =>
      (await Promise.all(logins)).map(({ status }) => status).sort((a, b) => a - b);

    it('answers TOO_MANY_REQUESTS with Retry-After on every replica, only for that appId and address', async () => {
      const [address, other] = [newAddress(), await createApplication(platform.db)];
      for (const replica of [0, 1, 0]) {
        expect((await login({ ...credentials(), appKey: 'wrong' }, address, replica)).status).toBe(401);
      }
      for (const replica of [0, 1]) {
        const refused = await login(credentials(), address, replica);
        expect([refused.status, refused.body.error]).toEqual([429, 'TOO_MANY_REQUESTS']);
        const retryAfter = Number(refused.headers.get('retry-after'));
        expect(retryAfter).toBeGreaterThan(0);
        expect(retryAfter).toBeLessThanOrEqual(60);
      }
      expect((await login(credentials(), newAddress())).status).toBe(200);
      expect((await login({ appId: other.appId, appKey: other.appKey }, address)).status).toBe(200);
    });

    it('refuses an address for one user, and admits the user from other addresses', async () => {
      const [address, user, colleague] = [newAddress(), await newUser(), await newUser()];
      const as = (username: string, given: string) => ({ ...credentials(), username, password: given });
      for (const name of [user.username, user.username.toUpperCase(), user.username]) {
        expect((await login(as(name, 'guess'), address)).status).toBe(401);
      }
      expect((await login(as(user.username, password), address)).status).toBe(429);
      expect((await login(as(user.username, password), newAddress())).status).toBe(200);
      expect((await login(as(colleague.username, password), address)).status).toBe(200);
      expect((await login(credentials(), address)).status).toBe(200);
    });

    it('counts failures only, and a success clears them', async () => {
      const [address, { username }] = [newAddress(), await newUser()];
      const [right, wrong] = [
        { ...credentials(), username, password },
        { ...credentials(), username, password: 'no' },
      ];
      expect(await statuses(Array.from({ length: 8 }, () => login(right, address)))).toEqual(Array(8).fill(200));
      for (let round = 0; round < 3; round += 1) {
        expect(await statuses([login(wrong, address), login(wrong, address)])).toEqual([401, 401]);
        expect((await login(right, address)).status).toBe(200);
      }
    });

    it('verifies no more concurrent guesses than the limit admits', async () => {
      const [address, { username }] = [newAddress(), await newUser()];
      const guess = () => login({ ...credentials(), username, password: 'guess' }, address);
      const outcomes = await statuses(Array.from({ length: 12 }, guess));
      expect(outcomes).toEqual([401, 401, 401, ...Array(9).fill(429)]);
    });
  });
});

describe('POST /v1/refreshToken', () => {
  const login = async () => (await anonymous.post('/v1/login', credentials())).body;
  const refresh = (token: string, from: object = credentials()) =>
    anonymous.post('/v1/refreshToken', { ...from, refresh_token: token });
  const spentAgo = (token: string, seconds: number) =>
    platform.db
      .updateTable('refresh_token')
      .set({ spent_at: sql`spent_at - make_interval(secs => ${seconds})` })
      .where('token_sha256', '=', hashSecret(token))
      .execute();

  it.each(['refresh_token', 'refreshToken'])('rotates the tokens, given %s', async (parameter) => {
    const first = await login();
    const { status, body } = await anonymous.post('/v1/refreshToken', {
      ...credentials(),
      [parameter]: first.refresh_token,
    });
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['refresh_token', 'refresh_until', 'token', 'until']);
    expect(body.refresh_token).not.toBe(first.refresh_token);
    expect(await works(body.token)).toBe('UNKNOWN_DEVICE');
    expect((await refresh(body.refresh_token)).status).toBe(200);
  });

  it('accepts a token again within 60 s of its use, since the answer may have been lost', async () => {
    const first = await login();
    const lost = (await refresh(first.refresh_token)).body;
    await spentAgo(first.refresh_token, 50);
    const again = await refresh(first.refresh_token);
    expect(again.status).toBe(200);
    expect(again.body.token).not.toBe(lost.token);
    expect(await works(again.body.token)).toBe('UNKNOWN_DEVICE');
  });

  it('revokes the whole session if a token is reused after the grace period', async () => {
    const first = await login();
    const second = (await refresh(first.refresh_token)).body;
    await spentAgo(first.refresh_token, 61);
    expect((await refresh(first.refresh_token)).body.error).toBe('INVALID_TOKEN');
    expect((await refresh(second.refresh_token)).body.error).toBe('INVALID_TOKEN');
    expect(await works(first.token)).toBe('INVALID_TOKEN');
    expect(await works(second.token)).toBe('INVALID_TOKEN');
  });

  it('answers two concurrent refreshes with valid tokens', async () => {
    const first = await login();
    const answers = await Promise.all([1, 2].map(() => refresh(first.refresh_token)));
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(await works(body.token)).toBe('UNKNOWN_DEVICE');
    }
  });

  it('accepts a token again only once, and then revokes the session', async () => {
    const first = await login();
    await refresh(first.refresh_token);
    const second = (await refresh(first.refresh_token)).body;
    expect(await works(second.token)).toBe('UNKNOWN_DEVICE');
    expect((await refresh(first.refresh_token)).body.error).toBe('INVALID_TOKEN');
    expect(await works(second.token)).toBe('INVALID_TOKEN');
  });

  it('revokes the session if a token is reused after the use of its successor, or the successor after the reuse', async () => {
    const [used, replaced] = [await login(), await login()];
    const successor = (await refresh(used.refresh_token)).body;
    expect((await refresh(successor.refresh_token)).status).toBe(200);
    expect((await refresh(used.refresh_token)).body.error).toBe('INVALID_TOKEN');
    expect(await works(successor.token)).toBe('INVALID_TOKEN');

    const lost = (await refresh(replaced.refresh_token)).body;
    const again = (await refresh(replaced.refresh_token)).body;
    expect((await refresh(lost.refresh_token)).body.error).toBe('INVALID_TOKEN');
    expect(await works(again.token)).toBe('INVALID_TOKEN');
  });

  it('limits the age of a session, however often it is refreshed', async () => {
    const first = await login();
    const session = sql`(select session_id from refresh_token where token_sha256 = ${hashSecret(first.refresh_token)})`;
    await sql`update session set created_at = now() - interval '89 days 23 hours 30 minutes'
      where id = ${session}`.execute(platform.db);
    const { body } = await refresh(first.refresh_token);
    for (const date of [body.until, body.refresh_until]) {
      expect(Math.abs(Date.parse(date) - Date.now() - 1_800_000)).toBeLessThan(10_000);
    }
  });

  it('sees what a concurrent refresh did to the token', async () => {
    const first = await login();
    const hash = hashSecret(first.refresh_token);
    const { pending } = await platform.db.transaction().execute(async (other) => {
      const spent = sql<Date>`now() - interval '61 seconds'`;
      await other.updateTable('refresh_token').set({ spent_at: spent }).where('token_sha256', '=', hash).execute();
      const answer = refresh(first.refresh_token);
      await waitForLock(other);
      return { pending: { answer } };
    });
    expect((await pending.answer).body.error).toBe('INVALID_TOKEN');
    expect(await works(first.token)).toBe('INVALID_TOKEN');
  });

  it('answers TOKEN_EXPIRED for an expired token', async () => {
    const first = await login();
    await platform.db
      .updateTable('refresh_token')
      .set({ expires_at: new Date(Date.now() - 1000) })
      .where('token_sha256', '=', hashSecret(first.refresh_token))
      .execute();
    const { status, body } = await refresh(first.refresh_token);
    expect([status, body.error]).toEqual([401, 'TOKEN_EXPIRED']);
  });

  it('answers INVALID_TOKEN for an unknown token, an access token and a token of another application', async () => {
    const first = await login();
    const other = await createApplication(platform.db);
    const foreign = { appId: other.appId, appKey: other.appKey };
    expect((await refresh(createSecret())).body.error).toBe('INVALID_TOKEN');
    expect((await refresh(first.token)).body.error).toBe('INVALID_TOKEN');
    expect((await refresh(first.refresh_token, foreign)).body.error).toBe('INVALID_TOKEN');
    expect((await refresh(first.refresh_token)).status).toBe(200);
  });

  it('requires the credentials of the application, and names a missing refresh_token', async () => {
    const first = await login();
    expect((await refresh(first.refresh_token, { ...credentials(), appKey: 'x' })).body.error).toBe(
      'INVALID_CREDENTIALS',
    );
    expect((await anonymous.post('/v1/refreshToken', credentials())).body).toMatchObject({
      error: 'INVALID_PARAMETER',
      field: 'refresh_token',
    });
  });

  it('stores tokens, keys and passwords only as hashes', async () => {
    const { username } = await newUser();
    const first = (await anonymous.post('/v1/login', { ...credentials(), username, password })).body;
    const second = (await refresh(first.refresh_token)).body;
    const stored: string[] = [];
    for (const table of ['application', 'user_account', 'session', 'access_token', 'refresh_token']) {
      const { rows } = await sql<{ row: string }>`select to_jsonb(t)::text as row
        from ${sql.table(table)} t`.execute(platform.db);
      stored.push(...rows.map(({ row }) => row));
    }
    const text = stored.join('\n');
    expect(text).toContain(hashSecret(second.token).toString('hex'));
    const secrets = [
      first.token,
      first.refresh_token,
      second.token,
      second.refresh_token,
      application.appKey,
      password,
    ];
    for (const secret of secrets) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString('hex'));
    }
  });
});

describe('POST /v1/user/updatePassword', () => {
  const oldPassword = password;
  const newPassword = 'the new password';
  const newUsername = async () => (await newUser(true)).username;
  const login = (username: string, given: string) =>
    anonymous.post('/v1/login', { ...credentials(), username, password: given });
  const change = (token: string, body: object) => as(token).post('/v1/user/updatePassword', body);

  it('changes the password, and ends the other sessions of the user', async () => {
    const username = await newUsername();
    const [own, other, stranger] = [
      await login(username, oldPassword),
      await login(username, oldPassword),
      await login(await newUsername(), oldPassword),
    ];
    const { status, body } = await change(own.body.token, { oldPassword, newPassword });
    expect([status, body]).toEqual([200, {}]);

    const sessionEnded = async (token: string) => (await change(token, { oldPassword: 'x', newPassword })).body.error;
    expect(await sessionEnded(other.body.token)).toBe('INVALID_TOKEN');
    expect(await sessionEnded(own.body.token)).toBe('INVALID_OLD_PASSWORD');
    expect(await sessionEnded(stranger.body.token)).toBe('INVALID_OLD_PASSWORD');
    expect((await login(username, oldPassword)).body.error).toBe('INVALID_CREDENTIALS');
    expect((await login(username, newPassword)).body.update_password).toBe(false);
  });

  it('answers INVALID_OLD_PASSWORD and INVALID_PASSWORD_LENGTH without a change', async () => {
    const username = await newUsername();
    const { token } = (await login(username, oldPassword)).body;
    const wrong = await change(token, { oldPassword: 'wrong', newPassword });
    expect([wrong.status, wrong.body.error]).toEqual([400, 'INVALID_OLD_PASSWORD']);
    for (const short of ['', '1234567', '😀😀😀😀😀😀😀']) {
      const { status, body } = await change(token, { oldPassword, newPassword: short });
      expect([status, body.error]).toEqual([400, 'INVALID_PASSWORD_LENGTH']);
    }
    expect((await login(username, oldPassword)).status).toBe(200);
  });

  it('admits one of two concurrent changes', async () => {
    const username = await newUsername();
    const { token } = (await login(username, oldPassword)).body;
    const passwords = ['first new password', 'second new password'];
    const answers = await Promise.all(
      passwords.map((password) => change(token, { oldPassword, newPassword: password })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400]));
    for (const [index, { status }] of answers.entries()) {
      expect((await login(username, passwords[index] ?? '')).status).toBe(status === 200 ? 200 : 401);
    }
  });

  it('answers UNAUTHORIZED in application mode, MISSING_TOKEN without a token, and names a missing parameter', async () => {
    const unauthorized = await change(application.token, { oldPassword, newPassword });
    expect([unauthorized.status, unauthorized.body.error]).toEqual([403, 'UNAUTHORIZED']);
    const { body } = await anonymous.post('/v1/user/updatePassword', {});
    expect(body.error).toBe('MISSING_TOKEN');
    expect((await change(application.token, { oldPassword })).body).toMatchObject({
      error: 'INVALID_PARAMETER',
      field: 'newPassword',
    });
  });
});
