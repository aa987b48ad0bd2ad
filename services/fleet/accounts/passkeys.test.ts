import { createApiClient, createBrowser } from '@odograph/testkit/api-client';
import { createOperator, createUser } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { fleetService } from '../service.ts';
import { hashPassword } from './passwords.ts';

const password = 'correct horse battery';
const passwordHash = await hashPassword(password);
const { platform, application, admin } = await startFleet();
const { db, httpUrl } = platform;
const page = createApiClient(httpUrl, { origin: httpUrl });
const path = '/v1/x/session/passkeys';

/** Creates an operator with a passkey, of which only the test in a browser (test/console) has the private key. */
async function createPasskey() {
  const operator = await createOperator(db, { passwordHash });
  await sql`insert into passkey (operator_id, name, credential_id, public_key, sign_count)
    values (${operator.id}, 'Laptop', ${operator.id}, '', 0)`.execute(db);
  return operator;
}

const passkeysOf = async (id: string) =>
  (await sql<{ name: string }>`select name from passkey where operator_id = ${id}`.execute(db)).rows.map(
    ({ name }) => name,
  );

describe('an operator with a passkey', () => {
  it('cannot sign in with the password alone', async () => {
    const { name } = await createPasskey();
    const { status, body } = await page.post('/v1/x/session', { name, password });
    expect([status, body.error, body.reason]).toEqual([401, 'SECOND_FACTOR_REQUIRED', 'PASSKEY']);
    const wrong = await page.post('/v1/x/session', { name, password: 'wrong password' });
    expect(wrong.body).toMatchObject({ error: 'INVALID_CREDENTIALS' });
  });

  it('loses it on deletion', async () => {
    const { id, name } = await createPasskey();
    await admin.delete(`/v1/x/admin/operators/${name}`);
    expect(await passkeysOf(id)).toEqual([]);
  });

  it('adds and removes passkeys only with the current password', async () => {
    const { id, cookie } = await createPasskey();
    const browser = createBrowser(httpUrl, cookie);
    const [passkey] = (await browser.get(path)).body.passkeys;
    expect(passkey).toMatchObject({ name: 'Laptop', usedAt: null });
    const wrong = { currentPassword: 'wrong password' };
    expect((await browser.post(`${path}/options`, wrong)).body.error).toBe('INVALID_OLD_PASSWORD');
    expect((await browser.delete(`${path}/${passkey.id}`, wrong)).body.error).toBe('INVALID_OLD_PASSWORD');
    expect(await passkeysOf(id)).toEqual(['Laptop']);
    expect((await browser.delete(`${path}/${passkey.id}`, { currentPassword: password })).status).toBe(200);
    expect((await browser.delete(`${path}/mine`, { currentPassword: password })).body.error).toBe('NOT_FOUND');
  });

  it('is refused for values that no authenticator signed', async () => {
    const { id, cookie } = await createPasskey();
    const handle = Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
    const assertion = { id, clientDataJSON: 'e30', authenticatorData: 'AAAA', signature: 'AAAA', userHandle: handle };
    for (const changed of [{}, { clientDataJSON: 'AAAA' }, { userHandle: 'AAAA' }, { id: 'AAAA' }]) {
      const answer = await page.post('/v1/x/session/passkey', { ...assertion, ...changed });
      expect([answer.status, answer.body.error]).toEqual([401, 'INVALID_CREDENTIALS']);
    }
    const creation = { name: 'Phone', id: 'AAAA', clientDataJSON: 'e30', attestationObject: 'AAAA' };
    const added = await createBrowser(httpUrl, cookie).post(path, creation);
    expect([added.status, added.body.error]).toEqual([401, 'INVALID_CREDENTIALS']);
  });
});

it('answers OVERLOADED to a sign-in with a passkey while Redis is unavailable', async () => {
  const { httpUrl: url, stop } = await startTestPlatform([fleetService], {
    REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
  });
  onTestFinished(stop);
  const { status, body } = await createApiClient(url, { origin: url }).post('/v1/x/session/passkey/options', {});
  expect([status, body.error]).toEqual([503, 'OVERLOADED']);
});

it('users of applications have no passkeys', async () => {
  const user = await createUser(db, application, { passwordHash });
  const credentials = { appId: application.appId, username: user.username, password };
  const { headers } = await page.post('/v1/x/session', credentials);
  const browser = createBrowser(httpUrl, headers.get('set-cookie')?.split(';')[0] ?? '');
  for (const answer of [
    await browser.get(path),
    await browser.post(`${path}/options`, { currentPassword: password }),
    await browser.delete(`${path}/mine`, { currentPassword: password }),
  ]) {
    expect([answer.status, answer.body.error]).toEqual([403, 'UNAUTHORIZED']);
  }
});
