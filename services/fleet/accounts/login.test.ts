import { randomInt, randomUUID } from 'node:crypto';
import { createSecret } from '@odograph/runtime/secrets';
import { clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { createApplication, createUser } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { fleetService } from '../service.ts';
import { hashPassword } from './passwords.ts';

const password = 'correct horse battery';
const { platform, application, anonymous } = await startFleet();
const credentials = () => ({ appId: application.appId, appKey: application.appKey });

const newUser = async (mustChangePassword = false) =>
  createUser(platform.db, application, { passwordHash: await hashPassword(password), mustChangePassword });

const works = async (token: string) =>
  (await clientWithToken(platform.httpUrl, token).delete('/v1/device', { deviceId: 'none' })).body.error;

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
    const settings = {
      QUEUE_PREFIX: `test-${randomUUID()}`,
      LOGIN_ATTEMPTS_PER_MINUTE: '3',
      HTTP_TRUST_PROXY: '1',
    };
    let replicas: TestPlatform[] = [];
    beforeAll(async () => {
      replicas = [await startTestPlatform([fleetService], settings), await startTestPlatform([fleetService], settings)];
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
