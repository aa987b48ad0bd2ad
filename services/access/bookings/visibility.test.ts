import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { inMinutes, useAccess } from '../access.fixture.ts';
import { answerOf, book, pathOf, planned } from './bookings.fixture.ts';

const access = useAccess();

const grantedUser = () => access.createUser('driver');

const authorization = (id: string) => access.api.get(`/v1/bluetooth-token/${id}`);

describe('a booking of another application', () => {
  const unknownIds = ['none', '1', randomUUID(), '%00'];

  it('is NOT_FOUND, like a booking that does not exist', async () => {
    const { bookingId, authorizationId } = await book(access.api, access.vehicle, planned());
    for (const [client, id] of [
      [access.foreign, bookingId] as const,
      ...unknownIds.map((one) => [access.api, one] as const),
    ]) {
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

  it('is refused with UNKNOWN_VEHICLE, whatever else is wrong', async () => {
    for (const [client, id] of [
      [access.foreign, access.vehicle.id] as const,
      [access.api, '1'] as const,
      [access.api, 'none'] as const,
    ]) {
      for (const answer of [
        await client.get(pathOf({ id })),
        await client.post(pathOf({ id }), planned()),
        await client.post(pathOf({ id }), { from: '2020-01-01' }),
      ]) {
        expect([answer.status, answer.body]).toEqual([404, { error: 'UNKNOWN_VEHICLE', message: 'no such vehicle' }]);
      }
    }
  });

  it('is not found once its vehicle is deleted', async () => {
    const { bookingId } = await book(access.api, access.vehicle, { ...planned(), from: inMinutes(0) });
    await access.changeVehicle({ deleted_at: new Date() });
    expect(answerOf(await access.api.get(`/v1/booking/${bookingId}`))).toEqual([404, 'NOT_FOUND']);
    const { body } = await access.api.get('/v1/bookings');
    expect(body.bookings.map(({ id }: { id: string }) => id)).not.toContain(bookingId);
  });
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

  it('a vehicle without a grant is unknown, and its bookings are not found', async () => {
    const user = await grantedUser();
    const { bookingId } = await book(access.api, access.vehicle, planned());
    const own = (
      await user.api.post(pathOf(access.vehicle), { type: 'FREE_FLOATING', from: inMinutes(0), until: inMinutes(1) })
    ).body.bookingId;
    await access.platform.db.deleteFrom('vehicle_grant').where('user_id', '=', user.id).execute();
    expect(answerOf(await user.api.get(pathOf(access.vehicle)))).toEqual([404, 'UNKNOWN_VEHICLE']);
    expect(answerOf(await user.api.post(pathOf(access.vehicle), planned()))).toEqual([404, 'UNKNOWN_VEHICLE']);
    for (const id of [bookingId, own]) {
      expect(answerOf(await user.api.get(`/v1/booking/${id}`))).toEqual([404, 'NOT_FOUND']);
    }
    expect((await user.api.get('/v1/bookings')).body).toEqual({ bookings: [] });
  });
});
