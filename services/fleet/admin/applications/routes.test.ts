import { createApiClient } from '@odograph/testkit/api-client';
import { createApplication } from '@odograph/testkit/fixtures';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../../fleet.fixture.ts';

const { platform, admin, anonymous } = await startFleet();

describe('/v1/x/admin/applications', () => {
  it('creates an application that can sign in, and shows its appKey only once', async () => {
    const { body: created } = await admin.post('/v1/x/admin/applications', { name: 'Acme' });
    expect((await anonymous.post('/v1/login', created)).status).toBe(200);
    const { body: list } = await admin.get('/v1/x/admin/applications');
    expect(list.applications).toContainEqual(expect.objectContaining({ appId: created.appId, name: 'Acme' }));
    expect(JSON.stringify(list)).not.toContain(created.appKey);
  });

  it('changes the given settings of an application, and names malformed ones', async () => {
    const own = await createApplication(platform.db);
    const path = `/v1/x/admin/applications/${own.appId}`;
    expect((await admin.put(path, { timeZone: 'Europe/Paris', tariffPerKm: 0.35 })).body).toEqual({
      view: 'combined',
      timeZone: 'Europe/Paris',
      tariffPerKm: 0.35,
      tariffPerMinute: 0,
    });
    expect((await admin.put(path, { view: 'fleet' })).body).toMatchObject({ view: 'fleet', tariffPerKm: 0.35 });
    expect((await admin.put(path, { view: 'combined' })).body.view).toBe('combined');
    expect((await admin.put(path, { timeZone: 'Mars/Olympus' })).body).toMatchObject({ field: 'timeZone' });
    expect((await admin.put(path, { tariffPerKm: -1 })).body).toMatchObject({ field: 'tariffPerKm' });
    expect((await admin.put('/v1/x/admin/applications/none', {})).body.error).toBe('UNKNOWN_APPLICATION');
  });

  it('answers 401 with a challenge for browsers if the token is missing or wrong', async () => {
    const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
    const wrong = [
      [undefined, 'MISSING_TOKEN'],
      ['Bearer wrong', 'INVALID_TOKEN'],
      [basic('admin:wrong'), 'INVALID_TOKEN'],
      [basic(`other:${testAdminToken}`), 'MISSING_TOKEN'],
      [`Digest ${testAdminToken}`, 'MISSING_TOKEN'],
    ] as const;
    for (const [authorization, code] of wrong) {
      const client = createApiClient(platform.httpUrl, authorization === undefined ? {} : { authorization });
      const answer = await client.post('/v1/x/admin/applications', { name: 'intruder' });
      expect([answer.status, answer.headers.get('www-authenticate')?.split(' ')[0]]).toEqual([401, 'Basic']);
      expect(answer.body.error).toBe(code);
    }
    const browser = createApiClient(platform.httpUrl, { authorization: basic(`admin:${testAdminToken}`) });
    const { status, body } = await browser.get('/v1/x/admin/applications');
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toContain('intruder');
  });

  it('refuses requests from pages of another site with the stored password of a browser', async () => {
    const authorization = `Basic ${Buffer.from(`admin:${testAdminToken}`).toString('base64')}`;
    const create = (origin: string) =>
      createApiClient(platform.httpUrl, { authorization, origin }).post('/v1/x/admin/applications?name=forged');
    for (const origin of ['https://elsewhere.example', 'null']) {
      expect((await create(origin)).body.error).toBe('UNAUTHORIZED');
    }
    expect((await create(platform.httpUrl)).status).toBe(200);
  });
});
