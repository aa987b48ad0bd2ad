import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { inMinutes, useAccess } from '../access.fixture.ts';
import { age, answerOf, book, expectRevoked, floating, planned } from './bookings.fixture.ts';

const access = useAccess();

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

  it('keeps a BOOKING that has started, and any booking that has ended', async () => {
    expect(
      await remove((await book(access.api, access.vehicle, { ...planned(), from: inMinutes(0) })).bookingId),
    ).toEqual(kept);
    access.vehicle = await access.newVehicle();
    const { bookingId } = await book(access.api, access.vehicle, floating());
    await access.api.post(`/v1/booking/${bookingId}/stop`);
    expect(await remove(bookingId)).toEqual(kept);
  });

  it('deletes a free-floating booking in its first 10 minutes only', async () => {
    const { bookingId } = await book(access.api, access.vehicle, floating());
    await age(access, bookingId, 10.1);
    expect(await remove(bookingId)).toEqual(kept);
    await age(access, bookingId, -0.2);
    expect(await remove(bookingId)).toEqual(deleted);
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
  ])('keeps a free-floating booking when %s since its start', async (_when, readings) => {
    const { bookingId } = await book(access.api, access.vehicle, floating());
    await age(access, bookingId, 5);
    for (const [index, reading] of readings.entries()) await report(4 - index, reading);
    expect(await remove(bookingId)).toEqual(kept);
  });

  it('compares with the last position before the start', async () => {
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
