import { clientWithToken } from '@odograph/testkit/api-client';
import { createUser } from '@odograph/testkit/fixtures';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { hashPassword } from './passwords.ts';

const oldPassword = 'the old password';
const newPassword = 'the new password';

const { platform, application, anonymous } = await startFleet();

async function newUsername(): Promise<string> {
  const passwordHash = await hashPassword(oldPassword);
  return (await createUser(platform.db, application, { passwordHash, mustChangePassword: true })).username;
}

const login = async (username: string, password: string) =>
  anonymous.post('/v1/login', {
    appId: application.appId,
    appKey: application.appKey,
    username,
    password,
  });
const change = (token: string, body: object) =>
  clientWithToken(platform.httpUrl, token).post('/v1/user/updatePassword', body);

describe('POST /v1/user/updatePassword', () => {
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
