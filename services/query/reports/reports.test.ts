import { parseTimestamp } from '@odograph/contracts/timestamps';
import { Addresses } from '@odograph/database/addresses';
import { openDatabase } from '@odograph/database/database';
import { readReport } from '@odograph/reports/report';
import {
  createApplication,
  createUnlinkedVehicle,
  createUser,
  grantVehicle,
  updateVehicle,
} from '@odograph/testkit/fixtures';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, inject, it } from 'vitest';
import { application, client, platform, renewVehicle, setUpVehicle, vehicle } from '../application.fixture.ts';
import { storeTrip } from '../reads/trips.fixture.ts';
import { book, raiseAlarm } from './reports.fixture.ts';

setUpVehicle();

const path = (kind: string, query: string) => `/v1/x/reports/${kind}?${query}`;
const march = 'from=2025-03-01&until=2025-04-01';
const trip = (start: string, minutes: number, more: object = {}, vehicleId = vehicle.id) =>
  storeTrip(platform.db, vehicleId, {
    started_at: start,
    ended_at: new Date(Date.parse(start) + minutes * 60_000).toISOString(),
    distance_km: 10,
    ...more,
  });

interface Totals {
  readonly trips: number;
  readonly distanceKm: number;
}
const sum = (rows: readonly Totals[], key: keyof Totals) => rows.reduce((total, row) => total + row[key], 0);

describe('the trip report', () => {
  it('equals GET /v1/vehicle/{id}/trips to the metre, and its totals equal its rows, in any time zone', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 0, max: 90 * 24 * 12 }), { minLength: 1, maxLength: 12 }),
        fc.double({ min: 0.001, max: 900, noNaN: true }),
        fc.constantFrom('UTC', 'Europe/Paris', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Apia'),
        async (slots, distance, timeZone) => {
          await renewVehicle();
          for (const [index, slot] of slots.entries()) {
            const start = new Date(Date.UTC(2025, 1, 15) + slot * 300_000).toISOString();
            await trip(start, 4, { distance_km: distance / (index + 1), fuel_litres: index === 0 ? 0.75 : undefined });
          }
          const query = `from=2025-02-01&until=2025-06-01&vehicleId=${vehicle.id}`;
          const trips = (await client.get(`/v1/vehicle/${vehicle.id}/trips?from=2025-02-01&until=2025-06-01`)).body
            .trips;
          const { status, body } = await client.get(path('trips', `${query}&timeZone=${timeZone}`));
          expect(status).toBe(200);
          expect(
            body.rows.map((row: Record<string, unknown>) => [row['tripId'], row['startedAt'], row['distanceKm']]),
          ).toEqual(trips.map((one: Record<string, unknown>) => [one['trip_id'], one['timestamp'], one['distance']]));
          for (const table of ['vehicles', 'drivers', 'days']) {
            expect(sum(body[table], 'trips')).toBe(slots.length);
            expect(sum(body[table], 'distanceKm')).toBeCloseTo(sum(body.rows, 'distanceKm'), 6);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it('counts trips over midnight on the day of their start, and handles days of 23 and 25 hours', async () => {
    // In Paris: 30 March 23:50 to 31 March 00:20, in summer time.
    await trip('2025-03-30T21:50:00Z', 30);
    await trip('2025-03-29T23:10:00Z', 5);
    const zone = 'timeZone=Europe/Paris';
    const spring = await client.get(path('trips', `from=2025-03-30&until=2025-04-01&${zone}`));
    expect(spring.body).toMatchObject({ from: '2025-03-29T23:00:00.000Z', until: '2025-03-31T22:00:00.000Z' });
    expect(spring.body.days).toMatchObject([
      { date: '2025-03-30', dayHours: 23, trips: 2 },
      { date: '2025-03-31', dayHours: 24, trips: 0 },
    ]);
    const autumn = await client.get(path('trips', `from=2025-10-26&until=2025-10-27&${zone}`));
    expect(autumn.body.days).toMatchObject([{ date: '2025-10-26', dayHours: 25 }]);
  });

  it.each([
    ['Atlantic/Azores', '2025-10-26', '2025-10-26T00:00:00.000Z', 25],
    ['America/Havana', '2025-11-02', '2025-11-02T04:00:00.000Z', 25],
    ['Africa/Cairo', '2025-04-25', '2025-04-24T22:00:00.000Z', 23],
    ['America/Santiago', '2025-09-07', '2025-09-07T04:00:00.000Z', 23],
    ['America/Asuncion', '2023-10-01', '2023-10-01T04:00:00.000Z', 23],
  ])('in %s starts %s at %s, although midnight occurs twice or never', async (timeZone, date, start, dayHours) => {
    const after = (minutes: number) => new Date(Date.parse(start) + minutes * 60_000).toISOString();
    const day = (days: number) => new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);
    for (const minutes of [-10, 20, 80]) await trip(after(minutes), 5);
    const read = async (from: string, until: string) =>
      (await client.get(path('trips', `from=${from}&until=${until}&timeZone=${timeZone}`))).body;
    const own = await read(date, day(1));
    expect(own).toMatchObject({ from: start, until: after(dayHours * 60), days: [{ date, dayHours, trips: 2 }] });
    expect(own.rows).toMatchObject([20, 80].map((minutes) => ({ date, startedAt: after(minutes) })));
    const previous = { date: day(-1), dayHours: 24, trips: 1 };
    expect(await read(day(-1), date)).toMatchObject({ until: start, days: [previous] });
    const both = { days: [previous, { date, dayHours, trips: 2 }] };
    expect(await read(day(-1), day(1))).toMatchObject(both);
  });

  it('names the driver of the booking at the start, and hides the bookings of others from a driver', async () => {
    const { id: userId, token } = await createUser(platform.db, application);
    await grantVehicle(platform.db, userId, vehicle.id, 'driver');
    await book('alice', '2025-03-01T08:00:00Z', '2025-03-01T10:00:00Z');
    await book(userId, '2025-03-02T08:00:00Z', '2025-03-02T10:00:00Z', userId);
    for (const day of ['01', '02', '03']) await trip(`2025-03-${day}T09:30:00Z`, 45);
    const drivers = async (as: typeof client) =>
      (await as.get(path('trips', march))).body.drivers.map(({ driver, trips }: { driver?: string; trips: number }) => [
        driver,
        trips,
      ]);
    expect(await drivers(client)).toEqual(
      expect.arrayContaining([
        [userId, 1],
        ['alice', 1],
        [undefined, 1],
      ]),
    );
    expect(await drivers(platform.as(token))).toEqual([
      [userId, 1],
      [undefined, 2],
    ]);
    await grantVehicle(platform.db, userId, await createUnlinkedVehicle(platform.db, application), 'manager');
    expect(await drivers(platform.as(token))).toEqual([
      [userId, 1],
      [undefined, 2],
    ]);
  });

  it('excludes vehicles of other applications, even by id, and positions in privacy intervals', async () => {
    await trip('2025-03-01T08:00:00Z', 10, { first_latitude: 48.1, first_longitude: 2.1 });
    const own = vehicle.id;
    const { body } = await client.get(path('trips', march));
    expect(body.rows[0]).toMatchObject({ startLatitude: 48.1, startLongitude: 2.1 });
    expect(body.rows[0]).not.toHaveProperty('endLatitude');
    const other = await createUser(platform.db, application);
    expect((await platform.as(other.token).get(path('trips', march))).body.rows).toEqual([]);
    const foreign = await platform.as(other.token).get(path('trips', `${march}&vehicleIds=${own}`));
    expect([foreign.status, foreign.body.error]).toEqual([404, 'UNKNOWN_VEHICLE']);
  });

  it('lets an operator select the application by header or query', async () => {
    await trip('2025-03-01T08:00:00Z', 10);
    const { body } = await platform.admin.get(path('trips', `${march}&appId=${application.appId}`));
    expect(body.rows).toHaveLength(1);
    await sql`update application set time_zone = 'Asia/Tokyo' where id = ${application.id}`.execute(platform.db);
    expect((await client.get(path('trips', march))).body).toMatchObject({
      timeZone: 'Asia/Tokyo',
      from: '2025-02-28T15:00:00.000Z',
    });
  });

  it.each([
    ['from=yesterday&until=2025-04-01', 'INVALID_PARAMETER', 'from'],
    ['from=2025-04-01&until=2025-03-01', 'INVALID_INTERVAL', 'until'],
    ['from=2024-01-01&until=2025-12-31', 'INVALID_INTERVAL', 'until'],
    [`${march}&timeZone=%2B01:00`, 'INVALID_PARAMETER', 'timeZone'],
    [`${march}&timeZone=Mars/Olympus`, 'INVALID_PARAMETER', 'timeZone'],
    [`${march}&timeZone=CET`, 'INVALID_PARAMETER', 'timeZone'],
    [`${march}&timeZone=US/Pacific-New`, 'INVALID_PARAMETER', 'timeZone'],
    [`${march}&format=doc`, 'INVALID_PARAMETER', 'format'],
    [`${march}&zone=UTC`, 'INVALID_PARAMETER', 'zone'],
  ])('refuses %s', async (query, error, field) => {
    const { status, body } = await client.get(path('trips', query));
    expect([status, body.error, body.field]).toEqual([400, error, field]);
  });

  it('rejects intervals with too many rows, and says how to reduce them', async () => {
    for (const day of ['01', '02', '03']) await trip(`2025-03-${day}T09:30:00Z`, 45);
    const [from, until] = ['2025-03-01', '2025-04-01'].map((day) => parseTimestamp('day', day));
    const addresses = new Addresses();
    const scope = {
      viewer: { applicationIds: [application.id] },
      from: from ?? 0n,
      until: until ?? 0n,
      timeZone: 'UTC',
    };
    expect((await readReport(platform.db, 'trips', scope, { addresses, maxRows: 31 })).tables['rows']).toHaveLength(3);
    const details = { field: 'until', reason: 'TOO_MANY_ROWS' };
    await expect(readReport(platform.db, 'trips', scope, { addresses, maxRows: 2 })).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      details,
    });
  });
});

describe('reports as JSON', () => {
  it('are built one at a time for a token; a further one fails with OVERLOADED, and other applications are served', async ({
    skip,
  }) => {
    skip(!inject('isNativeDatabase'), 'the embedded database has one session');
    const other = platform.as((await createApplication(platform.db)).token);
    const blocker = openDatabase({ url: testDatabaseUrl(), name: 'test', size: 1 });
    const requests = await blocker.transaction().execute(async (transaction) => {
      await sql`lock table trip in access exclusive mode`.execute(transaction);
      const competing = [1, 2].map(() => client.get(path('trips', march)));
      const { status, body, headers } = await Promise.race(competing);
      expect([status, body.error, headers.get('retry-after')]).toEqual([503, 'OVERLOADED', '5']);
      expect((await other.get(path('silent-devices', march))).status).toBe(200);
      return { competing };
    });
    const statuses = (await Promise.all(requests.competing)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    await blocker.destroy();
  });
});

describe('the other reports', () => {
  it('name places by addresses, else by coordinates', async () => {
    await sql`insert into geofence (application_id, name, geometry, radius_metres)
      values (${application.id}, 'Depot', '{"type": "Point", "coordinates": [2, 48]}', 100)`.execute(platform.db);
    const ends = { first_latitude: 48, first_longitude: 2, last_latitude: 48.1, last_longitude: 2.123456 };
    await trip('2025-03-01T08:00:00Z', 30, ends);
    await trip('2025-03-02T08:00:00Z', 30, ends);
    const places = { startPlace: 'Depot', endPlace: '48.10000, 2.12346' };
    const { rows: trips } = (await client.get(path('trips', march))).body;
    expect(trips).toMatchObject([places, places]);
    expect((await client.get(path('stops', march))).body.rows).toMatchObject([
      { place: '48.10000, 2.12346' },
      { place: '48.10000, 2.12346' },
    ]);
  });

  it('sum fuel and electricity over the trips that report them', async () => {
    await trip('2025-03-01T08:00:00Z', 30, { distance_km: 10, fuel_litres: 0.8 });
    await trip('2025-03-01T09:00:00Z', 30, { distance_km: 40, electric_kwh: 6 });
    await trip('2025-03-02T09:00:00Z', 30, { distance_km: 5.5 });
    const { body } = await client.get(path('energy', march));
    expect(body.rows).toEqual([
      {
        ...{ vehicleId: vehicle.id, plate: expect.any(String), trips: 3, distanceKm: 55.5, drivingHours: 1.5 },
        ...{ fuelLitres: 0.8, fuelLitresPer100Km: 8, electricKwh: 6, electricKwhPer100Km: 15, tripsWithoutEnergy: 1 },
      },
    ]);
  });

  it('list stops from the end of a trip to the start of the next one', async () => {
    await trip('2025-03-01T08:00:00Z', 30, { last_latitude: 48, last_longitude: 2 });
    await trip('2025-03-01T10:00:00Z', 30);
    const { body } = await client.get(path('stops', march));
    expect(body.rows).toMatchObject([
      { startedAt: '2025-03-01T08:30:00.000Z', endedAt: '2025-03-01T10:00:00.000Z', minutes: 90, latitude: 48 },
      { startedAt: '2025-03-01T10:30:00.000Z' },
    ]);
    expect(body.rows[1]).not.toHaveProperty('latitude');
    expect(body.vehicles).toMatchObject([{ stops: 2, stoppedHours: 1.5 }]);
  });

  it('list no stop where a trip that is inferred across silence continues another', async () => {
    await trip('2025-03-01T08:00:00Z', 30);
    await trip('2025-03-01T08:30:00Z', 90, { inferred: true });
    await trip('2025-03-01T10:00:00Z', 30);
    const { body } = await client.get(path('stops', march));
    expect(body.rows).toMatchObject([{ startedAt: '2025-03-01T10:30:00.000Z' }]);
    expect(body.vehicles).toMatchObject([{ stops: 1, stoppedHours: 0 }]);
  });

  it('count booked hours only within the interval, and include vehicles without bookings', async () => {
    const idle = await createUnlinkedVehicle(platform.db, application);
    await book('alice', '2025-02-28T12:00:00Z', '2025-03-01T12:00:00Z');
    await trip('2025-03-01T08:00:00Z', 60);
    const { body } = await client.get(path('utilization', 'from=2025-03-01&until=2025-03-03'));
    expect(new Map(body.rows.map((row: { vehicleId: string }) => [row.vehicleId, row]))).toMatchObject(
      new Map([
        [vehicle.id, expect.objectContaining({ bookings: 1, bookedHours: 12, bookedPercent: 25, drivenPercent: 2.1 })],
        [idle, expect.objectContaining({ bookings: 0, bookedHours: 0, trips: 0, distanceKm: 0 })],
      ]),
    );
    expect(body.drivers).toEqual([{ driver: 'alice', bookings: 1, bookedHours: 12 }]);
  });

  it('list the alarms raised in the interval, and count open ones', async () => {
    await raiseAlarm('2025-03-01T08:00:00Z', null, '=1+1');
    await raiseAlarm('2025-03-02T08:00:00Z', '2025-03-02T08:05:00Z');
    await raiseAlarm('2025-04-01T00:00:00Z', null);
    const { body } = await client.get(path('alarms', march));
    expect(body.rows).toMatchObject([
      { kind: 'speed', rule: 'Too fast', value: 141.5, note: '=1+1' },
      { clearedAt: '2025-03-02T08:05:00.000Z' },
    ]);
    expect(body.kinds).toEqual([{ kind: 'speed', alarms: 2, openAlarms: 1 }]);
  });

  it('list devices that are silent now, except those of archived vehicles', async () => {
    const around = `from=${new Date(Date.now() - 86_400_000).toISOString()}&until=2099-01-01&timeZone=UTC`;
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const now = around.replace('2099-01-01', until);
    expect((await client.get(path('silent-devices', now))).body.rows).toMatchObject([{ deviceId: vehicle.deviceId }]);
    await sql`insert into vehicle_latest (vehicle_id, time, received_at)
      values (${vehicle.id}::integer, now(), now())`.execute(platform.db);
    expect((await client.get(path('silent-devices', now))).body.rows).toEqual([]);
    await sql`update vehicle_latest set received_at = now() - interval '3 days'`.execute(platform.db);
    expect((await client.get(path('silent-devices', now))).body.rows).toMatchObject([{ silentHours: 72 }]);
    await updateVehicle(platform.db, vehicle.id, { archived_at: new Date() });
    expect((await client.get(path('silent-devices', now))).body.rows).toEqual([]);
  });
});
