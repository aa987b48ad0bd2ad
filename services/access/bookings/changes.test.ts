import type { ApiClient } from '@odograph/testkit/api-client';
import { createVehicle, type TestVehicle, unlinkDevice } from '@odograph/testkit/fixtures';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  age,
  answerOf,
  book,
  changeVehicle,
  expectRevoked,
  floating,
  type House,
  inMinutes,
  openHouse,
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

describe('PUT /v1/booking/{id}', () => {
  it('moves the booking and gives a new authorization, whose predecessor is revoked', async () => {
    const { bookingId, authorizationId, authorization: old } = await book(api, vehicle, planned());
    const [from, until] = [inMinutes(10), inMinutes(20)];
    const { status, body } = await api.put(`/v1/booking/${bookingId}`, { from, until });
    expect([status, Object.keys(body).sort()]).toEqual([200, ['authorizationId', 'key', 'token', 'updated']]);
    expect(body.updated).toBe(true);
    for (const name of ['token', 'key']) expect(body[name]).not.toBe(old[name]);
    await expectRevoked(fleet, authorizationId);
    expect((await authorization(body.authorizationId)).body).toMatchObject({ from, until, token: body.token });
    const expected = { from, until, authorizationId: body.authorizationId };
    expect((await api.get(`/v1/booking/${bookingId}`)).body).toMatchObject(expected);
  });

  it('keeps what is not given, and a start that lies far back', async () => {
    const { bookingId } = await book(api, vehicle, { ...floating(), until: inMinutes(60) });
    await age(fleet, bookingId, 30);
    const before = (await api.get(`/v1/booking/${bookingId}`)).body;
    const until = inMinutes(90);
    expect((await api.put(`/v1/booking/${bookingId}`, { from: before.from, until })).status).toBe(200);
    expect((await api.put(`/v1/booking/${bookingId}`)).status).toBe(200);
    expect((await api.get(`/v1/booking/${bookingId}`)).body).toMatchObject({ from: before.from, until });
    expect((await api.put(`/v1/booking/${bookingId}`, { until: '' })).status).toBe(200);
    expect((await api.get(`/v1/booking/${bookingId}`)).body).toMatchObject({ from: before.from, until: '' });
  });

  it('answers VEHICLE_NOT_AVAILABLE for an overlap or a raised state, NO_DEVICE without one, and changes nothing', async () => {
    const { bookingId, authorizationId } = await book(api, vehicle, planned());
    await book(api, vehicle, { ...planned(), from: inMinutes(130), until: inMinutes(140) });
    const path = `/v1/booking/${bookingId}`;
    const before = (await api.get(path)).body;
    expect(answerOf(await api.put(path, { until: inMinutes(131) }))).toEqual([409, 'VEHICLE_NOT_AVAILABLE']);
    await changeVehicle(fleet, vehicle, { breakdown: true });
    expect(answerOf(await api.put(path, { until: inMinutes(100) }))).toEqual([409, 'VEHICLE_NOT_AVAILABLE']);
    await changeVehicle(fleet, vehicle, { breakdown: false });
    expect((await api.get(path)).body).toEqual(before);
    expect((await authorization(authorizationId)).status).toBe(200);
    await unlinkDevice(fleet.platform.db, vehicle.deviceId);
    expect(answerOf(await api.put(path, { until: inMinutes(100) }))).toEqual([404, 'NO_DEVICE']);
  });

  it.each([
    ['INVALID_INTERVAL', { until: '2020-01-01' }],
    ['INVALID_INTERVAL', { until: '' }],
    ['INVALID_INTERVAL', { from: inMinutes(-6) }],
    ['INVALID_PARAMETER', { from: '' }],
    ['INVALID_PARAMETER', { until: 'soon' }],
  ])('answers %s for %j', async (error, changes) => {
    const { bookingId } = await book(api, vehicle, planned());
    expect(answerOf(await api.put(`/v1/booking/${bookingId}`, changes))).toEqual([400, error]);
  });

  it('answers BOOKING_EXPIRED for one that ended or was stopped', async () => {
    const ended = (await book(api, vehicle, { ...planned(), from: inMinutes(0), until: inMinutes(10) })).bookingId;
    await age(fleet, ended, 10);
    const stopped = (await book(api, vehicle, floating())).bookingId;
    await api.post(`/v1/booking/${stopped}/stop`);
    for (const id of [ended, stopped]) {
      expect(answerOf(await api.put(`/v1/booking/${id}`, { until: inMinutes(5) }))).toEqual([409, 'BOOKING_EXPIRED']);
    }
  });

  it('goes on from an authorization that was changed or revoked on its own', async () => {
    const { bookingId, authorizationId } = await book(api, vehicle, planned());
    const changed = await api.post(`/v1/bluetooth-token/${authorizationId}`, { until: inMinutes(70) });
    expect((await api.get(`/v1/booking/${bookingId}`)).body.authorizationId).toBe(changed.body.authorizationId);
    const renewed = await api.put(`/v1/booking/${bookingId}`, { until: inMinutes(80) });
    await expectRevoked(fleet, changed.body.authorizationId);
    await api.delete('/v1/bluetooth-token', { authorizationId: renewed.body.authorizationId });
    const again = await api.put(`/v1/booking/${bookingId}`, { until: inMinutes(90) });
    expect((await authorization(again.body.authorizationId)).status).toBe(200);
    await api.delete('/v1/bluetooth-token', { authorizationId: again.body.authorizationId });
    expect((await api.post(`/v1/booking/${bookingId}/stop`)).body).toEqual({ stopped: true });
  });

  it('lets two changes at once follow each other, with one authorization in the end', async () => {
    const { bookingId } = await book(api, vehicle, planned());
    const path = `/v1/booking/${bookingId}`;
    const ends = Array.from({ length: 8 }, (_unused, index) => inMinutes(90 + index));
    const answers = await Promise.all(ends.map((until) => api.put(path, { until })));
    expect(answers.map(({ status }) => status)).toEqual(ends.map(() => 200));
    const { body } = await api.get(`/v1/vehicle/${vehicle.id}/authorizations/scheduled`);
    const { authorizationId } = (await api.get(path)).body;
    expect(body.authorizations.map((one: { authorizationId: string }) => one.authorizationId)).toEqual([
      authorizationId,
    ]);
  });
});

describe('POST /v1/booking/{id}/stop', () => {
  it('ends the booking now, revokes its authorization and frees the vehicle', async () => {
    const { bookingId, authorizationId } = await book(api, vehicle, floating());
    const { status, body } = await api.post(`/v1/booking/${bookingId}/stop`);
    expect([status, body]).toEqual([200, { stopped: true }]);
    await expectRevoked(fleet, authorizationId);
    const { until } = (await api.get(`/v1/booking/${bookingId}`)).body;
    expect(Math.abs(Date.parse(until) - Date.now())).toBeLessThan(10_000);
    expect((await api.post(`/v1/booking/${bookingId}/stop`)).body).toEqual({ stopped: true });
    expect((await api.get(`/v1/booking/${bookingId}`)).body.until).toBe(until);
    await book(api, vehicle, floating());
  });

  it('takes all time from one that has not started', async () => {
    const { bookingId, from } = await book(api, vehicle, planned());
    await api.post(`/v1/booking/${bookingId}/stop`);
    expect((await api.get(`/v1/booking/${bookingId}`)).body).toMatchObject({ from, until: from });
    await book(api, vehicle, planned());
  });

  it('answers BOOKING_EXPIRED for one that ended by itself', async () => {
    const { bookingId } = await book(api, vehicle, { ...planned(), from: inMinutes(0), until: inMinutes(10) });
    await age(fleet, bookingId, 10);
    expect(answerOf(await api.post(`/v1/booking/${bookingId}/stop`))).toEqual([409, 'BOOKING_EXPIRED']);
  });
});
