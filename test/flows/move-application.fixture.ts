import type { Database } from '@odograph/database/database';
import type { TestReceiver } from '@odograph/events/webhooks.fixture';
import { type Sealer, secondFactorContext } from '@odograph/runtime/sealing';
import type { ApiClient } from '@odograph/testkit/api-client';
import { createUser, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { expect } from 'vitest';

/** Formats a time from now on as ISO 8601. */
export const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();

/** Fills an application with one of each kind that moves, and returns what its owner sees of them. */
export async function fillApplication(
  { api, admin, db, sealer }: { api: ApiClient; admin: ApiClient; db: Database; sealer: Sealer },
  application: TestApplication,
  vehicle: TestVehicle,
  receiver: TestReceiver,
) {
  const ok = async (answer: ReturnType<ApiClient['post']>) => {
    const { status, body } = await answer;
    expect([status, body.error, body.message]).toEqual([200, undefined, undefined]);
    return body;
  };
  await ok(admin.post(`/v1/x/admin/devices/${vehicle.deviceId}/key`, {}));
  const key = { 'idempotency-key': 'one-booking' };
  const booking = { type: 'BOOKING', driver: 'driver-1', from: inMinutes(60), until: inMinutes(120) };
  await ok(api.post(`/v1/vehicle/${vehicle.id}/booking`, booking, key));
  await ok(api.post('/v1/x/webhooks', { url: receiver.url, types: ['command.ended'] }));
  const circle = { type: 'Point', coordinates: [2, 48] };
  await ok(api.post('/v1/x/geofences', { name: 'yard', geometry: circle, radiusMetres: 100 }));
  const command = await ok(api.post('/v1/vehicle/lock', { vehicleId: vehicle.id }, { 'idempotency-key': 'one-lock' }));
  const user = await createUser(db, application);
  const group = await ok(api.post('/v1/x/groups', { name: 'vans' }));
  await ok(api.put(`/v1/x/groups/${group.id}/vehicles`, { vehicleIds: [vehicle.id] }));
  await ok(admin.post(`/v1/x/admin/users/${user.id}/groups`, { groupId: group.id, role: 'viewer' }));
  const secret = sealer.seal(Buffer.from('one-time'), secondFactorContext(user.id));
  await sql`insert into second_factor (id, user_id, sealed_secret) values (${user.id}, ${user.id}, ${secret})`.execute(
    db,
  );
  await ok(api.post('/v1/x/notifications', { slack: { url: receiver.url }, events: ['alarm.raised'] }));
  return { booking, key, command, user, group };
}
