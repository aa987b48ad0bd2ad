import { clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { createApplication, createUser, createVehicle } from '@odograph/testkit/fixtures';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application, api, admin, anonymous } = await startFleet();

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
      deviceUploadsPerSecond: 0,
      deviceBytesPerSecond: 0,
      version: expect.any(String),
    });
    expect((await admin.put(path, { view: 'fleet' })).body).toMatchObject({ view: 'fleet', tariffPerKm: 0.35 });
    expect((await admin.put(path, { view: 'combined' })).body.view).toBe('combined');
    expect((await admin.put(path, { timeZone: 'Mars/Olympus' })).body).toMatchObject({ field: 'timeZone' });
    expect((await admin.put(path, { tariffPerKm: -1 })).body).toMatchObject({ field: 'tariffPerKm' });
    expect((await admin.put(path, { deviceUploadsPerSecond: 1.5 })).body).toMatchObject({
      field: 'deviceUploadsPerSecond',
    });
    expect((await admin.put('/v1/x/admin/applications/none', {})).body.error).toBe('UNKNOWN_APPLICATION');
  });

  it('shows the settings, and refuses a change that is based on other ones', async () => {
    const path = `/v1/x/admin/applications/${(await createApplication(platform.db)).appId}`;
    const { body: seen } = await admin.get(path);
    expect(seen).toMatchObject({ view: 'combined', tariffPerKm: 0 });
    const { body: changed } = await admin.put(path, { tariffPerKm: 2, version: seen.version });
    expect(changed.tariffPerKm).toBe(2);
    const { status, body } = await admin.put(path, { tariffPerMinute: 3, version: seen.version });
    expect([status, body.error]).toEqual([412, 'CHANGED_MEANWHILE']);
    expect((await admin.get(path)).body).toEqual(changed);
    expect((await admin.get('/v1/x/admin/applications/missing')).body.error).toBe('UNKNOWN_APPLICATION');
  });

  it('sets the rates of the devices of an application, and returns to those of the platform with 0', async () => {
    const own = await createApplication(platform.db);
    const path = `/v1/x/admin/applications/${own.appId}`;
    const set = { deviceUploadsPerSecond: 500, deviceBytesPerSecond: 4_000_000 };
    expect((await admin.put(path, set)).body).toMatchObject(set);
    expect((await admin.put(path, { deviceUploadsPerSecond: 0 })).body).toMatchObject({
      deviceUploadsPerSecond: 0,
      deviceBytesPerSecond: 4_000_000,
    });
  });

  it('rotates the appKey: the old one stays valid during the overlap only', async () => {
    const { body: first } = await admin.post('/v1/x/admin/applications', { name: 'Rotating' });
    const key = `/v1/x/admin/applications/${first.appId}/key`;
    const login = async ({ appId, appKey }: { appId: string; appKey: string }) =>
      (await anonymous.post('/v1/login', { appId, appKey })).status;
    const { body: second } = await admin.post(key);
    expect([await login(first), await login(second)]).toEqual([200, 200]);
    const { previous_app_key_until: until } = await platform.db
      .selectFrom('application')
      .select('previous_app_key_until')
      .where('app_id', '=', first.appId)
      .executeTakeFirstOrThrow();
    expect(Math.abs(Number(until) - Date.now() - 24 * 3_600_000)).toBeLessThan(10_000);
    await sql`update application set previous_app_key_until = now() where app_id = ${first.appId}`.execute(platform.db);
    expect([await login(first), await login(second)]).toEqual([401, 200]);
    const { body: third } = await admin.post(key, { overlapHours: 2 });
    expect([await login(first), await login(second), await login(third)]).toEqual([401, 200, 200]);
    const { body: fourth } = await admin.post(key, { overlapHours: 0 });
    expect([await login(second), await login(third), await login(fourth)]).toEqual([401, 401, 200]);
    expect((await admin.post(key, { overlapHours: 721 })).body.field).toBe('overlapHours');
    expect((await admin.post('/v1/x/admin/applications/none/key')).body.error).toBe('UNKNOWN_APPLICATION');
  });

  it('ends all sessions of an application and its users, and no others', async () => {
    const own = await createApplication(platform.db);
    const user = await createUser(platform.db, own);
    const refused = async (token: string) =>
      (await clientWithToken(platform.httpUrl, token).delete('/v1/device', { deviceId: 'none' })).body.error;
    const { body } = await admin.delete(`/v1/x/admin/applications/${own.appId}/sessions`);
    expect(body).toEqual({ ended: 2 });
    for (const token of [own.token, user.token]) expect(await refused(token)).toBe('INVALID_TOKEN');
    expect(await refused(application.token)).toBe('UNKNOWN_DEVICE');
    const { appId, appKey } = own;
    expect((await anonymous.post('/v1/login', { appId, appKey })).status).toBe(200);
  });

  it('deletes an application with its users and vehicles, and no others', async () => {
    const own = await createApplication(platform.db);
    const { appId, appKey } = own;
    const [vehicle, other] = [await createVehicle(platform.db, own), await createVehicle(platform.db, application)];
    const user = await createUser(platform.db, own, { vehicleIds: [vehicle.id] });
    const path = `/v1/x/admin/applications/${appId}`;
    for (let round = 0; round < 2; round += 1) expect((await admin.delete(path)).status).toBe(200);
    for (const token of [own.token, user.token]) {
      const { body } = await clientWithToken(platform.httpUrl, token).get(`/v1/vehicle/${vehicle.id}`);
      expect(body.error).toBe('INVALID_TOKEN');
    }
    expect((await anonymous.post('/v1/login', { appId, appKey })).body.error).toBe('INVALID_CREDENTIALS');
    expect((await admin.get(`/v1/x/admin/vehicles?appId=${appId}`)).body.error).toBe('UNKNOWN_APPLICATION');
    expect((await admin.put(path, { view: 'fleet' })).body.error).toBe('UNKNOWN_APPLICATION');
    const { rows } = await sql`select deleted_at is not null as deleted, vehicle_purge.vehicle_id is not null as purged
      from vehicle left join vehicle_purge on vehicle_id = id where id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(rows).toEqual([{ deleted: true, purged: true }]);
    expect((await admin.post(`/v1/x/admin/devices/${vehicle.deviceId}/release`)).status).toBe(200);
    expect((await api.get(`/v1/vehicle/${other.id}`)).body.deviceId).toBe(other.deviceId);
    expect((await admin.delete('/v1/x/admin/applications/none')).body.error).toBe('UNKNOWN_APPLICATION');
  });

  it('answers 401 with a challenge if the token is missing or wrong, and accepts no basic authentication', async () => {
    const wrong = [
      [undefined, 'MISSING_TOKEN'],
      ['Bearer wrong', 'INVALID_TOKEN'],
      [`Basic ${Buffer.from(`admin:${testAdminToken}`).toString('base64')}`, 'MISSING_TOKEN'],
      [`Digest ${testAdminToken}`, 'MISSING_TOKEN'],
    ] as const;
    for (const [authorization, code] of wrong) {
      const client = createApiClient(platform.httpUrl, authorization === undefined ? {} : { authorization });
      const answer = await client.post('/v1/x/admin/applications', { name: 'intruder' });
      expect([answer.status, answer.headers.get('www-authenticate')?.split(' ')[0]]).toEqual([401, 'Bearer']);
      expect(answer.body.error).toBe(code);
    }
    const { body } = await admin.get('/v1/x/admin/applications');
    expect(JSON.stringify(body)).not.toContain('intruder');
  });
});
