import type { ApiClient } from '@odograph/testkit/api-client';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { application, client, platform, setUpVehicle, vehicle } from '../application.fixture.ts';
import { storeTrip } from './trips.fixture.ts';

setUpVehicle();

const path = (query = '') => `/v1/vehicle/${vehicle.id}/trips${query}`;
const year = '?from=2025-01-01&until=2025-12-31';
const store = (start: string, minutes = 30, more: object = {}) =>
  storeTrip(platform.db, vehicle.id, {
    started_at: `${start}Z`,
    ended_at: new Date(Date.parse(`${start}Z`) + minutes * 60_000).toISOString(),
    distance_km: 12,
    ...more,
  });
const starts = (body: { trips: { timestamp: string }[] }) => body.trips.map(({ timestamp }) => timestamp);

describe('GET /v1/vehicle/{id}/trips', () => {
  it('answers every field of the trip object', async () => {
    await sql`update application set tariff_per_km = 0.5, tariff_per_minute = 0.1
      where id = ${application.id}`.execute(platform.db);
    const id = await store('2025-03-01T08:00:00.25', 30, {
      fuel_litres: 0.9,
      electric_kwh: 1.8,
      first_latitude: 48.8566,
      first_longitude: 2.3522,
      last_latitude: 0,
      last_longitude: 0,
    });
    const { status, body } = await client.get(path(year));
    expect(status).toBe(200);
    expect(body).toEqual({
      trips: [
        {
          trip_id: id,
          timestamp: '2025-03-01T08:00:00.250Z',
          distance: 12,
          duration: 30,
          cost: 9,
          fuel_consumption: 0.9,
          fuel_consumption_100km: 7.5,
          average_speed: 24,
          electric_consumption: 1.8,
          electric_consumption_100km: 15,
          first_position: { latitude: 48.8566, longitude: 2.3522 },
          last_position: { latitude: 0, longitude: 0 },
        },
      ],
    });
  });

  it('answers 0 for unknown values, and omits private end points', async () => {
    await store('2025-03-01T08:00:00');
    const { body } = await client.get(path(year));
    expect(body.trips[0]).toMatchObject({ cost: 0, fuel_consumption: 0, electric_consumption: 0 });
    expect(body.trips[0]).not.toHaveProperty('first_position');
    expect(body.trips[0]).not.toHaveProperty('last_position');
  });

  it('has no consumption per 100 km for a trip below 1 km', async () => {
    await store('2025-03-01T08:00:00', 3, { distance_km: 0.99, fuel_litres: 0.2, electric_kwh: 0.2 });
    const { body } = await client.get(path(year));
    expect(body.trips[0]).toMatchObject({
      fuel_consumption: 0.2,
      fuel_consumption_100km: 0,
      electric_consumption_100km: 0,
    });
  });

  it('converts a fuel level in percent to litres if the tank volume is known', async () => {
    await store('2025-03-01T08:00:00', 30, { fuel_percent: 10 });
    expect((await client.get(path(year))).body.trips[0].fuel_consumption).toBe(0);
    await sql`update vehicle set tank_litres = 45 where id = ${vehicle.id}::integer`.execute(platform.db);
    expect((await client.get(path(year))).body.trips[0].fuel_consumption).toBe(4.5);
  });

  it('selects trips by start, both bounds included, in every timestamp format', async () => {
    const days = ['2025-03-03T00:00:00', '2025-03-01T00:00:00', '2025-03-02T00:00:00'];
    for (const day of days) await store(day);
    const first = ['2025-03-01T00:00:00.000Z', '2025-03-02T00:00:00.000Z'];
    const forms = [
      ['2025-03-01', '2025-03-02T01:00:00%2B01:00'],
      [1740787200, 1740873600],
      [1740787200000, 1740873600000],
    ];
    for (const [from, until] of forms) {
      expect(starts((await client.get(path(`?from=${from}&until=${until}`))).body)).toEqual(first);
    }
    expect(starts((await client.get(path(`?from=1740787200.001&until=1740873599`))).body ?? [])).toEqual([]);
  });

  it('covers the current month in the time zone of the application by default', async () => {
    const zone = 'Pacific/Kiritimati';
    await sql`update application set time_zone = ${zone} where id = ${application.id}`.execute(platform.db);
    const { rows } = await sql<{
      month: Date;
    }>`select date_trunc('month', now() at time zone ${zone}) at time zone ${zone}
      as month`.execute(platform.db);
    const month = rows[0]?.month ?? new Date();
    const at = (ms: number) => new Date(month.getTime() + ms).toISOString().slice(0, -1);
    for (const ms of [-1, 0]) await store(at(ms), 1);
    const later = new Date(Date.now() + 3_600_000).toISOString().slice(0, -1);
    await store(later, 1, { ends_known_at: month.toISOString() });
    expect(starts((await client.get(path())).body)).toEqual([`${at(0)}Z`]);
  });

  it.each([1, 2])('links its pages of %d up to the last one', async (limit) => {
    for (let day = 1; day <= 5; day += 1) await store(`2025-03-0${day}T00:00:00`);
    const seen: string[] = [];
    let next: string | undefined = path(`${year}&limit=${limit}`);
    while (next) {
      const { body, headers }: Awaited<ReturnType<ApiClient['get']>> = await client.get(next);
      seen.push(...starts(body));
      next = /<(.+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
      expect(headers.get('x-has-more')).toBe(String(next !== undefined));
    }
    expect(seen).toEqual([1, 2, 3, 4, 5].map((day) => `2025-03-0${day}T00:00:00.000Z`));
    const beyond = await client.get(path(`${year}&offset=5`));
    expect([beyond.status, beyond.body]).toEqual([200, { trips: [] }]);
  });

  it('answers all trips without a limit, and at most `limit` with one', async () => {
    await sql`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled, inferred, distance_km)
      select ${vehicle.id}::integer, start, start + interval '1 minute', start, true, false, 1
      from generate_series('2025-01-01'::timestamptz, '2025-12-30', '5 hours') as start`.execute(platform.db);
    const all = await client.get(path(year));
    expect(all.body.trips).toHaveLength(1743);
    expect([all.headers.get('x-has-more'), all.headers.get('link')]).toEqual(['false', null]);
    expect((await client.get(path(`${year}&limit=&offset=`))).body).toEqual(all.body);
    expect((await client.get(path(`${year}&limit=1500`))).body.trips).toHaveLength(1500);
    expect((await client.get(path(`${year}&limit=1500&offset=1500`))).body.trips).toHaveLength(243);
  });

  it('answers NO_DATA with an empty list when there is no trip', async () => {
    const { status, body } = await client.get(path(year));
    expect(status).toBe(404);
    expect(body).toMatchObject({ trips: [], error: 'NO_DATA' });
  });

  it('answers a trip under way only when its end is known', async () => {
    const id = await store('2025-03-01T08:00:00', 5, { ends_known_at: new Date(Date.now() + 60_000).toISOString() });
    expect((await client.get(path(year))).status).toBe(404);
    await sql`update trip set ends_known_at = now() where id = ${id}`.execute(platform.db);
    expect((await client.get(path(year))).body.trips).toHaveLength(1);
  });

  it.each(['from=yesterday', 'until=-1', 'limit=-1', 'limit=x', 'offset=-1', 'offset=Infinity', 'limit=1.5'])(
    'refuses %s and names the field',
    async (query) => {
      const { status, body } = await client.get(path(`?${query}`));
      expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', query.split('=')[0]]);
    },
  );
});
