import type { ApiClient } from '@odograph/testkit/api-client';
import { createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  age,
  answerOf,
  book,
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

async function report(minutesAgo: number, columns: Record<string, unknown>): Promise<void> {
  const row = JSON.stringify({ ...columns, vehicle_id: Number(vehicle.id), time: inMinutes(-minutesAgo) });
  await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, ignition, movement, device_id,
      received_at)
    select time, ${fleet.application.id}, vehicle_id, latitude, longitude, ignition, movement, 'test', now()
    from jsonb_populate_record(null::reading, ${row}::jsonb)`.execute(fleet.platform.db);
}

describe('DELETE /v1/booking/{id}', () => {
  const deleted = { status: 200, body: { deleted: true }, statusAfter: 404 };
  const refusal = { error: 'BOOKING_EXPIRED', message: expect.any(String), deleted: false };
  const kept = { status: 409, body: refusal, statusAfter: 200 };

  async function remove(bookingId: string) {
    const { status, body } = await api.delete(`/v1/booking/${bookingId}`);
    return { status, body, statusAfter: (await api.get(`/v1/booking/${bookingId}`)).status };
  }

  it('deletes one that has not started, revokes its authorization and frees its time', async () => {
    const { bookingId, authorizationId } = await book(api, vehicle, planned());
    expect(await remove(bookingId)).toEqual(deleted);
    await expectRevoked(fleet, authorizationId);
    expect(answerOf(await api.delete(`/v1/booking/${bookingId}`))).toEqual([404, 'NOT_FOUND']);
    await book(api, vehicle, planned());
  });

  it('keeps a BOOKING that has started, and any that is over', async () => {
    expect(await remove((await book(api, vehicle, { ...planned(), from: inMinutes(0) })).bookingId)).toEqual(kept);
    vehicle = await createVehicle(fleet.platform.db, fleet.application);
    const { bookingId } = await book(api, vehicle, floating());
    await api.post(`/v1/booking/${bookingId}/stop`);
    expect(await remove(bookingId)).toEqual(kept);
  });

  it('deletes a free-floating one in its first 10 minutes only', async () => {
    const { bookingId } = await book(api, vehicle, floating());
    await age(fleet, bookingId, 10.1);
    expect(await remove(bookingId)).toEqual(kept);
    await age(fleet, bookingId, -0.2);
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
  ])('keeps a free-floating one when %s since its start', async (_when, readings) => {
    const { bookingId } = await book(api, vehicle, floating());
    await age(fleet, bookingId, 5);
    for (const [index, reading] of readings.entries()) await report(4 - index, reading);
    expect(await remove(bookingId)).toEqual(kept);
  });

  it('compares with where the vehicle stood before the start', async () => {
    await report(30, { latitude: 48, longitude: 2 });
    const { bookingId } = await book(api, vehicle, floating());
    await age(fleet, bookingId, 5);
    await report(4, { latitude: 48.00054, longitude: 2 });
    expect(await remove(bookingId)).toEqual(kept);
  });

  it('deletes a free-floating one whose vehicle was only used before, and stayed where it was', async () => {
    await report(6, { latitude: 48, longitude: 2, ignition: true, movement: true });
    const { bookingId } = await book(api, vehicle, floating());
    await age(fleet, bookingId, 5);
    await report(4, { latitude: 48.0004, longitude: 2, ignition: false, movement: false });
    expect(await remove(bookingId)).toEqual(deleted);
  });
});
