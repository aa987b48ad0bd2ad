import { randomUUID } from 'node:crypto';

import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { type ApiClient, clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { createApplication, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fleetService } from '../service.ts';
import { hashPassword } from './passwords.ts';

const password = 'correct horse battery';
let platform: TestPlatform;
let api: ApiClient;
let application: TestApplication;

beforeAll(async () => {
  platform = await startTestPlatform([fleetService]);
  api = createApiClient(platform.httpUrl);
  application = await createApplication(platform.db);
});
afterAll(() => platform?.stop());

const credentials = () => ({ appId: application.appId, appKey: application.appKey });

async function createUser(mustChangePassword = false): Promise<{ id: string; username: string }> {
  const username = `user-${randomUUID()}`;
  const { id } = await platform.db
    .insertInto('user_account')
    .values({
      application_id: application.id,
      username,
      password_hash: await hashPassword(password),
      must_change_password: mustChangePassword,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { id, username };
}

const works = async (token: string) =>
  (await clientWithToken(platform.httpUrl, token).delete('/v1/device', { deviceId: 'none' })).body.error;

describe('POST /v1/login', () => {
  it('answers tokens, their ends as ISO 8601 UTC and update_password, in application mode', async () => {
    const before = Date.now();
    const { status, body } = await api.post('/v1/login', credentials());
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['refresh_token', 'refresh_until', 'token', 'until', 'update_password']);
    expect(body.update_password).toBe(false);
    for (const [date, seconds] of [[body.until, 3600] as const, [body.refresh_until, 30 * 86_400] as const]) {
      expect(date).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
      expect(Math.abs(Date.parse(date) - before - seconds * 1000)).toBeLessThan(10_000);
    }
    expect(await works(body.token)).toBe('UNKNOWN_DEVICE');
  });

  it('logs a user in whatever the case of the name, and says when the password must be changed', async () => {
    const { username } = await createUser(true);
    const { status, body } = await api.post('/v1/login', {
      ...credentials(),
      username: username.toUpperCase(),
      password,
    });
    expect(status).toBe(200);
    expect(body.update_password).toBe(true);
  });

  it('answers the same for a wrong appId, appKey, user, password, and a user of another application', async () => {
    const { username } = await createUser();
    const other = await createApplication(platform.db);
    const wrong = [
      { ...credentials(), appId: 'nobody' },
      { ...credentials(), appKey: createSecret() },
      { ...credentials(), username: 'nobody', password },
      { ...credentials(), username, password: 'wrong password' },
      { appId: other.appId, appKey: other.appKey, username, password },
    ];
    const answers = await Promise.all(wrong.map((body) => api.post('/v1/login', body)));
    for (const { status, body } of answers) {
      expect(status).toBe(401);
      expect(body).toEqual({ error: 'INVALID_CREDENTIALS', message: answers[0]?.body.message });
    }
  });

  it('takes as long for a user that does not exist as for a wrong password', async () => {
    const { username } = await createUser();
    const timeOf = async (name: string) => {
      const start = performance.now();
      await api.post('/v1/login', { ...credentials(), username: name, password: 'wrong password' });
      return performance.now() - start;
    };
    const [absent, present]: [number[], number[]] = [[], []];
    for (let round = 0; round < 12; round += 1) {
      absent.push(await timeOf('nobody'));
      present.push(await timeOf(username));
    }
    // A password that is not verified takes a tenth; anything between is the noise of the machine.
    expect(Math.min(...absent)).toBeGreaterThan(Math.min(...present) / 3);
  });

  it.each([
    ['appId', { appKey: 'x' }],
    ['appKey', { appId: 'x' }],
    ['password', { appId: 'x', appKey: 'x', username: 'x' }],
    ['username', { appId: 'x', appKey: 'x', password: 'x' }],
    ['appId', { appId: { a: 1 }, appKey: 'x' }],
    ['username', { appId: 'x', appKey: 'x', username: 'a\0b', password: 'x' }],
  ])('names %s when it is missing or malformed', async (field, body) => {
    const answer = await api.post('/v1/login', body);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: 'INVALID_PARAMETER', field });
  });

  it('answers TOO_MANY_REQUESTS with Retry-After on every replica, for that appId only', async () => {
    const shared = { QUEUE_PREFIX: `test-${randomUUID()}`, LOGIN_ATTEMPTS_PER_MINUTE: '3' };
    const replicas = await Promise.all([
      startTestPlatform([fleetService], shared),
      startTestPlatform([fleetService], shared),
    ]);
    try {
      const clients = replicas.map(({ httpUrl }) => createApiClient(httpUrl));
      const login = (replica: number, body: object) => clients[replica]?.post('/v1/login', body);
      const wrong = { ...credentials(), appKey: 'wrong' };
      for (const replica of [0, 1, 0]) expect((await login(replica, wrong))?.status).toBe(401);
      for (const replica of [0, 1]) {
        const refused = await login(replica, credentials());
        expect(refused?.status).toBe(429);
        expect(refused?.body.error).toBe('TOO_MANY_REQUESTS');
        const retryAfter = Number(refused?.headers.get('retry-after'));
        expect(retryAfter).toBeGreaterThan(0);
        expect(retryAfter).toBeLessThanOrEqual(60);
      }
      const other = await createApplication(platform.db);
      expect((await login(0, { appId: other.appId, appKey: other.appKey }))?.status).toBe(200);
    } finally {
      for (const replica of replicas) await replica.stop();
    }
  });

  it('limits guesses at the password of one user, whatever address they come from', async () => {
    const limited = await startTestPlatform([fleetService], {
      LOGIN_ATTEMPTS_PER_MINUTE: '3',
      HTTP_TRUST_PROXY: 'true',
    });
    try {
      const { username } = await createUser();
      const guess = (n: number, name: string) =>
        createApiClient(limited.httpUrl, { 'x-forwarded-for': `10.0.0.${n}` }).post('/v1/login', {
          ...credentials(),
          username: name,
          password: `guess ${n}`,
        });
      for (const n of [1, 2, 3]) expect((await guess(n, username)).status).toBe(401);
      expect((await guess(4, username.toUpperCase())).status).toBe(429);
      expect((await guess(5, (await createUser()).username)).status).toBe(401);
    } finally {
      await limited.stop();
    }
  });
});

describe('POST /v1/refreshToken', () => {
  const login = async () => (await api.post('/v1/login', credentials())).body;
  const refresh = (token: string, from: object = credentials()) =>
    api.post('/v1/refreshToken', { ...from, refresh_token: token });
  const spentAgo = (token: string, seconds: number) =>
    platform.db
      .updateTable('refresh_token')
      .set({ spent_at: sql`spent_at - make_interval(secs => ${seconds})` })
      .where('token_sha256', '=', hashSecret(token))
      .execute();

  it.each(['refresh_token', 'refreshToken'])('rotates the tokens, spelled %s', async (spelling) => {
    const first = await login();
    const { status, body } = await api.post('/v1/refreshToken', {
      ...credentials(),
      [spelling]: first.refresh_token,
    });
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['refresh_token', 'refresh_until', 'token', 'until']);
    expect(body.refresh_token).not.toBe(first.refresh_token);
    expect(await works(body.token)).toBe('UNKNOWN_DEVICE');
    expect((await refresh(body.refresh_token)).status).toBe(200);
  });

  it('issues fresh tokens again for one spent less than 60 s ago, since the answer may have been lost', async () => {
    const first = await login();
    const lost = (await refresh(first.refresh_token)).body;
    await spentAgo(first.refresh_token, 50);
    const again = await refresh(first.refresh_token);
    expect(again.status).toBe(200);
    expect(again.body.token).not.toBe(lost.token);
    expect(await works(again.body.token)).toBe('UNKNOWN_DEVICE');
  });

  it('revokes the whole family when a token spent before the grace comes again', async () => {
    const first = await login();
    const second = (await refresh(first.refresh_token)).body;
    await spentAgo(first.refresh_token, 61);
    expect((await refresh(first.refresh_token)).body.error).toBe('INVALID_TOKEN');
    expect((await refresh(second.refresh_token)).body.error).toBe('INVALID_TOKEN');
    expect(await works(first.token)).toBe('INVALID_TOKEN');
    expect(await works(second.token)).toBe('INVALID_TOKEN');
  });

  it('gives two refreshes at the same moment tokens that work, and spends the old one once', async () => {
    const first = await login();
    const answers = await Promise.all([1, 2, 3, 4].map(() => refresh(first.refresh_token)));
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(await works(body.token)).toBe('UNKNOWN_DEVICE');
    }
    await spentAgo(first.refresh_token, 61);
    expect((await refresh(first.refresh_token)).body.error).toBe('INVALID_TOKEN');
    for (const { body } of answers) expect(await works(body.token)).toBe('INVALID_TOKEN');
  });

  it('judges a token by what a refresh at the same moment has done to it', async () => {
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

  it('answers TOKEN_EXPIRED for one that has expired', async () => {
    const first = await login();
    await platform.db
      .updateTable('refresh_token')
      .set({ expires_at: new Date(Date.now() - 1000) })
      .where('token_sha256', '=', hashSecret(first.refresh_token))
      .execute();
    const { status, body } = await refresh(first.refresh_token);
    expect([status, body.error]).toEqual([401, 'TOKEN_EXPIRED']);
  });

  it('answers INVALID_TOKEN for an unknown token, an access token, and one of another application', async () => {
    const first = await login();
    const other = await createApplication(platform.db);
    const foreign = { appId: other.appId, appKey: other.appKey };
    expect((await refresh(createSecret())).body.error).toBe('INVALID_TOKEN');
    expect((await refresh(first.token)).body.error).toBe('INVALID_TOKEN');
    expect((await refresh(first.refresh_token, foreign)).body.error).toBe('INVALID_TOKEN');
    expect((await refresh(first.refresh_token)).status).toBe(200);
  });

  it('needs the credentials of the application, and names a missing refresh_token', async () => {
    const first = await login();
    expect((await refresh(first.refresh_token, { ...credentials(), appKey: 'x' })).body.error).toBe(
      'INVALID_CREDENTIALS',
    );
    expect((await api.post('/v1/refreshToken', credentials())).body).toMatchObject({
      error: 'INVALID_PARAMETER',
      field: 'refresh_token',
    });
  });

  it('stores tokens, keys and passwords only as hashes', async () => {
    const { username } = await createUser();
    const first = (await api.post('/v1/login', { ...credentials(), username, password })).body;
    const second = (await refresh(first.refresh_token)).body;
    const stored: string[] = [];
    for (const table of ['application', 'user_account', 'session', 'access_token', 'refresh_token']) {
      const { rows } = await sql<{ row: string }>`select to_jsonb(t)::text as row from ${sql.table(table)} t`.execute(
        platform.db,
      );
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
