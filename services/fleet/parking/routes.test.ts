import { randomUUID } from 'node:crypto';
import { type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import { createApplication, createToken, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fleetService } from '../service.ts';

let platform: TestPlatform;
let application: TestApplication;
let api: ApiClient;
let foreign: ApiClient;

const fields = {
  name: 'Gare de Lyon',
  address: '1 place Louis-Armand',
  address2: 'level -2',
  zipcode: '75012',
  city: 'Paris',
  country: 'France',
};
const codes = [
  ['name', 'MISSING_NAME'],
  ['address', 'MISSING_ADDRESS'],
  ['zipcode', 'MISSING_ZIPCODE'],
  ['city', 'MISSING_CITY'],
  ['country', 'MISSING_COUNTRY'],
] as const;

beforeAll(async () => {
  platform = await startTestPlatform([fleetService]);
  application = await createApplication(platform.db);
  api = clientWithToken(platform.httpUrl, application.token);
  foreign = clientWithToken(platform.httpUrl, (await createApplication(platform.db)).token);
});
afterAll(() => platform?.stop());

async function createSpot(client = api, more: object = {}): Promise<string> {
  const { status, body } = await client.post('/v1/parkings', { ...fields, ...more });
  expect([status, Object.keys(body)]).toEqual([200, ['parking_id']]);
  return body.parking_id;
}

async function userClient(vehicleIds: string[]): Promise<ApiClient> {
  const { id } = await platform.db
    .insertInto('user_account')
    .values({ application_id: application.id, username: randomUUID(), password_hash: '-' })
    .returning('id')
    .executeTakeFirstOrThrow();
  for (const vehicleId of vehicleIds) {
    await platform.db
      .insertInto('vehicle_grant')
      .values({ user_id: id, vehicle_id: Number(vehicleId) })
      .execute();
  }
  return clientWithToken(platform.httpUrl, await createToken(platform.db, application.id, id));
}

const answerOf = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];
const unknownIds = ['none', '1', randomUUID(), '%00', 'x'.repeat(200)];

describe('/v1/parkings', () => {
  it('creates a spot and answers exactly its documented fields', async () => {
    const id = await createSpot();
    const { status, body } = await api.get(`/v1/parkings/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({ id, shortId: expect.stringMatching(/^[A-HJKMNP-TV-Z2-9]{6}$/), ...fields });
  });

  it('creates a spot without address2, also from a query string', async () => {
    const { address2: _address2, ...needed } = fields;
    const { body } = await api.post(`/v1/parkings?${new URLSearchParams(needed).toString()}`);
    expect((await api.get(`/v1/parkings/${body.parking_id}`)).body).toMatchObject({ ...needed, address2: '' });
  });

  it.each(codes)('answers for a new spot whose %s is missing, null, empty or blank %s', async (field, code) => {
    for (const value of [undefined, null, '', ' \t']) {
      const answer = await api.post('/v1/parkings', { ...fields, [field]: value });
      expect(answerOf(answer)).toEqual([400, code]);
      expect(answer.body.field).toBe(field);
    }
  });

  it.each([{}, ['a'], 'a\0b', 'x'.repeat(257)])('names a field that holds %j', async (city) => {
    const { status, body } = await api.post('/v1/parkings', { ...fields, city });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'city']);
  });

  it('lists the spots of the application by name, and no others', async () => {
    const other = await createApplication(platform.db);
    const theirs = clientWithToken(platform.httpUrl, other.token);
    expect((await theirs.get('/v1/parkings')).body).toEqual({ parkings: [] });
    const second = await createSpot(theirs, { name: 'B' });
    const first = await createSpot(theirs, { name: 'A' });
    const { body } = await theirs.get('/v1/parkings');
    expect(body.parkings.map(({ id }: { id: string }) => id)).toEqual([first, second]);
    expect(body.parkings[0]).toEqual((await theirs.get(`/v1/parkings/${first}`)).body);
  });

  it('changes only the fields that are given, and answers the whole spot', async () => {
    const id = await createSpot();
    const before = (await api.get(`/v1/parkings/${id}`)).body;
    const { status, body } = await api.post(`/v1/parkings/${id}`, { city: 'Lyon', address2: '' });
    expect([status, body]).toEqual([200, { ...before, city: 'Lyon', address2: '' }]);
    expect((await api.post(`/v1/parkings/${id}`)).body).toEqual(body);
    expect((await api.get(`/v1/parkings/${id}`)).body).toEqual(body);
  });

  it.each(codes)('answers for a change that empties %s %s, and changes nothing', async (field, code) => {
    const id = await createSpot();
    expect(answerOf(await api.post(`/v1/parkings/${id}`, { address2: 'new', [field]: '' }))).toEqual([400, code]);
    expect((await api.get(`/v1/parkings/${id}`)).body.address2).toBe(fields.address2);
  });

  it('deletes a spot, and its vehicles have none then', async () => {
    const [id, vehicle] = [await createSpot(), await createVehicle(platform.db, application)];
    await api.post(`/v1/vehicle/${vehicle.id}/parking`, { parkingId: id });
    const { status, body } = await api.delete(`/v1/parkings/${id}`);
    expect([status, body]).toEqual([200, { deleted: true }]);
    expect(answerOf(await api.get(`/v1/vehicle/${vehicle.id}/parking`))).toEqual([404, 'NO_PARKING']);
    expect(answerOf(await api.delete(`/v1/parkings/${id}`))).toEqual([404, 'NOT_FOUND']);
  });

  it('answers NOT_FOUND for a spot of another application as for one that does not exist', async () => {
    const id = await createSpot();
    for (const [client, unknown] of [[foreign, id] as const, ...unknownIds.map((one) => [api, one] as const)]) {
      for (const answer of [
        await client.get(`/v1/parkings/${unknown}`),
        await client.post(`/v1/parkings/${unknown}`, { name: '' }),
        await client.post(`/v1/parkings/${unknown}`, { name: 'stolen' }),
        await client.delete(`/v1/parkings/${unknown}`),
      ]) {
        expect([answer.status, answer.body]).toEqual([404, { error: 'NOT_FOUND', message: 'no such resource' }]);
      }
    }
    expect((await api.get(`/v1/parkings/${id}`)).body.name).toBe(fields.name);
  });

  it('lets a user read spots but not change them', async () => {
    const [id, user] = [await createSpot(), await userClient([])];
    expect((await user.get(`/v1/parkings/${id}`)).body.id).toBe(id);
    for (const answer of [
      await user.post('/v1/parkings', fields),
      await user.post(`/v1/parkings/${id}`, { name: 'x' }),
      await user.delete(`/v1/parkings/${id}`),
    ]) {
      expect(answerOf(answer)).toEqual([403, 'UNAUTHORIZED']);
    }
  });
});

describe('/v1/vehicle/{id}/parking', () => {
  it('assigns a vehicle, moves it to another spot and takes it away', async () => {
    const [first, second] = [await createSpot(), await createSpot(api, { name: 'Nord' })];
    const path = `/v1/vehicle/${(await createVehicle(platform.db, application)).id}/parking`;
    expect(answerOf(await api.get(path))).toEqual([404, 'NO_PARKING']);
    for (const parkingId of [first, second, second]) {
      const { status, body } = await api.post(path, { parkingId });
      expect([status, body]).toEqual([200, { updated: true }]);
      expect((await api.get(path)).body).toEqual((await api.get(`/v1/parkings/${parkingId}`)).body);
    }
    expect((await api.delete(path)).body).toEqual({ deleted: true });
    expect(answerOf(await api.get(path))).toEqual([404, 'NO_PARKING']);
    expect((await api.delete(path)).body).toEqual({ deleted: false });
  });

  it('answers MISSING_PARKING without a spot, and NOT_FOUND for one that does not exist or is not theirs', async () => {
    const path = `/v1/vehicle/${(await createVehicle(platform.db, application)).id}/parking`;
    for (const parameters of [{}, { parkingId: '' }, { parkingId: null }]) {
      expect(answerOf(await api.post(path, parameters))).toEqual([400, 'MISSING_PARKING']);
    }
    for (const parkingId of [await createSpot(foreign), randomUUID(), 'none', 'a\0b']) {
      expect(answerOf(await api.post(path, { parkingId }))).toEqual([404, 'NOT_FOUND']);
    }
    expect(answerOf(await api.get(path))).toEqual([404, 'NO_PARKING']);
  });

  it('answers UNKNOWN_VEHICLE for a vehicle of another application or one a user is not granted', async () => {
    const [parkingId, hidden] = [await createSpot(), await createVehicle(platform.db, application)];
    const granted = await createVehicle(platform.db, application);
    const user = await userClient([granted.id]);
    await api.post(`/v1/vehicle/${hidden.id}/parking`, { parkingId });
    for (const [client, id] of [[foreign, hidden.id] as const, [user, hidden.id] as const, [api, '1'] as const]) {
      const path = `/v1/vehicle/${id}/parking`;
      for (const answer of [
        await client.get(path),
        await client.post(path, { parkingId }),
        await client.post(path),
        await client.delete(path),
      ]) {
        expect([answer.status, answer.body]).toEqual([404, { error: 'UNKNOWN_VEHICLE', message: 'no such vehicle' }]);
      }
    }
    expect((await user.post(`/v1/vehicle/${granted.id}/parking`, { parkingId })).status).toBe(200);
    expect((await api.get(`/v1/vehicle/${hidden.id}/parking`)).body.id).toBe(parkingId);
  });

  it('answers VEHICLE_NOT_AVAILABLE for an archived vehicle, which can still be taken away', async () => {
    const [parkingId, vehicle] = [await createSpot(), await createVehicle(platform.db, application)];
    const path = `/v1/vehicle/${vehicle.id}/parking`;
    await api.post(path, { parkingId });
    await platform.db
      .updateTable('vehicle')
      .set({ archived_at: new Date() })
      .where('id', '=', Number(vehicle.id))
      .execute();
    expect(answerOf(await api.post(path, { parkingId }))).toEqual([409, 'VEHICLE_NOT_AVAILABLE']);
    expect((await api.get(path)).body.id).toBe(parkingId);
    expect((await api.delete(path)).body).toEqual({ deleted: true });
  });
});
