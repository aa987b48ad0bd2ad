import { randomUUID } from 'node:crypto';

import { clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { createApplication, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fleetService } from '../service.ts';
import { hashPassword } from './passwords.ts';

const oldPassword = 'the old password';
const newPassword = 'the new password';
let platform: TestPlatform;
let application: TestApplication;

beforeAll(async () => {
  platform = await startTestPlatform([fleetService]);
  application = await createApplication(platform.db);
});
afterAll(() => platform?.stop());

async function createUser(): Promise<string> {
  const username = `user-${randomUUID()}`;
  const password_hash = await hashPassword(oldPassword);
  await platform.db
    .insertInto('user_account')
    .values({ application_id: application.id, username, password_hash, must_change_password: true })
    .execute();
  return username;
}

const login = async (username: string, password: string) =>
  createApiClient(platform.httpUrl).post('/v1/login', {
    appId: application.appId,
    appKey: application.appKey,
    username,
    password,
  });
const change = (token: string, body: object) =>
  clientWithToken(platform.httpUrl, token).post('/v1/user/updatePassword', body);

describe('POST /v1/user/updatePassword', () => {
  it('changes the password, ends the other sessions of the user and keeps its own', async () => {
    const username = await createUser();
    const [own, other, stranger] = [
      await login(username, oldPassword),
      await login(username, oldPassword),
      await login(await createUser(), oldPassword),
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

  it('answers INVALID_OLD_PASSWORD and INVALID_PASSWORD_LENGTH, and changes nothing', async () => {
    const username = await createUser();
    const { token } = (await login(username, oldPassword)).body;
    const wrong = await change(token, { oldPassword: 'wrong', newPassword });
    expect([wrong.status, wrong.body.error]).toEqual([400, 'INVALID_OLD_PASSWORD']);
    for (const short of ['', '1234567', '😀😀😀😀😀😀😀']) {
      const { status, body } = await change(token, { oldPassword, newPassword: short });
      expect([status, body.error]).toEqual([400, 'INVALID_PASSWORD_LENGTH']);
    }
    expect((await login(username, oldPassword)).status).toBe(200);
  });

  it('lets one of two changes at the same moment pass', async () => {
    const username = await createUser();
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
    const { body } = await createApiClient(platform.httpUrl).post('/v1/user/updatePassword', {});
    expect(body.error).toBe('MISSING_TOKEN');
    expect((await change(application.token, { oldPassword })).body).toMatchObject({
      error: 'INVALID_PARAMETER',
      field: 'newPassword',
    });
  });
});
