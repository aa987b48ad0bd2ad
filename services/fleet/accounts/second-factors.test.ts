import { createHmac } from 'node:crypto';
import { type ApiAnswer, createApiClient, createBrowser } from '@odograph/testkit/api-client';
import { createOperator, createUser, signIn } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { hashPassword } from './passwords.ts';
import { totpStep } from './totp.ts';

const password = 'correct horse battery';
const passwordHash = await hashPassword(password);
const { platform, application, admin } = await startFleet({ SECOND_FACTOR_ROLE: 'operator', HTTP_TRUST_PROXY: '1' });
const { db, httpUrl } = platform;
const page = createApiClient(httpUrl, { origin: httpUrl });
const withCookie = (cookie: string) => createBrowser(httpUrl, cookie);
const cookieOf = ({ headers }: ApiAnswer) => headers.get('set-cookie')?.split(';')[0] ?? '';

/** Computes a TOTP code from the base32 secret, independently of the code under test. */
function codeAt(secret: string, step: number): string {
  const bits = [...secret]
    .map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.from(step.toString(16).padStart(16, '0'), 'hex');
  const hash = createHmac('sha1', key).update(counter).digest();
  return String((hash.readUInt32BE((hash[19] ?? 0) & 15) & 0x7fffffff) % 1e6).padStart(6, '0');
}

/** Codes that are accepted in this order: of the previous, current and next time step. */
function codesOf(secret: string): [before: string, now: string, after: string] {
  const step = totpStep(Date.now());
  return [codeAt(secret, step - 1), codeAt(secret, step), codeAt(secret, step + 1)];
}

async function enrol(cookie: string) {
  const { body } = await withCookie(cookie).post('/v1/x/session/second-factor', { currentPassword: password });
  const [before, now, after] = codesOf(body.secret);
  const confirmed = await withCookie(cookie).post('/v1/x/session/second-factor/confirm', { code: before });
  expect(confirmed.status).toBe(200);
  return {
    secret: body.secret as string,
    uri: body.uri as string,
    recoveryCodes: confirmed.body.recoveryCodes as string[],
    now,
    after,
  };
}

async function enrolledOperator(role: 'viewer' | 'administrator' = 'viewer') {
  const operator = await createOperator(db, { role, passwordHash });
  return { ...operator, ...(await enrol(operator.cookie)) };
}

describe('a second factor', () => {
  it('requires the current password, and has no effect until confirmed', async () => {
    const { name, cookie } = await createOperator(db, { role: 'viewer', passwordHash });
    const start = (currentPassword: string) =>
      withCookie(cookie).post('/v1/x/session/second-factor', { currentPassword });
    expect((await start('wrong password')).body.error).toBe('INVALID_OLD_PASSWORD');
    const { body } = await start(password);
    expect(body.uri).toBe(`otpauth://totp/Odograph%3A${name}?secret=${body.secret}&issuer=Odograph`);
    expect((await page.post('/v1/x/session', { name, password })).body.hasSecondFactor).toBe(false);
    const confirm = (code: string) => withCookie(cookie).post('/v1/x/session/second-factor/confirm', { code });
    expect((await confirm('000000')).body.error).toBe('INVALID_CREDENTIALS');
    expect((await confirm(codesOf(body.secret)[1])).status).toBe(200);
    expect((await start(password)).body.error).toBe('ALREADY_EXISTS');
  });

  it('is required in addition to the password', async () => {
    const { name, now } = await enrolledOperator();
    const asked = await page.post('/v1/x/session', { name, password });
    expect([asked.status, asked.body.error, asked.headers.get('set-cookie')]).toEqual([
      401,
      'SECOND_FACTOR_REQUIRED',
      null,
    ]);
    const wrong = await page.post('/v1/x/session', { name, password: 'wrong password', code: now });
    expect(wrong.body.error).toBe('INVALID_CREDENTIALS');
    const answer = await page.post('/v1/x/session', { name, password, code: now });
    expect(answer.body).toMatchObject({ name, hasSecondFactor: true });
    const { sessions } = (await withCookie(cookieOf(answer)).get('/v1/x/sessions')).body;
    expect(sessions.find((one: { isCurrent: boolean }) => one.isCurrent).method).toBe('code');
  });

  it('accepts a code once, even from concurrent requests, and no code of an earlier step afterwards', async () => {
    const { name, now, after, secret } = await enrolledOperator();
    const attempt = async (code: string) => (await page.post('/v1/x/session', { name, password, code })).status;
    expect((await Promise.all([attempt(after), attempt(after)])).toSorted()).toEqual([200, 401]);
    expect([await attempt(now), await attempt(codesOf(secret)[0])]).toEqual([401, 401]);
  });

  it('accepts each recovery code once, ignoring case, even while TOTP codes are rate-limited', async () => {
    const { name, recoveryCodes } = await enrolledOperator();
    expect(new Set(recoveryCodes).size).toBe(10);
    const [first = '', second = ''] = recoveryCodes;
    const attempt = async (code: string) => (await page.post('/v1/x/session', { name, password, code })).status;
    expect([await attempt(first.toUpperCase()), await attempt(first)]).toEqual([200, 401]);
    for (let round = 0; round < 10; round += 1) expect(await attempt('000000')).toBe(401);
    expect([await attempt('000000'), await attempt(second)]).toEqual([429, 200]);
  });

  it('allows 10 wrong codes an hour for an account across all addresses', async () => {
    const { name, now } = await enrolledOperator();
    const from = (address: string) => createApiClient(httpUrl, { origin: httpUrl, 'x-forwarded-for': address });
    for (let round = 0; round < 10; round += 1) {
      const answer = await from(`192.0.2.${round}`).post('/v1/x/session', { name, password, code: '000000' });
      expect(answer.body.error).toBe('INVALID_CREDENTIALS');
    }
    const limited = await from('198.51.100.1').post('/v1/x/session', { name, password, code: now });
    expect(limited.body.error).toBe('TOO_MANY_REQUESTS');
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(3000);
  });

  it('ends the other sessions of the operator when added', async () => {
    const { id, cookie } = await createOperator(db, { role: 'viewer', passwordHash });
    const other = await signIn(db, { operator_id: id });
    await enrol(cookie);
    expect((await withCookie(other).get('/v1/x/session')).body.error).toBe('INVALID_TOKEN');
    expect((await withCookie(cookie).get('/v1/x/session')).status).toBe(200);
  });

  it('is removed with a code, or by an administrator, which ends the sessions', async () => {
    const { name, cookie, now } = await enrolledOperator();
    const remove = (code: string) => withCookie(cookie).delete('/v1/x/session/second-factor', { code });
    expect((await remove('000000')).body.error).toBe('INVALID_CREDENTIALS');
    expect((await remove(now)).status).toBe(200);
    expect((await page.post('/v1/x/session', { name, password })).status).toBe(200);

    const lost = await enrolledOperator();
    expect((await admin.delete(`/v1/x/admin/operators/${lost.name}/second-factor`)).status).toBe(200);
    expect((await withCookie(lost.cookie).get('/v1/x/session')).body.error).toBe('INVALID_TOKEN');
    expect((await page.post('/v1/x/session', { name: lost.name, password })).status).toBe(200);
  });

  it('works the same for a user, and is deleted with the user', async () => {
    const user = await createUser(db, application, { passwordHash });
    const credentials = { appId: application.appId, username: user.username, password };
    const { now } = await enrol(cookieOf(await page.post('/v1/x/session', credentials)));
    expect((await page.post('/v1/x/session', credentials)).body.error).toBe('SECOND_FACTOR_REQUIRED');
    expect((await page.post('/v1/x/session', { ...credentials, code: now })).body.userId).toBe(user.id);
    const factors = () => db.selectFrom('second_factor').select('id').where('user_id', '=', user.id).execute();
    expect(await factors()).toHaveLength(1);
    await admin.delete(`/v1/x/admin/users/${user.id}`);
    expect(await factors()).toHaveLength(0);
  });

  it('is stored sealed and hashed, and does not appear in the audit', async () => {
    const { name, secret, recoveryCodes } = await enrolledOperator();
    const { rows } = await sql<{ row: string }>`select to_jsonb(t)::text as row from second_factor t
      union all select to_jsonb(t)::text from recovery_code t
      union all select to_jsonb(t)::text from audit t where subject = ${`operator:${name}`}`.execute(db);
    const text = rows.map(({ row }) => row).join('\n');
    expect(text).toContain('operator.second-factor.add');
    for (const hidden of [secret, ...recoveryCodes]) expect(text).not.toContain(hidden);
  });
});

describe('a role that needs a second factor', () => {
  it('permits only adding one until the operator has one', async () => {
    const { name, cookie } = await createOperator(db, { role: 'administrator', passwordHash });
    const list = (of: string) => withCookie(of).get('/v1/x/admin/applications');
    const refused = await list(cookie);
    expect([refused.status, refused.body.error]).toEqual([403, 'SECOND_FACTOR_MISSING']);
    expect((await withCookie(cookie).get('/v1/x/session')).body).toMatchObject({ name, mustAddSecondFactor: true });
    const { now } = await enrol(cookie);
    expect((await list(cookie)).status).toBe(200);
    expect((await list(cookieOf(await page.post('/v1/x/session', { name, password, code: now })))).status).toBe(200);
  });

  it('does not apply to a lower role until the operator is promoted', async () => {
    const { id, cookie } = await createOperator(db, { role: 'viewer', passwordHash });
    const list = () => withCookie(cookie).get('/v1/x/admin/applications');
    expect((await list()).status).toBe(200);
    await db.updateTable('operator').set({ role: 'operator' }).where('id', '=', id).execute();
    expect((await list()).body.error).toBe('SECOND_FACTOR_MISSING');
  });
});

describe('the list of sessions', () => {
  it('shows the address and browser of each session, and ends one', async () => {
    const { name, id } = await createOperator(db, { role: 'viewer', passwordHash });
    const other = await createOperator(db, { role: 'viewer' });
    const browser = createApiClient(httpUrl, {
      ...{ origin: httpUrl, 'user-agent': `Test/1.0 ${'x'.repeat(300)}`, 'x-forwarded-for': '192.0.2.17' },
    });
    const first = cookieOf(await browser.post('/v1/x/session', { name, password }));
    const second = await signIn(db, { operator_id: id });
    const list = async (cookie: string) => (await withCookie(cookie).get('/v1/x/sessions')).body.sessions;
    const current = (await list(first)).find((one: { isCurrent: boolean }) => one.isCurrent);
    expect(current).toMatchObject({ method: 'password', address: '192.0.2.17' });
    expect(current.browser).toMatch(/^Test\/1\.0 x{247}$/);
    const end = (cookie: string, of: string) => withCookie(cookie).delete(`/v1/x/sessions/${of}`);
    expect((await end(other.cookie, current.id)).body.error).toBe('NOT_FOUND');
    expect((await end(second, 'none')).body.error).toBe('NOT_FOUND');
    expect((await end(second, current.id)).status).toBe(200);
    expect((await withCookie(first).get('/v1/x/session')).body.error).toBe('INVALID_TOKEN');
    expect(await list(second)).toHaveLength(2);
  });

  it('of a user also revokes the access token of an ended session', async () => {
    const user = await createUser(db, application, { passwordHash });
    const credentials = { appId: application.appId, username: user.username, password };
    const cookie = cookieOf(await page.post('/v1/x/session', credentials));
    const [current] = (await withCookie(cookie).get('/v1/x/sessions')).body.sessions;
    expect((await withCookie(cookie).delete(`/v1/x/sessions/${current.id}`)).status).toBe(200);
    expect((await withCookie(cookie).get('/v1/parkings')).body.error).toBe('INVALID_TOKEN');
  });
});
