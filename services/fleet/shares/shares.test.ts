import { readFileSync } from 'node:fs';
import type { ApiAnswer } from '@odograph/testkit/api-client';
import { createApiClient } from '@odograph/testkit/api-client';
import {
  createApplication,
  createOperator,
  createUser,
  createVehicle,
  grantVehicle,
  type TestApplication,
  type TestVehicle,
  updateVehicle,
} from '@odograph/testkit/fixtures';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { roundPosition } from './positions.ts';

const { platform, application, api, as, admin } = await startFleet({ HTTP_TRUST_PROXY: '1' });
const { db, httpUrl } = platform;

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
const tokenOf = (url: string) => new URL(url).hash.slice(1);
const open = (token: string, query = ''): Promise<ApiAnswer> =>
  createApiClient(httpUrl, { 'x-share-token': token }).get(`/v1/x/shared${query}`);

/** Stores a position as ingest does. @param ageSeconds age of its device time */
async function report(
  vehicle: TestVehicle,
  latitude: number,
  longitude: number,
  { ageSeconds = 0, owner = application }: { ageSeconds?: number; owner?: TestApplication } = {},
): Promise<void> {
  await sql`with stored as (insert into reading (time, application_id, vehicle_id, latitude, longitude, device_id, received_at)
      values (clock_timestamp() - make_interval(secs => ${ageSeconds}), ${owner.id}, ${Number(vehicle.id)}, ${latitude},
        ${longitude}, ${vehicle.deviceId}, now()) returning *)
    insert into vehicle_latest (vehicle_id, time, location, location_time, received_at)
    select vehicle_id, time, jsonb_build_object('latitude', latitude, 'longitude', longitude, 'speed', 40, 'angle', 90), time,
      now() from stored
    on conflict (vehicle_id) do update set time = excluded.time, location = excluded.location,
      location_time = excluded.location_time`.execute(db);
}

/** Creates a vehicle with a share. */
async function share(more: object = {}, client = api): Promise<{ vehicle: TestVehicle; id: string; token: string }> {
  const vehicle = await createVehicle(db, application);
  const { id, token } = await shareOf(vehicle, more, client);
  return { vehicle, id, token };
}

async function shareOf(vehicle: TestVehicle, more: object = {}, client = api) {
  const { status, body } = await client.post('/v1/x/shares', {
    vehicleId: vehicle.id,
    until: inMinutes(60),
    ...more,
  });
  expect([status, body]).toEqual([200, { id: expect.any(String), url: expect.stringMatching(/\/share#[\w-]{43}$/) }]);
  return { id: body.id as string, token: tokenOf(body.url) };
}

const ended = { status: 404, body: { error: 'NOT_FOUND', message: 'the link is unknown or has ended' } };
const expectEnded = async (token: string) => expect(await open(token)).toMatchObject(ended);

async function stateOf(id: string): Promise<string> {
  const { body } = await admin.get('/v1/x/shares?limit=1000');
  return body.shares.find((one: { id: string }) => one.id === id).state;
}

describe('a share', () => {
  it('shows the position and the trail since its creation, without identifiers of the vehicle', async () => {
    const vehicle = await createVehicle(db, application);
    await report(vehicle, 41, 1, { ageSeconds: 3600 });
    await report(vehicle, 42, 1, { ageSeconds: 1200 });
    const { id, token } = await shareOf(vehicle);
    // The trail has one position of each of 500 intervals, which are too long for readings of the same moment.
    await sql`update share set shown_from = shown_from - interval '10 minutes' where id = ${id}`.execute(db);
    await report(vehicle, 43, 1, { ageSeconds: 300 });
    await report(vehicle, 43.1, 1);
    const { status, body } = await open(token);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...{ kind: 'live', name: 'Renault Zoe', isPrivate: false },
      trail: [
        [43, 1],
        [43.1, 1],
      ],
      position: { latitude: 43.1, longitude: 1, speedKmh: 40, headingDegrees: 90 },
    });
    expect(body.position.ageSeconds).toBeLessThan(30);
    const { plate } = await db
      .selectFrom('vehicle')
      .select('plate')
      .where('id', '=', Number(vehicle.id))
      .executeTakeFirstOrThrow();
    for (const secret of [plate, vehicle.id, vehicle.deviceId]) expect(JSON.stringify(body)).not.toContain(secret);
    await report(vehicle, 43.2, 1);
    expect((await open(token, `?after=${body.after}`)).body.trail).toEqual([[43.2, 1]]);
  });

  it('shows the trail of the last 24 hours', async () => {
    const { vehicle, id, token } = await share();
    await sql`update share set shown_from = now() - interval '3 days' where id = ${id}`.execute(db);
    await report(vehicle, 41, 1, { ageSeconds: 25 * 3600 });
    await report(vehicle, 42, 1, { ageSeconds: 23 * 3600 });
    expect((await open(token)).body.trail).toEqual([[42, 1]]);
  });

  it('answers ended, revoked and unknown links alike, and throttles an address', async () => {
    const { id, token } = await share();
    expect((await open(token)).status).toBe(200);
    expect((await api.delete(`/v1/x/shares/${id}`)).status).toBe(200);
    expect((await api.delete(`/v1/x/shares/${id}`)).status).toBe(200);
    const late = await share();
    await sql`update share set ends_at = now() where id = ${late.id}`.execute(db);
    for (const one of [token, late.token, 'unknown', '']) expect(await open(one)).toMatchObject(ended);
    expect(await stateOf(id)).toBe('ended');

    const flood = createApiClient(httpUrl, { 'x-share-token': 'unknown', 'x-forwarded-for': '10.0.0.1' });
    const asked = Array.from({ length: 301 }, async () => (await flood.get('/v1/x/shared')).status);
    expect((await Promise.all(asked)).filter((status) => status === 429)).toHaveLength(1);
  });

  it('shows no position while location privacy is on, and none of that interval afterwards', async () => {
    const { vehicle, token } = await share();
    await report(vehicle, 43, 1);
    await api.post('/v1/vehicle/privacy/on', { vehicleId: vehicle.id });
    const { body } = await open(token);
    expect([body.isPrivate, body.position, body.trail]).toEqual([true, undefined, []]);
    await api.post('/v1/vehicle/privacy/off', { vehicleId: vehicle.id });
    await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, device_id, received_at)
      select lower(period) + (upper(period) - lower(period)) / 2, ${application.id}, vehicle_id, 44, 1, '', now()
      from privacy_period where vehicle_id = ${Number(vehicle.id)}`.execute(db);
    await report(vehicle, 43.1, 1);
    expect((await open(token)).body.trail).toEqual([
      [43, 1],
      [43.1, 1],
    ]);
  });

  it('with a grid rounds positions and omits speed and heading', async () => {
    const { vehicle, token } = await share({ gridMetres: 500 });
    for (const step of [0, 1, 2]) await report(vehicle, 48.85661 + step * 1e-4, 2.35222);
    const { body } = await open(token);
    const { latitude, longitude } = roundPosition({ latitude: 48.85661, longitude: 2.35222 }, 500);
    expect(body).toMatchObject({ gridMetres: 500, trail: [[latitude, longitude]], position: { latitude, longitude } });
    expect([body.position.speedKmh, body.position.headingDegrees]).toEqual([undefined, undefined]);
    expect(JSON.stringify(body)).not.toMatch(/48\.8566|2\.3522/);
  });

  it('rounds every position by at most half the width of the grid in each direction', () => {
    const place = fc.record({
      latitude: fc.double({ min: -85, max: 85, noNaN: true }),
      longitude: fc.double({ min: -179, max: 179, noNaN: true }),
    });
    fc.assert(
      fc.property(place, fc.integer({ min: 100, max: 10_000 }), (exact, grid) => {
        const rounded = roundPosition(exact, grid);
        const metres = (degrees: number, of: number) => Math.abs(degrees) * 111_195 * of;
        const eastWest = Math.cos((rounded.latitude * Math.PI) / 180);
        expect(metres(exact.latitude - rounded.latitude, 1)).toBeLessThanOrEqual(grid / 2 + 1);
        expect(metres(exact.longitude - rounded.longitude, eastWest)).toBeLessThanOrEqual(grid / 2 + 1);
      }),
    );
  });

  it('of a trip shows only that trip', async () => {
    const vehicle = await createVehicle(db, application);
    for (const [latitude, ageSeconds] of [
      [41, 900],
      [42, 600],
      [42.1, 300],
      [43, 60],
    ] as const)
      await report(vehicle, latitude, 1, { ageSeconds });
    const { rows } = await sql<{
      id: string;
    }>`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled,
        inferred, distance_km)
      values (${Number(vehicle.id)}, now() - interval '700 s', now() - interval '200 s', now(), true, false, 11)
      returning id`.execute(db);
    const { token } = await shareOf(vehicle, { tripId: rows[0]?.id });
    expect((await open(token)).body).toMatchObject({
      kind: 'trip',
      trail: [
        [42, 1],
        [42.1, 1],
      ],
      position: { latitude: 42.1, longitude: 1 },
    });
  });
});

describe('a share ends', () => {
  it('when the vehicle enters the radius around the place', async () => {
    const place = { latitude: 48, longitude: 2, radiusMetres: 200 };
    const { vehicle, id, token } = await share({ place });
    await report(vehicle, 48.01, 2);
    expect((await open(token)).status).toBe(200);
    await report(vehicle, 48.0015, 2);
    await report(vehicle, 48.01, 2);
    expect(await stateOf(id)).toBe('ended');
    await expectEnded(token);
  });

  it('by a reading that arrives up to an hour late, counted from the previous view', async () => {
    const place = { latitude: 48, longitude: 2, radiusMetres: 200 };
    const [late, tooLate] = [await share({ place }), await share({ place })];
    await sql`update share set shown_from = now() - interval '1 day', last_viewed_at = now()
      where id in (${late.id}, ${tooLate.id})`.execute(db);
    await report(late.vehicle, 48, 2, { ageSeconds: 3500 });
    await report(tooLate.vehicle, 48, 2, { ageSeconds: 3700 });
    await expectEnded(late.token);
    expect((await open(tooLate.token)).status).toBe(200);
  });

  it('with its booking', async () => {
    const vehicle = await createVehicle(db, application);
    const { rows } = await sql<{
      id: string;
    }>`insert into booking (application_id, vehicle_id, user_id, type, starts_at,
        authorization_id) values (${application.id}, ${Number(vehicle.id)}, 'driver', 'FREE_FLOATING', now(),
        gen_random_uuid()) returning id`.execute(db);
    const { token } = await shareOf(vehicle, { bookingId: rows[0]?.id });
    expect((await open(token)).status).toBe(200);
    await sql`update booking set stopped_at = now(), ends_at = now() where id = ${rows[0]?.id}`.execute(db);
    await expectEnded(token);
  });

  it('permanently when the vehicle is archived or deleted', async () => {
    const [archived, deleted] = [await share(), await share()];
    for (const state of [true, false]) await api.put('/v1/vehicle', { id: archived.vehicle.id, archived: state });
    await sql`update vehicle set deleted_at = now() where id = ${Number(deleted.vehicle.id)}`.execute(db);
    for (const { token } of [archived, deleted]) expect(await open(token)).toMatchObject(ended);
  });

  it('with its application, also while its vehicles are being deleted', async () => {
    const other = await createApplication(db);
    const { token } = await shareOf(await createVehicle(db, other), {}, as(other.token));
    expect((await open(token)).status).toBe(200);
    await sql`update application set deleted_at = now() where id = ${other.id}`.execute(db);
    await expectEnded(token);
  });

  it('while its application moves to another cell', async () => {
    const other = await createApplication(db);
    const { token } = await shareOf(await createVehicle(db, other), {}, as(other.token));
    const setMoving = (since: string | null) =>
      sql`update application set moving_since = ${since} where id = ${other.id}`.execute(db);
    await setMoving('now');
    await expectEnded(token);
    await setMoving(null);
    expect((await open(token)).status).toBe(200);
  });

  it('when the user who created it may no longer use the vehicle', async () => {
    const vehicle = await createVehicle(db, application);
    const user = await createUser(db, application, { vehicleIds: [vehicle.id], role: 'manager' });
    const { id, token } = await shareOf(vehicle, {}, as(user.token));
    expect((await open(token)).status).toBe(200);
    await sql`update vehicle_grant set role = 'viewer' where user_id = ${user.id}`.execute(db);
    expect(await stateOf(id)).toBe('ended');
    await expectEnded(token);
  });

  it('when the operator who created it no longer sees the application', async () => {
    const { id: operatorId, cookie } = await createOperator(db, { applicationIds: [application.id] });
    const headers = { cookie, origin: new URL(httpUrl).origin, 'x-application': application.appId };
    const { id, token } = await share({}, createApiClient(httpUrl, headers));
    expect((await open(token)).status).toBe(200);
    expect(await stateOf(id)).toBe('active');
    await sql`delete from operator_application where operator_id = ${operatorId}`.execute(db);
    await sql`insert into operator_application select ${operatorId}, id from application where id <> ${application.id}
      limit 1`.execute(db);
    await sql`update operator set role = 'viewer' where id = ${operatorId}`.execute(db);
    await expectEnded(token);
  });
});

describe('the list of shares', () => {
  it('counts views, and the audit contains creation, first view and revocation', async () => {
    const { id, vehicle, token } = await share();
    const { body } = await open(token);
    await open(token, `?after=${body.after}`);
    await open(token);
    await api.delete(`/v1/x/shares/${id}`);
    const { body: list } = await api.get(`/v1/x/shares?vehicleId=${vehicle.id}`);
    expect(list.shares).toEqual([
      expect.objectContaining({ id, vehicleId: vehicle.id, state: 'ended', views: 2, createdBy: 'application' }),
    ]);
    expect(list.shares[0].lastViewedAt).toMatch(/Z$/);
    expect(JSON.stringify(list)).not.toContain(token);
    const { rows } = await sql<{ action: string }>`select action from audit where subject = ${`share:${id}`}
      order by position`.execute(db);
    expect(rows.map(({ action }) => action)).toEqual(['share.create', 'share.view', 'share.revoke']);
  });
});

describe('a user', () => {
  it('can share only vehicles that it may use, and revoke only its own shares unless it manages the vehicle', async () => {
    const vehicle = await createVehicle(db, application);
    const [viewer, one, manager] = await Promise.all(
      (['viewer', 'manager', 'manager'] as const).map((role) =>
        createUser(db, application, { vehicleIds: [vehicle.id], role }),
      ),
    );
    const request = { vehicleId: vehicle.id, until: inMinutes(5) };
    expect((await as(viewer?.token ?? '').post('/v1/x/shares', request)).body.error).toBe('UNAUTHORIZED');
    const { id } = await shareOf(vehicle, {}, as(one?.token ?? ''));
    expect((await as(viewer?.token ?? '').delete(`/v1/x/shares/${id}`)).body.error).toBe('UNAUTHORIZED');
    expect((await as(manager?.token ?? '').delete(`/v1/x/shares/${id}`)).status).toBe(200);
    const stranger = await createUser(db, application);
    await grantVehicle(db, stranger.id, (await createVehicle(db, application)).id);
    expect((await as(stranger.token).get('/v1/x/shares')).body.shares).toEqual([]);
    expect((await as(stranger.token).delete(`/v1/x/shares/${id}`)).body.error).toBe('NOT_FOUND');
  });
});

it('rejects invalid ends, bookings and trips, and archived vehicles, naming the field', async () => {
  const vehicle = await createVehicle(db, application);
  const ask = async (more: object) => {
    const { status, body } = await api.post('/v1/x/shares', { vehicleId: vehicle.id, until: inMinutes(5), ...more });
    return [status, body.error, body.field];
  };
  const unknown = '0197a1de-5f0e-7000-8000-000000000005';
  expect(await ask({ until: inMinutes(-1) })).toEqual([400, 'INVALID_INTERVAL', 'until']);
  expect(await ask({ until: inMinutes(32 * 1440) })).toEqual([400, 'INVALID_PARAMETER', 'until']);
  expect(await ask({ bookingId: unknown })).toEqual([404, 'NOT_FOUND', 'bookingId']);
  expect(await ask({ tripId: unknown })).toEqual([404, 'NOT_FOUND', 'tripId']);
  const place = { latitude: 91, longitude: 0, radiusMetres: 50 };
  expect(await ask({ place })).toEqual([400, 'INVALID_PARAMETER', 'place.latitude']);
  await updateVehicle(db, vehicle.id, { archived_at: new Date() });
  expect(await ask({})).toEqual([409, 'VEHICLE_ARCHIVED', undefined]);
  expect((await open('x', '?after=never')).status).toBe(404);
});

it('the page has the texts of every language of the console, and each language the same texts', async () => {
  const file = readFileSync(new URL('texts.json', import.meta.url), 'utf8');
  const texts = JSON.parse(file) as Record<string, Record<string, string | string[]>>;
  expect(Object.keys(texts).sort()).toEqual(['de', 'en', 'es', 'fr', 'it', 'pl', 'pt']);
  for (const own of Object.values(texts)) {
    expect(Object.keys(own)).toEqual(Object.keys(texts['en'] ?? {}));
    expect(own['winds']).toHaveLength(8);
  }
});
