import { apiKeyScopes } from '@odograph/contracts/caller';
import { hashSecret } from '@odograph/runtime/secrets';
import { createApiClient, createBrowser } from '@odograph/testkit/api-client';
import { createApplication, createOperator, createUnlinkedVehicle, createUser } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application, api, admin, as } = await startFleet({ HTTP_TRUST_PROXY: '1' });
const { db, httpUrl } = platform;

let number = 0;
async function createKey(more: object = {}) {
  number += 1;
  const made = { appId: application.appId, name: `key-${number}`, scopes: apiKeyScopes, ...more };
  const { status, body } = await admin.post('/v1/x/admin/api-keys', made);
  expect([status, body.error]).toEqual([200, undefined]);
  return { id: body.id as string, key: body.key as string, name: `key-${number}` };
}
const withKey = (key: string, headers: Record<string, string> = {}) =>
  createApiClient(httpUrl, { 'x-service-token': key, ...headers });
const read = async (key: string, headers: Record<string, string> = {}) => {
  const { status, body } = await withKey(key, headers).get('/v1/parkings');
  return status === 200 ? 'read' : body.error;
};
const update = (id: string, set: { expires_at?: Date }) =>
  db.updateTable('api_key').set(set).where('id', '=', id).execute();

describe('an API key', () => {
  it('authenticates its application in either header, and is stored only as a hash', async () => {
    const { id, key } = await createKey();
    expect(key.startsWith(`${application.appId}.`)).toBe(true);
    expect(await read(key)).toBe('read');
    const bearer = createApiClient(httpUrl, { authorization: `Bearer ${key}` });
    expect((await bearer.get('/v1/parkings')).status).toBe(200);
    const { rows } = await sql<{
      row: string;
      sha256: Buffer;
    }>`select to_jsonb(api_key)::text as row, key_sha256 as sha256
      from api_key where id = ${id}`.execute(db);
    expect(rows[0]?.sha256).toEqual(hashSecret(key));
    expect(rows[0]?.row).not.toContain(key.split('.')[1]);
  });

  it('accesses only its own application, in application and operator routes', async () => {
    const { key } = await createKey();
    const other = await createApplication(db);
    const [own, foreign] = [await createUnlinkedVehicle(db, application), await createUnlinkedVehicle(db, other)];
    const client = withKey(key);
    expect((await client.get(`/v1/vehicle/${foreign}`)).body.error).toBe('UNKNOWN_VEHICLE');
    expect((await client.get(`/v1/x/admin/vehicles/${own}`)).status).toBe(200);
    expect((await client.get(`/v1/x/admin/vehicles/${foreign}`)).body.error).toBe('UNKNOWN_VEHICLE');
    expect((await client.get(`/v1/x/admin/users?appId=${other.appId}`)).body.error).toBe('UNKNOWN_APPLICATION');
    expect((await client.get('/v1/x/admin/operators')).body.error).toBe('NOT_FOUND');
  });

  it.each([
    ['read', [200, 403, 403]],
    ['write', [403, 400, 403]],
    ['commands', [403, 403, 403]],
    ['admin', [403, 403, 200]],
  ] as const)('with the scope %s may do what the routes declare and nothing else', async (scope, expected) => {
    const client = withKey((await createKey({ scopes: [scope] })).key);
    const answers = [
      await client.get('/v1/parkings'),
      await client.post('/v1/parkings', {}),
      await client.get(`/v1/x/admin/users?appId=${application.appId}`),
    ];
    expect(answers.map(({ status }) => status)).toEqual(expected);
  });

  it('creates shares only with the scopes write and read, because a link discloses positions', async () => {
    const vehicleId = await createUnlinkedVehicle(db, application);
    const share = async (scopes: readonly string[]) => {
      const until = new Date(Date.now() + 60_000).toISOString();
      return (await withKey((await createKey({ scopes })).key).post('/v1/x/shares', { vehicleId, until })).status;
    };
    expect([await share(['write']), await share(['read']), await share(['write', 'read'])]).toEqual([403, 403, 200]);
  });

  it('can be given the scope admin only by an operator', async () => {
    const { cookie } = await createOperator(db, { applicationIds: [application.id] });
    const operator = createBrowser(httpUrl, cookie, { 'x-application': application.appId });
    const create = (client: typeof api, scopes: readonly string[]) =>
      client.post('/v1/x/api-keys', { name: `own ${scopes.length}`, scopes });
    expect((await create(api, apiKeyScopes)).body.error).toBe('UNAUTHORIZED');
    expect((await create(api, ['read', 'write', 'commands'])).status).toBe(200);
    expect((await create(operator, apiKeyScopes)).status).toBe(200);
  });

  it('cannot manage API keys, and neither can a user', async () => {
    const { key, id } = await createKey();
    const user = await createUser(db, application);
    for (const client of [withKey(key), as(user.token)]) {
      const answers = [
        await client.post('/v1/x/api-keys', { name: 'another', scopes: ['read'] }),
        await client.get('/v1/x/api-keys'),
        await client.delete(`/v1/x/api-keys/${id}`),
      ];
      expect(answers.map(({ body }) => body.error)).toEqual(['UNAUTHORIZED', 'UNAUTHORIZED', 'UNAUTHORIZED']);
    }
    const body = { appId: application.appId, name: 'another', scopes: ['read'] };
    expect((await withKey(key).post('/v1/x/admin/api-keys', body)).body.error).toBe('UNAUTHORIZED');
  });

  it('is rejected from other networks, after its expiry, and when it or its application is deleted', async () => {
    const { key } = await createKey({ networks: ['192.0.2.0/24', '2001:db8::1'] });
    const from = (address: string) => read(key, { 'x-forwarded-for': address });
    expect([await from('192.0.2.77'), await from('2001:db8::1')]).toEqual(['read', 'read']);
    expect([await from('198.51.100.1'), await from('2001:db8::2')]).toEqual(['INVALID_TOKEN', 'INVALID_TOKEN']);

    const ending = await createKey({ expiresAt: Math.floor(Date.now() / 1000) + 3600 });
    expect(await read(ending.key)).toBe('read');
    await update(ending.id, { expires_at: new Date() });
    expect(await read(ending.key)).toBe('TOKEN_EXPIRED');

    const deleted = await createKey();
    expect((await api.delete(`/v1/x/api-keys/${deleted.id}`)).status).toBe(200);
    expect(await read(deleted.key)).toBe('INVALID_TOKEN');

    const other = await createApplication(db);
    const created = await as(other.token).post('/v1/x/api-keys', { name: 'own', scopes: ['read'] });
    await admin.delete(`/v1/x/admin/applications/${other.appId}`);
    expect(await read(created.body.key)).toBe('INVALID_TOKEN');
    expect(await read(`${application.appId}.${'x'.repeat(43)}`)).toBe('INVALID_TOKEN');
  });

  it('is listed with the time of its last use, to the minute', async () => {
    const { id, key, name } = await createKey({ scopes: ['write', 'read'], networks: ['127.0.0.0/8'] });
    const find = async () =>
      (await api.get('/v1/x/api-keys')).body.apiKeys.find((one: { id: string }) => one.id === id);
    expect(await find()).toMatchObject({ name, scopes: ['read', 'write'], networks: ['127.0.0.0/8'], usedAt: null });
    const before = Math.floor(Date.now() / 60_000) * 60_000;
    expect(await read(key)).toBe('read');
    const { usedAt } = await find();
    expect(new Date(usedAt).getTime()).toBeGreaterThanOrEqual(before);
    expect(usedAt).toMatch(/:00\.000Z$/);
    const listed = await admin.get(`/v1/x/admin/api-keys?appId=${application.appId}`);
    expect(listed.body.apiKeys).toContainEqual(await find());
  });

  it('is recorded as the actor in the audit', async () => {
    const { key, name } = await createKey();
    const vehicleId = await createUnlinkedVehicle(db, application);
    await withKey(key).post('/v1/vehicle/privacy/on', { vehicleId });
    await withKey(key).put(`/v1/x/admin/vehicles/${vehicleId}`, { tankLitres: 40 });
    const { rows } = await sql<{ actor: string; action: string }>`select actor, action from audit
      where chain = ${application.id} and (actor = ${`api-key:${name}`} or subject = ${`api-key:${name}`})
      order by position`.execute(db);
    expect(rows.map(({ actor, action }) => `${actor} ${action}`)).toEqual([
      'operator api-key.create',
      `api-key:${name} privacy.on`,
      `api-key:${name} vehicle.change`,
    ]);
  });

  it('does not replay the answer of another key or of the application for the same Idempotency-Key', async () => {
    const [one, other] = [await createKey(), await createKey()];
    const create = async (key: string) => {
      const body = { username: 'repeated', password: 'correct horse', appId: application.appId };
      return withKey(key).post('/v1/x/admin/users', body, { 'idempotency-key': 'same' });
    };
    expect((await create(one.key)).status).toBe(200);
    expect((await create(one.key)).headers.get('idempotency-replayed')).toBe('true');
    expect((await create(other.key)).body.error).toBe('ALREADY_EXISTS');
  });

  it.each([
    ['name', { name: '' }],
    ['scopes', { scopes: [] }],
    ['scopes', { scopes: ['everything'] }],
    ['networks', { networks: ['192.0.2.0/33'] }],
    ['networks', { networks: ['192.0.2.1,198.51.100.1'] }],
    ['expiresAt', { expiresAt: '2020-01-01' }],
    ['expiresAt', { expiresAt: 'tomorrow' }],
  ])('is not created with a malformed %s', async (field, fault) => {
    const { body } = await api.post('/v1/x/api-keys', { name: 'faulty', scopes: ['read'], ...fault });
    expect(body.error).toBe('INVALID_PARAMETER');
    expect(body.field.split('.')[0]).toBe(field);
  });

  it('has a unique name in its application, which has at most 100 keys', async () => {
    const other = await createApplication(db);
    const create = (name: string) => as(other.token).post('/v1/x/api-keys', { name, scopes: ['read'] });
    const answers = await Promise.all(Array.from({ length: 101 }, (_, index) => create(`key ${index}`)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    expect(answers.filter(({ body }) => body.error === 'TOO_MANY')).toHaveLength(1);
    const { body } = await as(other.token).get('/v1/x/api-keys');
    await as(other.token).delete(`/v1/x/api-keys/${body.apiKeys[0].id}`);
    expect((await create(body.apiKeys[1].name.toUpperCase())).body.error).toBe('ALREADY_EXISTS');
  });
});

describe('an operator', () => {
  it('manages the API keys of the applications that the operator sees', async () => {
    const other = await createApplication(db);
    const limited = createBrowser(httpUrl, (await createOperator(db, { applicationIds: [other.id] })).cookie);
    const create = (appId: string) => limited.post('/v1/x/admin/api-keys', { appId, name: 'made', scopes: ['read'] });
    const { body } = await create(other.appId);
    expect(await read(body.key)).toBe('read');
    expect((await create(application.appId)).body.error).toBe('UNKNOWN_APPLICATION');
    expect((await limited.delete(`/v1/x/admin/api-keys/${(await createKey()).id}`)).body.error).toBe('NOT_FOUND');
    expect((await limited.delete(`/v1/x/admin/api-keys/${body.id}`)).status).toBe(200);
    expect(await read(body.key)).toBe('INVALID_TOKEN');
  });
});
