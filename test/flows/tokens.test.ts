import { accessService } from '@odograph/access/service';
import { commandService } from '@odograph/command/service';
import { hashPassword } from '@odograph/fleet/accounts/passwords';
import { fleetService } from '@odograph/fleet/service';
import { queryService } from '@odograph/query/service';
import { registrationService } from '@odograph/registration/service';
import { hashSecret } from '@odograph/runtime/secrets';
import { createApiClient } from '@odograph/testkit/api-client';
import { createApplication } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { describe, expect, it } from 'vitest';

const password = 'correct horse battery';
const platform = await usePlatform([fleetService, accessService, registrationService, queryService, commandService]);
const application = await createApplication(platform.db);

/** Creates a user and signs in. */
async function logIn() {
  const { appId, appKey, id: applicationId } = application;
  const username = `user-${Math.random()}`;
  const { id } = await platform.db
    .insertInto('user_account')
    .values({ application_id: applicationId, username, password_hash: await hashPassword(password) })
    .returning('id')
    .executeTakeFirstOrThrow();
  const login = () => platform.anonymous.post('/v1/login', { appId, appKey, username, password });
  const { body } = await login();
  return { id, login, token: body.token as string, refreshToken: body.refresh_token as string };
}

/** Sends a token to several services. @returns the failure of the token at each, undefined where it is valid */
async function verdictsOf(token: string): Promise<(string | undefined)[]> {
  const api = platform.as(token);
  const answers = await Promise.all([
    api.get('/v1/vehicles/status?view=fleet'),
    api.delete('/v1/device', { deviceId: 'none' }),
    api.get('/v1/vehicle/actions?vehicleId=1000000001'),
  ]);
  return answers.map(({ status, body }) => (status === 401 ? body.error : undefined));
}
const everywhere = (code: string | undefined) => [code, code, code];

describe('a token', () => {
  it('of a deleted user is rejected everywhere, and cannot be refreshed or issued again', async () => {
    const user = await logIn();
    expect(await verdictsOf(user.token)).toEqual(everywhere(undefined));
    await platform.db.updateTable('user_account').set({ deleted_at: new Date() }).where('id', '=', user.id).execute();
    expect(await verdictsOf(user.token)).toEqual(everywhere('INVALID_TOKEN'));
    const { appId, appKey } = application;
    const refresh = { appId, appKey, refresh_token: user.refreshToken };
    const refreshed = await platform.anonymous.post('/v1/refreshToken', refresh);
    expect([refreshed.status, refreshed.body.error]).toEqual([401, 'INVALID_TOKEN']);
    const again = await user.login();
    expect([again.status, again.body.error]).toEqual([401, 'INVALID_CREDENTIALS']);
  });

  it('that was not issued is rejected: one changed character, its own hash, a refresh token, the admin token', async () => {
    const { token, refreshToken } = await logIn();
    const last = token.at(-1) === 'A' ? 'B' : 'A';
    const forged = [
      token.slice(0, -1),
      `${token.slice(0, -4)}${last.repeat(4)}`,
      `${token}=`,
      token.toUpperCase(),
      hashSecret(token).toString('hex'),
      hashSecret(token).toString('base64url'),
      refreshToken,
      testAdminToken,
      `${token}, ${token}`,
      'null',
      "' or ''='",
      `eyJhbGciOiJub25lIn0.${btoa('{"sub":"1"}')}.`,
    ];
    for (const one of forged) expect([one, await verdictsOf(one)]).toEqual([one, everywhere('INVALID_TOKEN')]);
    expect(await verdictsOf(token)).toEqual(everywhere(undefined));
  });

  it('is accepted only in its header: not in the query, a cookie, the body or as a bearer token', async () => {
    const { token } = await logIn();
    const path = `/v1/vehicles/status?view=fleet&x-service-token=${token}&token=${token}`;
    for (const headers of [{ cookie: `x-service-token=${token}` }, { authorization: `Bearer ${token}` }]) {
      const { status, body } = await createApiClient(platform.httpUrl, headers).get(path);
      expect([status, body.error]).toEqual([401, 'MISSING_TOKEN']);
    }
  });
});
