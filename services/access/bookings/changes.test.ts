import { unlinkDevice } from '@odograph/testkit/fixtures';
import { describe, expect, it } from 'vitest';
import { inMinutes, useAccess } from '../access.fixture.ts';
import { age, answerOf, book, expectRevoked, floating, planned } from './bookings.fixture.ts';

const access = useAccess();

const authorization = (id: string) => access.api.get(`/v1/bluetooth-token/${id}`);

describe('PUT /v1/booking/{id}', () => {
  it('changes the interval and replaces the authorization', async () => {
    const { bookingId, authorizationId, authorization: old } = await book(access.api, access.vehicle, planned());
    const [from, until] = [inMinutes(10), inMinutes(20)];
    const { status, body } = await access.api.put(`/v1/booking/${bookingId}`, { from, until });
    expect([status, Object.keys(body).sort()]).toEqual([200, ['authorizationId', 'key', 'token', 'updated']]);
    expect(body.updated).toBe(true);
    for (const name of ['token', 'key']) expect(body[name]).not.toBe(old[name]);
    await expectRevoked(access, authorizationId);
    expect((await authorization(body.authorizationId)).body).toMatchObject({ from, until, token: body.token });
    const expected = { from, until, authorizationId: body.authorizationId };
    expect((await access.api.get(`/v1/booking/${bookingId}`)).body).toMatchObject(expected);
  });

  it('keeps omitted and empty values, and a start further in the past', async () => {
    const { bookingId } = await book(access.api, access.vehicle, { ...floating(), until: inMinutes(60) });
    await age(access, bookingId, 30);
    const before = (await access.api.get(`/v1/booking/${bookingId}`)).body;
    const until = inMinutes(90);
    expect((await access.api.put(`/v1/booking/${bookingId}`, { from: before.from, until })).status).toBe(200);
    expect((await access.api.put(`/v1/booking/${bookingId}`)).status).toBe(200);
    expect((await access.api.get(`/v1/booking/${bookingId}`)).body).toMatchObject({ from: before.from, until });
    expect((await access.api.put(`/v1/booking/${bookingId}`, { from: '', until: null })).status).toBe(200);
    expect((await access.api.get(`/v1/booking/${bookingId}`)).body).toMatchObject({ from: before.from, until });
  });

  it('answers VEHICLE_NOT_AVAILABLE for an overlap or a state flag, NO_DEVICE without a device, and changes nothing', async () => {
    const { bookingId, authorizationId } = await book(access.api, access.vehicle, planned());
    await book(access.api, access.vehicle, { ...planned(), from: inMinutes(130), until: inMinutes(140) });
    const path = `/v1/booking/${bookingId}`;
    const before = (await access.api.get(path)).body;
    expect(answerOf(await access.api.put(path, { until: inMinutes(131) }))).toEqual([409, 'VEHICLE_NOT_AVAILABLE']);
    await access.changeVehicle({ breakdown: true });
    expect(answerOf(await access.api.put(path, { until: inMinutes(100) }))).toEqual([409, 'VEHICLE_NOT_AVAILABLE']);
    await access.changeVehicle({ breakdown: false });
    expect((await access.api.get(path)).body).toEqual(before);
    expect((await authorization(authorizationId)).status).toBe(200);
    await unlinkDevice(access.platform.db, access.vehicle.deviceId);
    expect(answerOf(await access.api.put(path, { until: inMinutes(100) }))).toEqual([404, 'NO_DEVICE']);
  });

  it.each([
    ['INVALID_INTERVAL', { until: '2020-01-01' }],
    ['INVALID_INTERVAL', { from: inMinutes(-4), until: inMinutes(-1) }],
    ['INVALID_INTERVAL', { from: inMinutes(-6) }],
    ['INVALID_PARAMETER', { from: 'now' }],
    ['INVALID_PARAMETER', { until: 'soon' }],
  ])('answers %s for %j', async (error, changes) => {
    const { bookingId } = await book(access.api, access.vehicle, planned());
    expect(answerOf(await access.api.put(`/v1/booking/${bookingId}`, changes))).toEqual([400, error]);
  });

  it('answers BOOKING_EXPIRED for an ended or a stopped booking', async () => {
    const ended = (await book(access.api, access.vehicle, { ...planned(), from: inMinutes(0), until: inMinutes(10) }))
      .bookingId;
    await age(access, ended, 10);
    const stopped = (await book(access.api, access.vehicle, floating())).bookingId;
    await access.api.post(`/v1/booking/${stopped}/stop`);
    for (const id of [ended, stopped]) {
      expect(answerOf(await access.api.put(`/v1/booking/${id}`, { until: inMinutes(5) }))).toEqual([
        409,
        'BOOKING_EXPIRED',
      ]);
    }
  });

  it('continues from an authorization that was changed or revoked separately', async () => {
    const { bookingId, authorizationId } = await book(access.api, access.vehicle, planned());
    const changed = await access.api.post(`/v1/bluetooth-token/${authorizationId}`, { until: inMinutes(70) });
    expect((await access.api.get(`/v1/booking/${bookingId}`)).body.authorizationId).toBe(changed.body.authorizationId);
    const renewed = await access.api.put(`/v1/booking/${bookingId}`, { until: inMinutes(80) });
    await expectRevoked(access, changed.body.authorizationId);
    await access.api.delete('/v1/bluetooth-token', { authorizationId: renewed.body.authorizationId });
    const again = await access.api.put(`/v1/booking/${bookingId}`, { until: inMinutes(90) });
    expect((await authorization(again.body.authorizationId)).status).toBe(200);
    await access.api.delete('/v1/bluetooth-token', { authorizationId: again.body.authorizationId });
    expect((await access.api.post(`/v1/booking/${bookingId}/stop`)).body).toEqual({ stopped: true });
  });

  it('serializes concurrent changes, which leave one authorization', async () => {
    const { bookingId } = await book(access.api, access.vehicle, planned());
    const path = `/v1/booking/${bookingId}`;
    const ends = Array.from({ length: 8 }, (_unused, index) => inMinutes(90 + index));
    const answers = await Promise.all(ends.map((until) => access.api.put(path, { until })));
    expect(answers.map(({ status }) => status)).toEqual(ends.map(() => 200));
    const { body } = await access.api.get(`/v1/vehicle/${access.vehicle.id}/authorizations/scheduled`);
    const { authorizationId } = (await access.api.get(path)).body;
    expect(body.authorizations.map((one: { authorizationId: string }) => one.authorizationId)).toEqual([
      authorizationId,
    ]);
  });
});

describe('POST /v1/booking/{id}/stop', () => {
  it('ends the booking now, revokes its authorization and frees the vehicle', async () => {
    const { bookingId, authorizationId } = await book(access.api, access.vehicle, floating());
    const { status, body } = await access.api.post(`/v1/booking/${bookingId}/stop`);
    expect([status, body]).toEqual([200, { stopped: true }]);
    await expectRevoked(access, authorizationId);
    const { until } = (await access.api.get(`/v1/booking/${bookingId}`)).body;
    expect(Math.abs(Date.parse(until) - Date.now())).toBeLessThan(10_000);
    expect((await access.api.post(`/v1/booking/${bookingId}/stop`)).body).toEqual({ stopped: true });
    expect((await access.api.get(`/v1/booking/${bookingId}`)).body.until).toBe(until);
    await book(access.api, access.vehicle, floating());
  });

  it('makes a booking that has not started empty', async () => {
    const { bookingId, from } = await book(access.api, access.vehicle, planned());
    await access.api.post(`/v1/booking/${bookingId}/stop`);
    expect((await access.api.get(`/v1/booking/${bookingId}`)).body).toMatchObject({ from, until: from });
    await book(access.api, access.vehicle, planned());
  });

  it('answers BOOKING_EXPIRED for a booking that has reached its end', async () => {
    const { bookingId } = await book(access.api, access.vehicle, {
      ...planned(),
      from: inMinutes(0),
      until: inMinutes(10),
    });
    await age(access, bookingId, 10);
    expect(answerOf(await access.api.post(`/v1/booking/${bookingId}/stop`))).toEqual([409, 'BOOKING_EXPIRED']);
  });
});
