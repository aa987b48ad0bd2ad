import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { clientWithToken } from '@odograph/testkit/api-client';
import { createApplication, createUser } from '@odograph/testkit/fixtures';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { hashPassword } from './passwords.ts';

const password = 'correct horse battery';
const { platform, application, anonymous } = await startFleet();
const credentials = () => ({ appId: application.appId, appKey: application.appKey });

const newUser = async (mustChangePassword = false) =>
  createUser(platform.db, application, { passwordHash: await hashPassword(password), mustChangePassword });

const works = async (token: string) =>
  (await clientWithToken(platform.httpUrl, token).delete('/v1/device', { deviceId: 'none' })).body.error;

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
