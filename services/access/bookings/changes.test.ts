import { unlinkDevice } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { inMinutes, useAccess } from '../access.fixture.ts';
import { age, answerOf, book, expectRevoked, floating, pathOf, planned } from './bookings.fixture.ts';

const access = await useAccess();

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
});

async function report(minutesAgo: number, columns: Record<string, unknown>): Promise<void> {
  const row = JSON.stringify({ ...columns, vehicle_id: Number(access.vehicle.id), time: inMinutes(-minutesAgo) });
  await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, ignition, movement, device_id,
      received_at)
    select time, ${access.application.id}, vehicle_id, latitude, longitude, ignition, movement, 'test', now()
    from jsonb_populate_record(null::reading, ${row}::jsonb)`.execute(access.platform.db);
}

describe('DELETE /v1/booking/{id}', () => {
  const deleted = { status: 200, body: { deleted: true }, statusAfter: 404 };
  const refusal = { error: 'BOOKING_EXPIRED', message: expect.any(String), deleted: false };
  const kept = { status: 409, body: refusal, statusAfter: 200 };

  async function remove(bookingId: string) {
    const { status, body } = await access.api.delete(`/v1/booking/${bookingId}`);
    return { status, body, statusAfter: (await access.api.get(`/v1/booking/${bookingId}`)).status };
  }

  it('deletes a booking that has not started, revokes its authorization and frees its interval', async () => {
    const { bookingId, authorizationId } = await book(access.api, access.vehicle, planned());
    expect(await remove(bookingId)).toEqual(deleted);
    await expectRevoked(access, authorizationId);
    expect(answerOf(await access.api.delete(`/v1/booking/${bookingId}`))).toEqual([404, 'NOT_FOUND']);
    await book(access.api, access.vehicle, planned());
  });

  it.each([
    ['its ignition was on', [{ ignition: true }]],
    ['it moved', [{ movement: true }]],
    [
      'it was 60 m away',
      [
        { latitude: 48, longitude: 2 },
        { latitude: 48.00054, longitude: 2 },
      ],
    ],
    [
      'it had come 60 m from its first position',
      [
        { latitude: 48, longitude: 2 },
        { latitude: 48.00027, longitude: 2 },
        { latitude: 48.00054, longitude: 2 },
      ],
    ],
  ])('keeps a free-floating booking when %s since its start', async (_when, readings) => {
    const { bookingId } = await book(access.api, access.vehicle, floating());
    await age(access, bookingId, 5);
    for (const [index, reading] of readings.entries()) await report(4 - index, reading);
    expect(await remove(bookingId)).toEqual(kept);
  });

  it('compares with the last position before the start', async () => {
    await report(40, { latitude: 48.00054, longitude: 2 });
    await report(30, { latitude: 48, longitude: 2 });
    const { bookingId } = await book(access.api, access.vehicle, floating());
    await age(access, bookingId, 5);
    await report(4, { latitude: 48.00054, longitude: 2 });
    expect(await remove(bookingId)).toEqual(kept);
  });

  it('deletes a free-floating booking whose vehicle was used only before it', async () => {
    await report(6, { latitude: 48, longitude: 2, ignition: true, movement: true });
    const { bookingId } = await book(access.api, access.vehicle, floating());
    await age(access, bookingId, 5);
    await report(4, { latitude: 48.0004, longitude: 2, ignition: false, movement: false });
    expect(await remove(bookingId)).toEqual(deleted);
  });
});

it('a booking is not postponed once its vehicle was used', async () => {
  const { bookingId } = await book(access.api, access.vehicle, { ...floating(), until: inMinutes(60) });
  const path = `/v1/booking/${bookingId}`;
  const from = inMinutes(1);
  expect((await access.api.put(path, { from: inMinutes(0) })).status).toBe(200);
  await age(access, bookingId, 20);
  await report(15, { ignition: true, movement: true });
  const before = (await access.api.get(path)).body;
  const refused = await access.api.put(path, { from });
  expect([...answerOf(refused), refused.body.field]).toEqual([400, 'INVALID_INTERVAL', 'from']);
  expect((await access.api.get(path)).body).toEqual(before);
  expect((await access.api.put(path, { from: before.from, until: inMinutes(90) })).status).toBe(200);
});

const grantedUser = () => access.createUser('driver');

it('a booking is not found once its vehicle is deleted', async () => {
  const { bookingId } = await book(access.api, access.vehicle, { ...planned(), from: inMinutes(0) });
  await access.changeVehicle({ deleted_at: new Date() });
  expect(answerOf(await access.api.get(`/v1/booking/${bookingId}`))).toEqual([404, 'NOT_FOUND']);
  const { body } = await access.api.get('/v1/bookings');
  expect(body.bookings.map(({ id }: { id: string }) => id)).not.toContain(bookingId);
});

describe('in user mode', () => {
  it('a user books for itself, by default and under each of its names', async () => {
    const user = await grantedUser();
    const { driver: _driver, ...request } = planned();
    for (const driver of [undefined, user.id, user.username, user.username.toUpperCase()]) {
      const { bookingId, userId } = await book(user.api, access.vehicle, { ...request, driver });
      expect(userId).toBe(user.id);
      expect((await user.api.delete(`/v1/booking/${bookingId}`)).body).toEqual({ deleted: true });
    }
  });

  it('naming another user is UNAUTHORIZED, naming an unknown one DRIVER_WITHOUT_ACCOUNT', async () => {
    const [user, other] = [await grantedUser(), await grantedUser()];
    for (const driver of [other.id, other.username]) {
      const answer = await user.api.post(pathOf(access.vehicle), { ...planned(), driver });
      expect(answerOf(answer)).toEqual([403, 'UNAUTHORIZED']);
    }
    const answer = await user.api.post(pathOf(access.vehicle), { ...planned(), driver: 'unknown' });
    expect(answerOf(answer)).toEqual([400, 'DRIVER_WITHOUT_ACCOUNT']);
  });

  it('a user sees its own bookings only, those made by the application for it included', async () => {
    const [user, other] = [await grantedUser(), await grantedUser()];
    const own = (
      await book(access.api, access.vehicle, { ...planned(), from: inMinutes(0), driver: user.username.toLowerCase() })
    ).bookingId;
    const hidden = (
      await book(other.api, access.vehicle, {
        ...planned(),
        from: inMinutes(121),
        until: inMinutes(122),
        driver: other.id,
      })
    ).bookingId;
    expect((await user.api.get('/v1/bookings')).body.bookings).toMatchObject([{ id: own }]);
    expect((await other.api.get('/v1/bookings')).body.bookings).toEqual([]);
    expect((await user.api.get(pathOf(access.vehicle))).body.bookings).toMatchObject([{ id: own }]);
    for (const answer of [
      await user.api.get(`/v1/booking/${hidden}`),
      await user.api.put(`/v1/booking/${hidden}`, { until: inMinutes(200) }),
      await user.api.post(`/v1/booking/${hidden}/stop`),
      await user.api.delete(`/v1/booking/${hidden}`),
    ]) {
      expect(answerOf(answer)).toEqual([404, 'NOT_FOUND']);
    }
    expect((await user.api.post(`/v1/booking/${own}/stop`)).body).toEqual({ stopped: true });
    expect((await access.api.get(pathOf(access.vehicle))).body.bookings).toHaveLength(2);
  });
});
