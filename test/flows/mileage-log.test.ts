import { fleetService } from '@odograph/fleet/service';
import { queryService } from '@odograph/query/service';
import { createApplication, createUser, createVehicle, grantVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';

const platform = await usePlatform([fleetService, queryService]);
const application = await createApplication(platform.db);
const client = platform.as(application.token);
let vehicleId: string;
beforeEach(async () => {
  ({ id: vehicleId } = await createVehicle(platform.db, application));
});

const dayMs = 86_400_000;
/** Stores a trip of 30 minutes and 12.5 km, with odometer readings, that ended some days ago. */
async function storeTrip(daysAgo: number): Promise<string> {
  const end = new Date(Date.now() - daysAgo * dayMs - 60_000);
  const start = new Date(end.getTime() - 1_800_000);
  await sql`insert into reading (time, application_id, vehicle_id, mileage, device_id, received_at) values
    (${start}, ${application.id}, ${vehicleId}::integer, 1000.2, 'test', now()),
    (${end}, ${application.id}, ${vehicleId}::integer, 1012.7, 'test', now())`.execute(platform.db);
  const { rows } = await sql<{ id: string }>`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled,
      inferred, distance_km, first_latitude, first_longitude, last_latitude, last_longitude)
    values (${vehicleId}::integer, ${start}, ${end}, ${end}, true, false, 12.5, 48.85661, 2.35222, 45.764, 4.83566)
    returning id`.execute(platform.db);
  return rows[0]?.id ?? '';
}

const path = (trip: string) => `/v1/x/vehicle/${vehicleId}/trips/${trip}/mileage`;
const business = { class: 'business', purpose: 'Delivery', partner: 'Dupont SARL', driver: 'alice' };
async function report(reader = client) {
  const from = new Date(Date.now() - 30 * dayMs).toISOString();
  const until = new Date().toISOString();
  const { status, body } = await reader.get(`/v1/x/reports/mileage?from=${from}&until=${until}&vehicleId=${vehicleId}`);
  expect(status).toBe(200);
  return body;
}

describe('the mileage log', () => {
  it('contains date, odometer, places, purpose, partner and driver of business trips, and only the distance of private ones', async () => {
    const [trip, holiday, open] = [await storeTrip(3), await storeTrip(2), await storeTrip(1)];
    expect((await client.post(path(trip), { ...business, endPlace: 'Lyon' })).status).toBe(200);
    expect((await client.post(path(holiday), { class: 'private', startPlace: 'Home' })).status).toBe(200);
    const { rows, vehicles } = await report();
    expect(rows[0]).toMatchObject({
      ...{ ...business, startOdometerKm: 1000.2, endOdometerKm: 1012.7, distanceKm: 12.5 },
      ...{ startPlace: '48.85661, 2.35222', endPlace: 'Lyon', late: false, replaced: 0, tripChanged: false },
    });
    expect(rows[1]).toMatchObject({ tripId: holiday, class: 'private', distanceKm: 12.5 });
    expect(rows[1]).not.toHaveProperty('startPlace');
    expect(rows[1]).not.toHaveProperty('endPlace');
    expect(rows[2]).toMatchObject({ tripId: open, endPlace: '45.76400, 4.83566' });
    expect(rows[2]).not.toHaveProperty('class');
    expect(vehicles).toMatchObject([
      { trips: 3, distanceKm: 37.5, businessKm: 12.5, privateKm: 12.5, commuteKm: 0, unclassifiedKm: 12.5 },
    ]);
  });

  it('is append-only: a later entry supersedes an earlier one, is audited, and no entry can be changed or deleted', async () => {
    const trip = await storeTrip(1);
    await client.post(path(trip), business);
    const second = await client.post(path(trip), { class: 'private' });
    expect(second.body).toMatchObject({ version: 2, class: 'private', enteredBy: 'application' });
    const { entries } = (await client.get(path(trip))).body;
    expect(entries).toMatchObject([{ ...business, version: 1 }, { version: 2 }]);
    const { rows, replaced } = await report();
    expect(rows).toMatchObject([{ class: 'private', replaced: 1 }]);
    expect(replaced).toMatchObject([{ ...business, version: 1 }]);
    await expect(sql`update mileage_entry set purpose = 'x'`.execute(platform.db)).rejects.toThrow('cannot be changed');
    const { rows: audited } = await sql<{ details: object }>`select details from audit
      where action = 'mileage.enter' and subject = ${`vehicle:${vehicleId}`} order by position`.execute(platform.db);
    expect(audited).toMatchObject([{ details: { trip, version: 1 } }, { details: { version: 2, class: 'private' } }]);
  });

  it('never shows a driver an own entry that another person has replaced as the valid one', async () => {
    const trip = await storeTrip(1);
    const { id: userId, token } = await createUser(platform.db, application);
    await grantVehicle(platform.db, userId, vehicleId, 'driver');
    await client.post(path(trip), { ...business, driver: userId });
    await client.post(path(trip), { class: 'private', driver: 'another' });
    const { rows, replaced, vehicles } = await report(platform.as(token));
    expect(rows).toMatchObject([{ tripId: trip }]);
    expect(rows[0]).not.toHaveProperty('class');
    expect(rows[0]).not.toHaveProperty('purpose');
    expect(replaced).toMatchObject([{ version: 1, class: 'business' }]);
    expect(vehicles).toMatchObject([{ businessKm: 0, privateKm: 0, unclassifiedKm: 12.5 }]);
  });

  it('gives concurrent entries distinct versions, or fails one with CHANGED_MEANWHILE', async () => {
    const trip = await storeTrip(1);
    const answers = await Promise.all(Array.from({ length: 6 }, () => client.post(path(trip), business)));
    for (const { status } of answers) expect([200, 412]).toContain(status);
    const { entries } = (await client.get(path(trip))).body;
    expect(entries.map(({ version }: { version: number }) => version)).toEqual(
      entries.map((_: unknown, n: number) => n + 1),
    );
    expect(entries).toHaveLength(answers.filter(({ status }) => status === 200).length);
  });

  it('marks late entries, and entries whose trip was changed or replaced by late data', async () => {
    const [late, changed, replaced] = [await storeTrip(9), await storeTrip(5), await storeTrip(4)];
    for (const trip of [late, changed, replaced]) await client.post(path(trip), business);
    await sql`update trip set distance_km = 13 where id = ${changed}`.execute(platform.db);
    await sql`delete from trip where id = ${replaced}`.execute(platform.db);
    const { rows } = await report();
    expect(rows).toMatchObject([
      { tripId: late, late: true, tripChanged: false },
      { tripId: changed, late: false, tripChanged: true, distanceKm: 13, enteredDistanceKm: 12.5 },
      { tripId: replaced, tripChanged: true, enteredDistanceKm: 12.5, ...business },
    ]);
    expect(rows[2]).not.toHaveProperty('distanceKm');
  });

  it('keeps the odometer of entered trips after their readings were dropped', async () => {
    const [entered, open] = [await storeTrip(3), await storeTrip(2)];
    await client.post(path(entered), business);
    await sql`delete from reading where vehicle_id = ${vehicleId}::integer`.execute(platform.db);
    const { rows } = await report();
    expect(rows).toMatchObject([
      { startOdometerKm: 1000.2, endOdometerKm: 1012.7, tripChanged: false },
      { tripId: open },
    ]);
    expect(rows[1]).not.toHaveProperty('startOdometerKm');
  });

  it('omits an odometer of 0, which devices send if it is unknown', async () => {
    const trip = await storeTrip(3);
    await sql`update reading set mileage = 0, fleet = '{"mileage": 0}' where vehicle_id = ${vehicleId}::integer
      and mileage = 1012.7`.execute(platform.db);
    expect((await client.post(path(trip), business)).body).toMatchObject({ endOdometerKm: 1000.2 });
    await sql`update reading set mileage = 0 where vehicle_id = ${vehicleId}::integer`.execute(platform.db);
    const other = await storeTrip(1);
    await sql`update reading set mileage = 0 where vehicle_id = ${vehicleId}::integer`.execute(platform.db);
    const row = (await report()).rows.find(({ tripId }: { tripId: string }) => tripId === other);
    expect(row).not.toHaveProperty('startOdometerKm');
  });

  it('restricts drivers to trips of their own bookings, and to entries within 7 days', async () => {
    const { id: userId, token } = await createUser(platform.db, application);
    const driver = platform.as(token);
    await grantVehicle(platform.db, userId, vehicleId, 'driver');
    const [foreign, own, old] = [await storeTrip(3), await storeTrip(2), await storeTrip(8)];
    for (const days of [2, 8]) {
      await sql`insert into booking (application_id, vehicle_id, user_id, account_id, type, starts_at, ends_at, authorization_id)
        values (${application.id}, ${vehicleId}::integer, ${userId}, ${userId}, 'BOOKING', now() - make_interval(days => ${days})
          - interval '2 hours', now() - make_interval(days => ${days}), gen_random_uuid())`.execute(platform.db);
    }
    expect((await driver.post(path(own), { class: 'business', purpose: 'Delivery' })).body).toMatchObject({
      driver: userId,
    });
    for (const trip of [foreign, old]) expect((await driver.post(path(trip), business)).status).toBe(403);
    await client.post(path(foreign), business);
    expect((await driver.get(path(foreign))).status).toBe(403);
    const from = new Date(Date.now() - 30 * dayMs).toISOString();
    const { rows } = (await driver.get(`/v1/x/reports/mileage?from=${from}&until=${new Date().toISOString()}`)).body;
    expect(rows.map((row: { class?: string }) => row.class)).toEqual([undefined, undefined, 'business']);
  });

  it('rejects business trips without a purpose, and unknown trips', async () => {
    const trip = await storeTrip(1);
    expect((await client.post(path(trip), { class: 'business' })).body).toMatchObject({ field: 'purpose' });
    for (const id of ['x', '0197a1de-5f0e-7000-8000-000000000005']) {
      expect((await client.post(path(id), { class: 'private' })).body).toMatchObject({ error: 'NOT_FOUND' });
    }
  });

  it('pseudonymizes an erased driver, and removes the note', async () => {
    await client.post(path(await storeTrip(1)), { ...business, driver: 'bob', note: 'called Bob at home' });
    await sql`insert into booking (application_id, vehicle_id, user_id, type, starts_at, ends_at, stopped_at, authorization_id)
      values (${application.id}, ${vehicleId}::integer, 'bob', 'BOOKING', '2025-01-01', '2025-01-02', now(), gen_random_uuid())`.execute(
      platform.db,
    );
    const exported = await platform.admin.get(`/v1/x/admin/persons/bob?appId=${application.appId}`);
    expect(exported.body.mileage).toMatchObject([{ driver: 'bob', note: 'called Bob at home' }]);
    const { body } = await platform.admin.post('/v1/x/admin/persons/bob/erase', { appId: application.appId });
    expect(body.changed).toMatchObject({ mileageEntries: 1 });
    const [row] = (await report()).rows;
    expect(row).toMatchObject({ driver: body.pseudonym, purpose: 'Delivery' });
    expect(row).not.toHaveProperty('note');
  });
});
