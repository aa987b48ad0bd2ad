import { randomUUID } from 'node:crypto';
import type { ApiClient } from '@odograph/testkit/api-client';
import { createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  answerOf,
  book,
  changeVehicle,
  createUser,
  type House,
  inMinutes,
  openHouse,
  pathOf,
  planned,
} from './bookings.fixture.ts';

let fleet: House;
let api: ApiClient;
let vehicle: TestVehicle;

beforeAll(async () => {
  fleet = await openHouse();
  api = fleet.api;
});
afterAll(() => fleet?.platform.stop());
beforeEach(async () => {
  vehicle = await createVehicle(fleet.platform.db, fleet.application);
});

const authorization = (id: string) => api.get(`/v1/bluetooth-token/${id}`);

describe('a booking of somebody else', () => {
  const unknownIds = ['none', '1', randomUUID(), '%00'];

  it('is NOT_FOUND for another application as one that does not exist', async () => {
    const { bookingId, authorizationId } = await book(api, vehicle, planned());
    for (const [client, id] of [[fleet.foreign, bookingId] as const, ...unknownIds.map((one) => [api, one] as const)]) {
      for (const answer of [
        await client.get(`/v1/booking/${id}`),
        await client.put(`/v1/booking/${id}`, { until: inMinutes(90) }),
        await client.post(`/v1/booking/${id}/stop`),
        await client.delete(`/v1/booking/${id}`),
      ]) {
        expect([answer.status, answer.body]).toEqual([404, { error: 'NOT_FOUND', message: 'no such resource' }]);
      }
    }
    expect((await authorization(authorizationId)).status).toBe(200);
  });

  it("is UNKNOWN_VEHICLE by another application's vehicle, whatever else is wrong", async () => {
    for (const [client, id] of [[fleet.foreign, vehicle.id] as const, [api, '1'] as const, [api, 'none'] as const]) {
      for (const answer of [
        await client.get(pathOf({ id })),
        await client.post(pathOf({ id }), planned()),
        await client.post(pathOf({ id }), { from: '2020-01-01' }),
      ]) {
        expect([answer.status, answer.body]).toEqual([404, { error: 'UNKNOWN_VEHICLE', message: 'no such vehicle' }]);
      }
    }
  });

  it('is gone with its vehicle', async () => {
    const { bookingId } = await book(api, vehicle, { ...planned(), from: inMinutes(0) });
    await changeVehicle(fleet, vehicle, { deleted_at: new Date() });
    expect(answerOf(await api.get(`/v1/booking/${bookingId}`))).toEqual([404, 'NOT_FOUND']);
    const { body } = await api.get('/v1/bookings');
    expect(body.bookings.map(({ id }: { id: string }) => id)).not.toContain(bookingId);
  });
});

describe('in user mode', () => {
  it('a user books for itself, by default and by each of its names', async () => {
    const user = await createUser(fleet, vehicle);
    const { driver: _driver, ...request } = planned();
    for (const driver of [undefined, user.id, user.username, user.username.toUpperCase()]) {
      const { bookingId, userId } = await book(user.client, vehicle, { ...request, driver });
      expect(userId).toBe(user.id);
      expect((await user.client.delete(`/v1/booking/${bookingId}`)).body).toEqual({ deleted: true });
    }
  });

  it('a user that names another is UNAUTHORIZED, and one that names nobody known DRIVER_WITHOUT_ACCOUNT', async () => {
    const [user, other] = [await createUser(fleet, vehicle), await createUser(fleet, vehicle)];
    for (const driver of [other.id, other.username]) {
      const answer = await user.client.post(pathOf(vehicle), { ...planned(), driver });
      expect(answerOf(answer)).toEqual([403, 'UNAUTHORIZED']);
    }
    const answer = await user.client.post(pathOf(vehicle), { ...planned(), driver: 'nobody' });
    expect(answerOf(answer)).toEqual([400, 'DRIVER_WITHOUT_ACCOUNT']);
  });

  it('a user sees its own bookings, also those the application made for it, and no others', async () => {
    const [user, other] = [await createUser(fleet, vehicle), await createUser(fleet, vehicle)];
    const own = (await book(api, vehicle, { ...planned(), from: inMinutes(0), driver: user.username.toLowerCase() }))
      .bookingId;
    const hidden = (
      await book(other.client, vehicle, { ...planned(), from: inMinutes(121), until: inMinutes(122), driver: other.id })
    ).bookingId;
    expect((await user.client.get('/v1/bookings')).body.bookings).toMatchObject([{ id: own }]);
    expect((await other.client.get('/v1/bookings')).body.bookings).toEqual([]);
    expect((await user.client.get(pathOf(vehicle))).body.bookings).toMatchObject([{ id: own }]);
    for (const answer of [
      await user.client.get(`/v1/booking/${hidden}`),
      await user.client.put(`/v1/booking/${hidden}`, { until: inMinutes(200) }),
      await user.client.post(`/v1/booking/${hidden}/stop`),
      await user.client.delete(`/v1/booking/${hidden}`),
    ]) {
      expect(answerOf(answer)).toEqual([404, 'NOT_FOUND']);
    }
    expect((await user.client.post(`/v1/booking/${own}/stop`)).body).toEqual({ stopped: true });
    expect((await api.get(pathOf(vehicle))).body.bookings).toHaveLength(2);
  });

  it('a vehicle that a user is not granted is unknown, and a booking of it not found', async () => {
    const user = await createUser(fleet, vehicle);
    const { bookingId } = await book(api, vehicle, planned());
    const own = (
      await user.client.post(pathOf(vehicle), { type: 'FREE_FLOATING', from: inMinutes(0), until: inMinutes(1) })
    ).body.bookingId;
    await fleet.platform.db.deleteFrom('vehicle_grant').where('user_id', '=', user.id).execute();
    expect(answerOf(await user.client.get(pathOf(vehicle)))).toEqual([404, 'UNKNOWN_VEHICLE']);
    expect(answerOf(await user.client.post(pathOf(vehicle), planned()))).toEqual([404, 'UNKNOWN_VEHICLE']);
    for (const id of [bookingId, own]) {
      expect(answerOf(await user.client.get(`/v1/booking/${id}`))).toEqual([404, 'NOT_FOUND']);
    }
    expect((await user.client.get('/v1/bookings')).body).toEqual({ bookings: [] });
  });
});
