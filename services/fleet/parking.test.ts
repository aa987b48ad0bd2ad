import { randomUUID } from 'node:crypto';
import { clientWithToken } from '@odograph/testkit/api-client';
import { archiveVehicle, createApplication, createUser, createVehicle } from '@odograph/testkit/fixtures';
import { describe, expect, it } from 'vitest';
import { startFleet } from './fleet.fixture.ts';

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

const { platform, application, api, as } = await startFleet();
const foreign = as((await createApplication(platform.db)).token);

async function createSpot(client = api, more: object = {}): Promise<string> {
  const { status, body } = await client.post('/v1/parkings', { ...fields, ...more });
  expect([status, Object.keys(body)]).toEqual([200, ['parking_id']]);
  return body.parking_id;
}

const userClient = async (vehicleIds: string[]) =>
  clientWithToken(
    platform.httpUrl,
    (await createUser(platform.db, application, { vehicleIds, role: 'manager' })).token,
  );

const answerOf = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];

describe('/v1/parkings', () => {
  it('creates a spot with exactly the documented fields', async () => {
    const id = await createSpot();
    const { status, body } = await api.get(`/v1/parkings/${id}`);
    expect(status).toBe(200);
    expect(body).toEqual({ id, shortId: expect.stringMatching(/^[A-HJKMNP-TV-Z2-9]{6}$/), ...fields });
  });

  it('keeps the place of a spot, and changes it', async () => {
    const id = await createSpot(api, { latitude: 48.8443, longitude: 2.3735 });
    const read = async () => (await api.get(`/v1/parkings/${id}`)).body;
    expect(await read()).toMatchObject({ latitude: 48.8443, longitude: 2.3735 });
    await api.post(`/v1/parkings/${id}`, { latitude: 48.85, longitude: 2.38 });
    expect(await read()).toMatchObject({ latitude: 48.85, longitude: 2.38 });
    await api.post(`/v1/parkings/${id}`, { name: 'North', latitude: null, longitude: null });
    expect(await read()).toMatchObject({ name: 'North', latitude: 48.85, longitude: 2.38 });
  });

  it.each([
    [{ latitude: 48.85 }, 'longitude'],
    [{ longitude: 2.38 }, 'longitude'],
    [{ latitude: 48.85, longitude: null }, 'longitude'],
    [{ latitude: 91, longitude: 2.38 }, 'latitude'],
    [{ latitude: 48.85, longitude: 'here' }, 'longitude'],
  ])('refuses the place %o and names %s', async (place, field) => {
    const id = await createSpot();
    for (const path of ['/v1/parkings', `/v1/parkings/${id}`]) {
      const { status, body } = await api.post(path, { ...fields, ...place });
      expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
    }
  });

  it('creates a spot without address2, also from a query string', async () => {
    const { address2: _address2, ...needed } = fields;
    const { body } = await api.post(`/v1/parkings?${new URLSearchParams(needed).toString()}`);
    expect((await api.get(`/v1/parkings/${body.parking_id}`)).body).toMatchObject({ ...needed, address2: '' });
  });

  it.each(codes)('refuses a new spot if %s is missing, null, empty or blank: %s', async (field, code) => {
    for (const value of [undefined, null, '', ' \t']) {
      const answer = await api.post('/v1/parkings', { ...fields, [field]: value });
      expect(answerOf(answer)).toEqual([400, code]);
      expect(answer.body.field).toBe(field);
    }
  });

  it.each([{}, ['a'], 'a\0b', 'x'.repeat(257)])('names the field with the value %j', async (city) => {
    const { status, body } = await api.post('/v1/parkings', { ...fields, city });
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'city']);
  });

  it('lists only the spots of the application, by name', async () => {
    const other = await createApplication(platform.db);
    const theirs = as(other.token);
    expect((await theirs.get('/v1/parkings')).body).toEqual({ parkings: [] });
    const second = await createSpot(theirs, { name: 'B' });
    const first = await createSpot(theirs, { name: 'A' });
    const { body } = await theirs.get('/v1/parkings');
    expect(body.parkings.map(({ id }: { id: string }) => id)).toEqual([first, second]);
    expect(body.parkings[0]).toEqual((await theirs.get(`/v1/parkings/${first}`)).body);
  });

  it('changes only the given fields, and answers the whole spot', async () => {
    const id = await createSpot();
    const before = (await api.get(`/v1/parkings/${id}`)).body;
    const { status, body } = await api.post(`/v1/parkings/${id}`, { city: 'Lyon', address2: '' });
    expect([status, body]).toEqual([200, { ...before, city: 'Lyon', address2: '' }]);
    expect((await api.post(`/v1/parkings/${id}`)).body).toEqual(body);
    expect((await api.get(`/v1/parkings/${id}`)).body).toEqual(body);
  });

  it.each(codes)('refuses a change that empties %s: %s', async (field, code) => {
    const id = await createSpot();
    expect(answerOf(await api.post(`/v1/parkings/${id}`, { address2: 'new', [field]: '' }))).toEqual([400, code]);
    expect((await api.get(`/v1/parkings/${id}`)).body.address2).toBe(fields.address2);
  });

  it('deletes a spot and the assignments of vehicles to it', async () => {
    const [id, vehicle] = [await createSpot(), await createVehicle(platform.db, application)];
    await api.post(`/v1/vehicle/${vehicle.id}/parking`, { parkingId: id });
    const { status, body } = await api.delete(`/v1/parkings/${id}`);
    expect([status, body]).toEqual([200, { deleted: true }]);
    expect(answerOf(await api.get(`/v1/vehicle/${vehicle.id}/parking`))).toEqual([404, 'NO_PARKING']);
    expect(answerOf(await api.delete(`/v1/parkings/${id}`))).toEqual([404, 'NOT_FOUND']);
  });

  it('lets a user who manages no vehicle read spots but not change them', async () => {
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
  it('assigns a vehicle to a spot, then to another, then to none', async () => {
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

  it('answers MISSING_PARKING without a spot, and NOT_FOUND for a missing one or one of another application', async () => {
    const path = `/v1/vehicle/${(await createVehicle(platform.db, application)).id}/parking`;
    for (const parameters of [{}, { parkingId: '' }, { parkingId: null }]) {
      expect(answerOf(await api.post(path, parameters))).toEqual([400, 'MISSING_PARKING']);
    }
    for (const parkingId of [await createSpot(foreign), randomUUID(), 'none', 'a\0b']) {
      expect(answerOf(await api.post(path, { parkingId }))).toEqual([404, 'NOT_FOUND']);
    }
    expect(answerOf(await api.get(path))).toEqual([404, 'NO_PARKING']);
  });

  it('answers VEHICLE_ARCHIVED for an archived vehicle, and still removes it from its spot', async () => {
    const [parkingId, vehicle] = [await createSpot(), await createVehicle(platform.db, application)];
    const path = `/v1/vehicle/${vehicle.id}/parking`;
    await api.post(path, { parkingId });
    await archiveVehicle(platform.db, vehicle.id);
    expect(answerOf(await api.post(path, { parkingId }))).toEqual([409, 'VEHICLE_ARCHIVED']);
    expect((await api.get(path)).body.id).toBe(parkingId);
    expect((await api.delete(path)).body).toEqual({ deleted: true });
  });
});
