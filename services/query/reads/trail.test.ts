import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { application, client, platform, setUpVehicle, vehicle } from '../application.fixture.ts';
import { storeReadings } from '../query.fixture.ts';
import { simplify, type TrailPosition, withoutErrors } from './trail.ts';

setUpVehicle();

const startMs = Date.parse('2025-03-01T08:00:00Z');
const at = (seconds: number) => new Date(startMs + seconds * 1000).toISOString();
const read = (query: string) => client.get(`/v1/x/vehicle/${vehicle.id}/trail?${query}`);

/** One position a second: `metres` north of the start, with a speed. */
const store = (positions: readonly { seconds: number; metres: number; speed?: number }[]) =>
  storeReadings(
    platform.db,
    application.id,
    positions.map(({ seconds, metres, ...more }) => ({
      vehicle_id: vehicle.id,
      time: at(seconds),
      latitude: 48 + metres / 111_195,
      longitude: 2,
      ...more,
    })),
  );
const range = (from: number, until: number, step = 1) =>
  Array.from({ length: (until - from) / step }, (_, index) => from + index * step);

describe('GET /v1/x/vehicle/{id}/trail', () => {
  it('answers the route with stops, gaps and totals', async () => {
    await store([
      ...range(0, 100, 10).map((seconds) => ({ seconds, metres: seconds * 20, speed: 72 })),
      ...range(100, 400, 10).map((seconds) => ({ seconds, metres: 2000 + (seconds % 3), speed: 0 })),
      ...range(400, 500, 10).map((seconds) => ({ seconds, metres: 2000 + (seconds - 400) * 20, speed: 72 })),
      { seconds: 1000, metres: 10_000, speed: 90 },
      { seconds: 1010, metres: 10_250 },
      { seconds: 1011, metres: 90_000 },
    ]);
    const { status, body } = await read(`from=${at(0)}&until=${at(2000)}&points=6`);
    expect(status).toBe(200);
    expect(body.stops).toEqual([
      {
        from: '2025-03-01T08:01:40.000000Z',
        until: '2025-03-01T08:06:40.000000Z',
        seconds: 300,
        ...{ latitude: expect.closeTo(48.018, 3), longitude: 2 },
      },
    ]);
    expect(body.totals).toEqual({
      ...{
        distance: expect.closeTo(10.25, 2),
        movingSeconds: 200,
        stoppedSeconds: 300,
        gapSeconds: 510,
        maximumSpeed: 90,
      },
    });
    const points = body.points.map(({ time, gap }: { time: number; gap?: true }) => [time - startMs / 1000, gap]);
    expect(points).toEqual([
      [0, undefined],
      [100, undefined],
      [400, undefined],
      [490, undefined],
      [1000, true],
      [1010, undefined],
    ]);
    expect(body.points[0]).toEqual({ time: startMs / 1000, latitude: 48, longitude: 2, speed: 72 });
  });

  it('counts rare reports of a parked vehicle as a stop, and knows nothing of private positions', async () => {
    await store([
      { seconds: 0, metres: 0 },
      { seconds: 86_400, metres: 20 },
    ]);
    await storeReadings(platform.db, application.id, [{ vehicle_id: vehicle.id, time: at(50), speed: 80 }]);
    const { body } = await read(`from=${at(0)}&until=${at(100_000)}`);
    expect(body.points).toHaveLength(2);
    expect(body.stops).toMatchObject([{ seconds: 86_400 }]);
    expect(body.totals).toEqual({
      distance: 0,
      movingSeconds: 0,
      stoppedSeconds: 86_400,
      gapSeconds: 0,
      maximumSpeed: 0,
    });
    const nothing = await read('from=2020-01-01&until=2020-01-02');
    expect(nothing.body).toMatchObject({ points: [], stops: [], totals: { distance: 0 } });
  });

  it('thins out more positions than it can hold, and keeps distance and highest speed', async () => {
    await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, speed, device_id, received_at)
      select ${at(0)}::timestamptz + n * interval '1 second', ${application.id}, ${vehicle.id}::integer, 48 + n * 1e-5, 2,
        case when n = 779 then 130 else 34 end, 'test', now()
        from generate_series(0, 49999) as n`.execute(platform.db);
    const { body } = await read(`from=${at(0)}&until=${at(50_000)}`);
    expect(body.points).toHaveLength(1000);
    expect(body.totals.maximumSpeed).toBe(130);
    expect(body.totals.distance).toBeCloseTo(55.6, 1);
  });

  it('finds the gaps and driving time of a month, though it is thinned out', async () => {
    // 1000 positions a day, one each 10 s at 72 km/h, to and fro; 30 of them are missing after an hour.
    const storeDays = (from: number, until: number, isMissing: string) =>
      sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, speed, device_id, received_at)
        select ${at(0)}::timestamptz + day * interval '1 day' + n * interval '10 seconds', ${application.id},
          ${vehicle.id}::integer, 48 + case day % 2 when 0 then n else 999 - n end * 200 / 111195.0, 2, 72, 'test', now()
        from generate_series(${from}::integer, ${until}::integer - 1) as day, generate_series(0, 999) as n
        where not (n between 360 and 389 and ${sql.raw(isMissing)})`.execute(platform.db);
    await storeDays(0, 28, 'false');
    const night = 86_400 - 9990;
    for (const days of [28, 31]) {
      const { body } = await read(`from=${at(0)}&until=${at(days * 86_400)}`);
      expect(body.points.filter(({ gap }: { gap?: true }) => gap)).toHaveLength(0);
      expect(body.stops.map(({ seconds }: { seconds: number }) => seconds)).toEqual(range(0, 27).map(() => night));
      expect(body.totals).toEqual({
        distance: expect.closeTo((279_720 * 72) / 3600, -1),
        ...{ movingSeconds: 279_720, stoppedSeconds: 27 * night, gapSeconds: 0, maximumSpeed: 72 },
      });
    }
    await storeDays(28, 31, 'true');
    const { body } = await read(`from=${at(0)}&until=${at(31 * 86_400)}`);
    expect(body.points.filter(({ gap }: { gap?: true }) => gap)).toHaveLength(3);
    expect(body.totals).toMatchObject({ movingSeconds: 309_690 - 3 * 310, gapSeconds: 3 * 310 });
  });

  it('divides a month of short stops and drives into moving and standing, within 2 %', async () => {
    // Of each 70 s, the vehicle drives 40 s and waits 30 s, for three hours a day.
    await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, speed, device_id, received_at)
      select ${at(0)}::timestamptz + day * interval '1 day' + n * interval '10 seconds', ${application.id},
        ${vehicle.id}::integer, 48 + (n / 7 * 4 + least(n % 7, 4)) * 100 / 111195.0, 2,
        case when n % 7 < 4 then 36 else 0 end, 'test', now()
      from generate_series(0, 30) as day, generate_series(0, 1079) as n`.execute(platform.db);
    const month = (await read(`from=${at(0)}&until=${at(31 * 86_400)}`)).body.totals;
    const day = (await read(`from=${at(0)}&until=${at(86_400)}`)).body.totals;
    expect(month.movingSeconds / (31 * day.movingSeconds)).toBeCloseTo(1, 1.4);
  });

  it('leaves out 0,0 at the start, in the middle and at the end of a drive', async () => {
    const isWrong = (seconds: number) => seconds < 30 || (seconds >= 5000 && seconds < 5060) || seconds >= 9990;
    await storeReadings(
      platform.db,
      application.id,
      range(0, 10_000, 10).map((seconds) => ({
        ...{ vehicle_id: vehicle.id, time: at(seconds), speed: 72 },
        ...(isWrong(seconds) ? { latitude: 0, longitude: 0 } : { latitude: 48 + seconds * 1.8e-4, longitude: 2 }),
      })),
    );
    const { body } = await read(`from=${at(0)}&until=${at(10_000)}&points=5000`);
    expect(body.points).toHaveLength(1000 - 3 - 6 - 1);
    expect(body.totals).toMatchObject({ distance: expect.closeTo(199, 0), movingSeconds: 9950, gapSeconds: 0 });
  });

  it('refuses long and empty intervals', async () => {
    for (const query of ['from=9&until=9', 'from=2025-01-01&until=2025-02-02']) {
      const refused = await read(query);
      expect([refused.status, refused.body.error, refused.body.field]).toEqual([400, 'INVALID_INTERVAL', 'until']);
    }
    expect((await read('from=0&until=9&points=1')).body.field).toBe('points');
  });
});

describe('errors of the receiver', () => {
  const driven = (index: number): TrailPosition => ({
    ...{ time: index * 10, latitude: 48 + index * 1e-3, longitude: 2, speed: null, angle: null },
  });
  const atZero = (index: number): TrailPosition => ({ ...driven(index), latitude: 0, longitude: 0 });
  const sequence = (runs: readonly (readonly [correct: boolean, length: number])[]) =>
    runs
      .flatMap(([correct, length]) => range(0, length).map(() => correct))
      .map((correct, index) => (correct ? driven(index) : atZero(index)));
  const run = (correct: boolean, min: number, max: number) =>
    fc.integer({ min, max }).map((length) => [correct, length] as const);

  it('are left out, first, last and in between, if each drive has more positions than they', () => {
    const runs = fc.array(fc.tuple(run(false, 0, 9), run(true, 10, 30)), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(runs, run(false, 0, 9), (list, last) => {
        const positions = sequence([...list.flat(), last]);
        expect(withoutErrors(positions)).toEqual(positions.filter(({ longitude }) => longitude === 2));
      }),
    );
  });

  it('never leave a leg of more than 360 km/h and 50 m', () => {
    const places = fc.array(fc.tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 5 })), {
      minLength: 1,
    });
    fc.assert(
      fc.property(places, (list) => {
        const kept = withoutErrors(
          list.map(([north], index) => ({ ...driven(0), time: index * 10, latitude: north / 200 })),
        );
        expect(kept.length).toBeGreaterThan(0);
        for (const [index, { time, latitude }] of kept.slice(1).entries()) {
          const before = kept[index] ?? driven(0);
          const metres = Math.abs(latitude - before.latitude) * 111_195;
          expect(metres).toBeLessThan(100 * (time - before.time) + 51);
        }
      }),
    );
  });

  it('never remove positions from before a long gap', () => {
    const before = range(0, 100).map(driven);
    // After two days, 0,0 is within reach.
    const [wrong, ...after] = range(17_280, 17_400).map((index) => ({ ...driven(100), time: index * 10 }));
    if (!wrong) throw new Error('no position');
    expect(withoutErrors([...before, { ...wrong, latitude: 0, longitude: 0 }, ...after])).toEqual([
      ...before,
      ...after,
    ]);
  });
});

describe('simplification', () => {
  const point = (north: number, east: number, time = 0): TrailPosition => ({
    ...{
      time,
      latitude: north / 1e5,
      longitude: 179.99 + east / 1e5 > 180 ? 179.99 + east / 1e5 - 360 : 179.99 + east / 1e5,
    },
    ...{ speed: null, angle: null },
  });

  it('keeps the corners of a route, across 180 degrees too', () => {
    const legs = [
      ...range(0, 1000, 100).map((metres) => point(0, metres)),
      ...range(0, 1000, 100).map((metres) => point(metres, 1000)),
      ...range(0, 1000, 100).map((metres) => point(1000, 1000 + metres)),
      point(1000, 2000),
    ];
    expect(simplify(legs, 4, new Set())).toEqual([0, 10, 20, 30]);
  });

  it('keeps both ends, as many positions as there is room for, and chosen ones before others', () => {
    const numbers = fc.array(fc.tuple(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 500 })), {
      minLength: 2,
      maxLength: 60,
    });
    fc.assert(
      fc.property(
        numbers,
        fc.integer({ min: 2, max: 30 }),
        fc.array(fc.nat(59), { maxLength: 10 }),
        (list, points, chosen) => {
          const positions = list.map(([north, east]) => point(north, east));
          const kept = new Set(chosen.filter((index) => index > 0 && index < positions.length - 1));
          const found = simplify(positions, points, kept);
          expect(found).toHaveLength(Math.min(points, positions.length));
          expect([found[0], found.at(-1)]).toEqual([0, positions.length - 1]);
          expect(found).toEqual([...found].sort((one, other) => one - other));
          const room = found.length - 2;
          expect(found.filter((index) => kept.has(index))).toHaveLength(Math.min(kept.size, room));
        },
      ),
    );
  });
});
