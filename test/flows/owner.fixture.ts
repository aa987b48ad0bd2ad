import { randomInt, randomUUID } from 'node:crypto';
import type { Database } from '@odograph/database/database';
import { type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import type { TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import type { Resource } from './route-table.fixture.ts';

/** An application with one resource of each kind. */
export interface Owner {
  readonly application: TestApplication;
  readonly vehicle: TestVehicle;
  /** Names of its resources, by kind. */
  readonly names: Readonly<Record<Resource, string>>;
}

/** Generates a French plate. */
function newPlate(): string {
  const letter = () => 'ABCDEFGHJK'[randomInt(10)] ?? 'A';
  return `${letter()}${letter()}-${randomInt(100, 999)}-${letter()}${letter()}`;
}

async function storeReading(db: Database, { id: applicationId }: TestApplication, vehicle: TestVehicle): Promise<void> {
  const id = Number(vehicle.id);
  await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, can, device_id, received_at)
    values (date_trunc('second', now()) - interval '60 s', ${applicationId}, ${id}, 48.85, 2.35,
      '[{"key": "engine_rpm", "value": "2100"}]', ${vehicle.deviceId}, now())`.execute(db);
  await sql`insert into vehicle_latest (vehicle_id, time, location, location_time, can, can_time, received_at)
    select ${id}, time, '{"latitude": 48.85, "longitude": 2.35}', time, can, time, now() from reading
    where vehicle_id = ${id}`.execute(db);
  await sql`insert into reading_change (application_id, vehicle_ids, times)
    select application_id, array[vehicle_id], array[time] from reading where vehicle_id = ${id}`.execute(db);
}

async function storeTrip(db: Database, { id }: TestVehicle): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled, inferred, distance_km)
    values (${Number(id)}, now() - interval '2 minutes', now() - interval '1 minute', now(), true, false, 12)
    returning id`.execute(db);
  return rows[0]?.id ?? '';
}

/** Returns the body of an answer. @throws Error for any status but 200 */
function requireBody({ status, body }: { status: number; body: Record<string, string> }): Record<string, string> {
  if (status !== 200) throw new Error(`refused: ${JSON.stringify(body)}`);
  return body;
}

async function storeAlarm(db: Database, ruleId: string, { id }: TestVehicle): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at)
    select application_id, id, ${Number(id)}, kind, now() from alarm_rule
    where id = ${ruleId} returning id`.execute(db);
  return rows[0]?.id ?? '';
}

/** Creates a notification that sends nothing. @returns its id */
async function createNotification(api: ApiClient, { id }: TestVehicle): Promise<string> {
  const telegram = { botToken: `1:${'x'.repeat(30)}`, chatId: '1' };
  const told = { events: ['alarm.*'], vehicleIds: [id] };
  const { id: notification = '' } = requireBody(await api.post('/v1/x/notifications', { ...told, telegram }));
  requireBody(await api.put(`/v1/x/notifications/${notification}`, { ...told, enabled: false }));
  return notification;
}

async function storeSchedule(db: Database, { id }: TestApplication): Promise<string> {
  const { rows } = await sql<{
    id: string;
  }>`insert into report_schedule (application_id, kind, format, every, time_zone,
      hour, language, recipients, next_due_at)
    values (${id}, 'trips', 'pdf', 'month', 'UTC', 6, 'en', '{office@example.com}', now() + interval '1 day')
    returning id`.execute(db);
  return rows[0]?.id ?? '';
}

/** Creates an application with one resource of each kind, over the interface where it has a route for it. */
export async function createOwner({ db, httpUrl }: Pick<TestPlatform, 'db' | 'httpUrl'>): Promise<Owner> {
  const application = await createApplication(db);
  const vehicle = await createVehicle(db, application);
  const plate = newPlate();
  await db.updateTable('vehicle').set({ plate }).where('id', '=', Number(vehicle.id)).execute();
  await storeReading(db, application, vehicle);
  await sql`insert into registration_record (application_id, plate, fields, updated_at)
    values (${application.id}, ${plate.replaceAll('-', '')}, '{"certificate.brand": "RENAULT"}', now())`.execute(db);
  const api = clientWithToken(httpUrl, application.token);
  const driver = `driver-${randomUUID()}`;
  const now = Math.floor(Date.now() / 1000);
  const period = { from: now + 1, until: now + 7200 };
  const key = { vehicleId: vehicle.id, userId: driver, level: 'DRIVE', ...period };
  const { authorizationId = '' } = requireBody(await api.post('/v1/bluetooth-token', key));
  const place = { name: 'Depot', address: '1 street', zipcode: '75001', city: 'Paris', country: 'France' };
  const { parking_id: parking = '' } = requireBody(await api.post('/v1/parkings', place));
  requireBody(await api.post(`/v1/vehicle/${vehicle.id}/parking`, { parkingId: parking }));
  const booked = await api.post(`/v1/vehicle/${vehicle.id}/booking`, { ...period, type: 'BOOKING', driver });
  const { bookingId = '' } = requireBody(booked);
  const circle = { name: 'Depot', geometry: { type: 'Point', coordinates: [2.35, 48.85] }, radiusMetres: 300 };
  const { id: geofence = '' } = requireBody(await api.post('/v1/x/geofences', circle));
  const { id: group = '' } = requireBody(await api.post('/v1/x/groups', { name: 'Vans' }));
  requireBody(await api.put(`/v1/x/groups/${group}/vehicles`, { vehicleIds: [vehicle.id] }));
  const rule = { name: 'Crash', kind: 'crash', vehicleIds: [vehicle.id] };
  const { id: alarmRule = '' } = requireBody(await api.post('/v1/x/alarm-rules', rule));
  const hook = { url: 'https://receiver.invalid/hook', types: ['alarm.*'], vehicleIds: [vehicle.id] };
  const { id: webhook = '' } = requireBody(await api.post('/v1/x/webhooks', hook));
  // Its log entries would change rows of the vehicle at any time.
  requireBody(await api.put(`/v1/x/webhooks/${webhook}`, { ...hook, enabled: false }));
  const notification = await createNotification(api, vehicle);
  const file = { vehicleId: vehicle.id, format: 'csv', from: now - 3600, until: now };
  const { id: job = '' } = requireBody(await api.post('/v1/x/exports', file));
  const apiKey = { name: 'reports', scopes: ['read'] };
  const { id: apiKeyId = '' } = requireBody(await api.post('/v1/x/api-keys', apiKey));
  const { id: share = '' } = requireBody(await api.post('/v1/x/shares', { vehicleId: vehicle.id, until: now + 3600 }));
  return {
    application,
    vehicle,
    names: {
      share,
      webhook,
      notification,
      'api key': apiKeyId,
      'report schedule': await storeSchedule(db, application),
      geofence,
      group,
      'alarm rule': alarmRule,
      alarm: await storeAlarm(db, alarmRule, vehicle),
      vehicle: vehicle.id,
      plate,
      registration: plate,
      device: vehicle.deviceId,
      authorization: authorizationId,
      booking: bookingId,
      parking,
      trip: await storeTrip(db, vehicle),
      driver,
      export: job,
    },
  };
}

/** Well-formed names of resources that do not exist. */
export function missingNames(): Owner['names'] {
  const plate = newPlate();
  return {
    vehicle: '2100000000',
    plate,
    registration: plate,
    device: `test-${randomUUID()}`,
    authorization: randomUUID(),
    booking: randomUUID(),
    parking: randomUUID(),
    trip: randomUUID(),
    driver: `driver-${randomUUID()}`,
    geofence: randomUUID(),
    group: randomUUID(),
    'alarm rule': randomUUID(),
    alarm: randomUUID(),
    webhook: randomUUID(),
    notification: randomUUID(),
    export: randomUUID(),
    'api key': randomUUID(),
    share: randomUUID(),
    'report schedule': randomUUID(),
  };
}
