import { once } from 'node:events';
import { deviceRevokedChannel } from '@odograph/contracts/presence';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { type ApiClient, createApiClient } from '@odograph/testkit/api-client';
import { createApplication, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fleetService } from '../service.ts';

let platform: TestPlatform;
let admin: ApiClient;
let application: TestApplication;

beforeAll(async () => {
  platform = await startTestPlatform([fleetService]);
  admin = createApiClient(platform.httpUrl, { authorization: `Bearer ${testAdminToken}` });
  application = await createApplication(platform.db);
});
afterAll(() => platform?.stop());

const newId = () => `test-${createSecret().slice(0, 20)}`;
const newPlate = () =>
  createSecret()
    .replace(/[^A-Za-z0-9]/g, '')
    .slice(0, 20);
const enterVehicle = async (appId = application.appId): Promise<string> =>
  (await admin.post('/v1/x/admin/vehicles', { appId, plate: newPlate() })).body.id;
const enterDevice = async (more: object = {}): Promise<string> =>
  (await admin.post('/v1/x/admin/devices', { id: newId(), model: 'generic', ...more })).body.deviceId;

describe('/v1/x/admin', () => {
  it('answers 401 and asks a browser for the password without a token or with a wrong one', async () => {
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

  it('keeps what is set for an application and a vehicle, and names what is malformed', async () => {
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
    const id = await enterVehicle(own.appId);
    expect((await admin.put(`/v1/x/admin/vehicles/${id}`, { tankLitres: 45 })).body).toEqual({ id, tankLitres: 45 });
    expect((await admin.put('/v1/x/admin/vehicles/1999999999', { tankLitres: 45 })).body.error).toBe('UNKNOWN_VEHICLE');
  });

  it('does not let the page of another site use the password a browser remembers', async () => {
    const authorization = `Basic ${Buffer.from(`admin:${testAdminToken}`).toString('base64')}`;
    const create = (origin: string) =>
      createApiClient(platform.httpUrl, { authorization, origin }).post('/v1/x/admin/applications?name=forged');
    for (const origin of ['https://elsewhere.example', 'null']) {
      expect((await create(origin)).body.error).toBe('UNAUTHORIZED');
    }
    expect((await create(platform.httpUrl)).status).toBe(200);
  });

  it('creates an application that can log in, and never shows its key again', async () => {
    const { body: created } = await admin.post('/v1/x/admin/applications', { name: 'Acme' });
    expect((await createApiClient(platform.httpUrl).post('/v1/login', created)).status).toBe(200);
    const { body: list } = await admin.get('/v1/x/admin/applications');
    expect(list.applications).toContainEqual(expect.objectContaining({ appId: created.appId, name: 'Acme' }));
    expect(JSON.stringify(list)).not.toContain(created.appKey);
  });

  it('creates a user with a password of 8 characters, whose name is taken once in an application', async () => {
    const user = { appId: application.appId, username: newId(), password: '12345678', mustChangePassword: true };
    const { status, body } = await admin.post('/v1/x/admin/users', user);
    expect(status).toBe(200);
    const { appId, appKey } = application;
    const login = await createApiClient(platform.httpUrl).post('/v1/login', { appKey, ...user });
    expect(login.body.update_password).toBe(true);

    const refused = async (change: object) =>
      (await admin.post('/v1/x/admin/users', { ...user, ...change })).body.error;
    expect(await refused({ username: user.username.toUpperCase() })).toBe('ALREADY_EXISTS');
    expect(await refused({ password: '1234567' })).toBe('INVALID_PASSWORD_LENGTH');
    expect(await refused({ appId: 'none' })).toBe('UNKNOWN_APPLICATION');
    const { body: list } = await admin.get(`/v1/x/admin/users?appId=${appId}`);
    expect(list.users).toContainEqual({
      userId: body.userId,
      username: user.username,
      mustChangePassword: true,
      vehicleIds: [],
    });
  });

  it('grants a user vehicles of its own application only, and takes a grant back', async () => {
    const { body: user } = await admin.post('/v1/x/admin/users', {
      appId: application.appId,
      username: newId(),
      password: '12345678',
    });
    const own = await enterVehicle();
    const foreign = await enterVehicle((await createApplication(platform.db)).appId);
    const grants = `/v1/x/admin/users/${user.userId}/vehicles`;
    expect((await admin.post(grants, { vehicleId: own })).status).toBe(200);
    expect((await admin.post(grants, { vehicleId: own })).status).toBe(200);
    for (const vehicleId of [foreign, '1', 'x\0', '9999999999']) {
      const { status, body } = await admin.post(grants, { vehicleId });
      expect([400, 404]).toContain(status);
      expect(['UNKNOWN_VEHICLE', 'INVALID_PARAMETER']).toContain(body.error);
    }
    for (const userId of ['none', '00000000-0000-0000-0000-000000000000', '%00']) {
      const { body } = await admin.post(`/v1/x/admin/users/${userId}/vehicles`, { vehicleId: own });
      expect(body.error).toBe('UNKNOWN_USER');
    }
    expect((await admin.delete(`${grants}/${own}`)).status).toBe(200);
    expect((await admin.delete(`${grants}/${own}`)).body.error).toBe('NOT_FOUND');
  });

  it('enters a vehicle with an id of ten digits; its plate is taken once however it is written', async () => {
    const plate = `AB-${newPlate()}`;
    const vehicle = {
      appId: application.appId,
      plate,
      vin: 'VF1AG000000000001',
      brand: 'Renault',
      model: 'Zoe',
      energy: 'EL',
      seats: '5',
      gearbox: 'AUTOMATIC',
      kind: 'VP',
      accessories: ['CARDHOLDER'],
    };
    const { body } = await admin.post('/v1/x/admin/vehicles', vehicle);
    expect(body.id).toMatch(/^\d{10}$/);
    const again = await admin.post('/v1/x/admin/vehicles', {
      ...vehicle,
      plate: plate.toLowerCase().replace('-', ' '),
    });
    expect([again.status, again.body.error]).toEqual([409, 'ALREADY_EXISTS']);
    const other = await createApplication(platform.db);
    expect((await admin.post('/v1/x/admin/vehicles', { ...vehicle, appId: other.appId })).status).toBe(200);
    const { body: page } = await admin.get(
      `/v1/x/admin/vehicles?appId=${application.appId}&after=${Number(body.id) - 1}&limit=1`,
    );
    const { appId: _, ...described } = vehicle;
    expect(page.vehicles).toEqual([{ ...described, seats: 5, id: body.id, archived: false, deviceId: null }]);
  });

  it.each([
    ['plate', { plate: '' }],
    ['plate', { plate: '---' }],
    ['plate', { plate: 'A\0B' }],
    ['plate', { plate: 'A'.repeat(33) }],
    ['vin', { vin: 'V\0' }],
    ['seats', { seats: -1 }],
    ['gearbox', { gearbox: 'BOTH' }],
    ['accessories.0', { accessories: ['RADIO'] }],
  ])('names %s when a vehicle is malformed', async (field, change) => {
    const vehicle = { appId: application.appId, plate: newPlate(), ...change };
    const { status, body } = await admin.post('/v1/x/admin/vehicles', vehicle);
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it.each([
    ['id', { id: 'a/b' }],
    ['id', { id: 'a+' }],
    ['id', { id: '' }],
    ['id', { id: 'odograph-command' }],
    ['model', { model: 'none' }],
    ['model', { model: undefined }],
  ])('names %s when a device is malformed', async (field, change) => {
    const { status, body } = await admin.post('/v1/x/admin/devices', { id: newId(), model: 'generic', ...change });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('enters a device once, stores the hash of its secret, and leaves nothing behind when its vehicle is taken', async () => {
    const vehicleId = await enterVehicle();
    const id = newId();
    const { body } = await admin.post('/v1/x/admin/devices', { id, model: 'obd', vehicleId });
    const row = await platform.db.selectFrom('device').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(row).toMatchObject({ model_id: 'obd', application_id: application.id });
    expect(row.secret_sha256).toEqual(hashSecret(body.secret));
    expect(JSON.stringify((await admin.get(`/v1/x/admin/devices?appId=${application.appId}`)).body)).not.toContain(
      body.secret,
    );
    const refused = async (device: object) =>
      (await admin.post('/v1/x/admin/devices', { model: 'generic', ...device })).body.error;
    expect(await refused({ id })).toBe('ALREADY_EXISTS');
    const second = newId();
    expect(await refused({ id: second, vehicleId })).toBe('VEHICLE_ALREADY_LINKED');
    expect(await refused({ id: second, vehicleId: '1999999999' })).toBe('UNKNOWN_VEHICLE');
    expect(
      (await admin.get(`/v1/x/admin/devices?after=${second.slice(0, -1)}&limit=1`)).body.devices[0]?.deviceId,
    ).not.toBe(second);
  });

  it('replaces a secret and tells the brokers to end the session', async () => {
    const id = await enterDevice();
    const redis = connectRedis(platform.config.REDIS_URL, createLogger('silent'));
    await once(redis, 'ready');
    await redis.subscribe(deviceRevokedChannel(platform.config.QUEUE_PREFIX));
    const told = once(redis, 'message');
    const { body } = await admin.post(`/v1/x/admin/devices/${id}/secret`);
    expect((await told)[1]).toBe(id);
    redis.disconnect();
    const row = await platform.db.selectFrom('device').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(row.secret_sha256).toEqual(hashSecret(body.secret));
    expect((await admin.post('/v1/x/admin/devices/none/secret')).body.error).toBe('UNKNOWN_DEVICE');
  });

  it('keeps the old secret beside the new one for as long as it is told to', async () => {
    const id = await enterDevice();
    const rowOf = () => platform.db.selectFrom('device').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const old = (await rowOf()).secret_sha256;
    const { body } = await admin.post(`/v1/x/admin/devices/${id}/secret`, { overlapSeconds: 3600 });
    const row = await rowOf();
    expect([row.secret_sha256, row.previous_secret_sha256]).toEqual([hashSecret(body.secret), old]);
    expect(Math.abs((row.previous_secret_until?.getTime() ?? 0) - Date.now() - 3_600_000)).toBeLessThan(10_000);
    await admin.post(`/v1/x/admin/devices/${id}/secret`);
    expect(await rowOf()).toMatchObject({ previous_secret_sha256: null, previous_secret_until: null });
    for (const overlapSeconds of [-1, 0.5, 30 * 86_400 + 1, 'x']) {
      const { status, body: failure } = await admin.post(`/v1/x/admin/devices/${id}/secret`, { overlapSeconds });
      expect([status, failure.field]).toEqual([400, 'overlapSeconds']);
    }
  });

  it('revokes the certificates issued to a device so far', async () => {
    const id = await enterDevice();
    expect((await admin.delete(`/v1/x/admin/devices/${id}/certificates`)).status).toBe(200);
    const row = await platform.db.selectFrom('device').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(Math.abs((row.certificates_issued_from?.getTime() ?? 0) - Date.now())).toBeLessThan(10_000);
    expect((await admin.delete('/v1/x/admin/devices/none/certificates')).body.error).toBe('UNKNOWN_DEVICE');
  });

  it('links, moves and unlinks a device by the rules of /v1/device', async () => {
    const [first, second] = [await enterVehicle(), await enterVehicle()];
    const foreign = await enterVehicle((await createApplication(platform.db)).appId);
    const link = `/v1/x/admin/devices/${await enterDevice()}/link`;
    const sitsIn = async () => {
      const { body } = await admin.get(`/v1/x/admin/vehicles?appId=${application.appId}&after=${Number(first) - 1}`);
      return body.vehicles
        .filter((vehicle: { deviceId: unknown }) => vehicle.deviceId)
        .map(({ id }: { id: string }) => id);
    };
    expect((await admin.delete(link)).status).toBe(200);
    expect((await admin.post(link, { vehicleId: first })).status).toBe(200);
    expect((await admin.post(link, { vehicleId: second })).body.error).toBe('DEVICE_ALREADY_LINKED');
    expect((await admin.put(link, { vehicleId: foreign })).body.error).toBe('UNKNOWN_DEVICE');
    expect(await sitsIn()).toEqual([first]);
    expect((await admin.put(link, { vehicleId: second })).status).toBe(200);
    expect(await sitsIn()).toEqual([second]);
    expect((await admin.delete(link)).status).toBe(200);
    expect(await sitsIn()).toEqual([]);
    for (const answer of [
      await admin.delete('/v1/x/admin/devices/none/link'),
      await admin.post('/v1/x/admin/devices/none/link', { vehicleId: first }),
      await admin.put('/v1/x/admin/devices/none/link', { vehicleId: first }),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([404, 'UNKNOWN_DEVICE']);
    }
  });

  it('keeps no secret of a device in plain text', async () => {
    const { body } = await admin.post('/v1/x/admin/devices', { id: newId(), model: 'generic' });
    const { rows } = await sql<{ row: string }>`select to_jsonb(device)::text as row from device`.execute(platform.db);
    const text = rows.map(({ row }) => row).join('\n');
    expect(text).toContain(hashSecret(body.secret).toString('hex'));
    expect(text).not.toContain(body.secret);
  });
});
