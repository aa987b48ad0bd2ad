import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { application, client, platform, renewVehicle, setUpVehicle, vehicle } from '../application.fixture.ts';
import { storeLatest, storeReadings, storeSeries } from '../query.fixture.ts';
import { parseFields } from '../shared/fields.ts';
import { estimateReadings, readBuckets, type Series } from './series.ts';

setUpVehicle();

const startMs = Date.parse('2025-03-01T08:00:00Z');
const at = (seconds: number) => new Date(startMs + seconds * 1000).toISOString();
const read = (query: string) => client.get(`/v1/x/vehicle/${vehicle.id}/series?${query}`);
const store = (readings: object[]) =>
  storeReadings(
    platform.db,
    application.id,
    readings.map((reading) => ({ vehicle_id: vehicle.id, time: at(0), ...reading })),
  );

interface Value {
  readonly seconds: number;
  readonly value: number | undefined;
}

/** Computes buckets one value after the other. */
function bucketsOf(values: readonly Value[], bucketMicroseconds: number): Omit<Series, 'field'> {
  const groups = new Map<number, { seconds: number; value: number }[]>();
  for (const { seconds, value } of [...values].sort((one, other) => one.seconds - other.seconds)) {
    if (value === undefined) continue;
    const bucket = Math.floor((seconds * 1e6) / bucketMicroseconds);
    groups.set(bucket, [...(groups.get(bucket) ?? []), { seconds, value }]);
  }
  const all = [...groups].sort(([one], [other]) => one - other).map(([, group]) => group);
  const numbers = all.map((group) => group.map(({ value }) => value));
  return {
    times: all.map(([first]) => startMs / 1000 + (first?.seconds ?? 0)),
    minimum: numbers.map((group) => Math.min(...group)),
    maximum: numbers.map((group) => Math.max(...group)),
    mean: numbers.map((group) => expect.closeTo(group.reduce((sum, one) => sum + one, 0) / group.length, 6)),
    count: numbers.map((group) => group.length),
  };
}

describe('GET /v1/x/vehicle/{id}/series', () => {
  it('has the same buckets as a plain computation', async () => {
    const number = fc.option(
      fc.integer({ min: -1000, max: 1000 }).map((one) => one / 8),
      { nil: undefined },
    );
    const reading = fc.record({ seconds: fc.integer({ min: -5, max: 65 }), speed: number, oil: number });
    const readings = fc.uniqueArray(reading, { minLength: 1, maxLength: 30, selector: ({ seconds }) => seconds });
    await fc.assert(
      fc.asyncProperty(
        readings,
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 40 }),
        async (list, length, points) => {
          await renewVehicle();
          await store(
            list.map(({ seconds, speed, oil }) => ({
              time: at(seconds),
              ...(speed !== undefined && { speed }),
              ...(oil !== undefined && { can: [{ key: 'oil', value: String(oil) }] }),
            })),
          );
          const { body } = await read(`fields=speed,can.oil&from=${at(0)}&until=${at(length)}&points=${points}`);
          const within = list.filter(({ seconds }) => seconds >= 0 && seconds < length);
          const isFew = within.length <= points;
          expect(body.method).toBe(isFew ? 'READINGS' : 'BUCKETS');
          const microseconds = isFew ? 1 : Math.ceil((length * 1e6) / points);
          expect(body.bucketSeconds).toBe(Math.ceil((length * 1e6) / points) / 1e6);
          expect(body.series).toEqual([
            {
              field: 'speed',
              ...bucketsOf(
                within.map(({ seconds, speed }) => ({ seconds, value: speed })),
                microseconds,
              ),
            },
            {
              field: 'can.oil',
              ...bucketsOf(
                within.map(({ seconds, oil }) => ({ seconds, value: oil })),
                microseconds,
              ),
            },
          ]);
          for (const { times } of body.series) expect(times.length).toBeLessThanOrEqual(Math.max(points, 1));
        },
      ),
      { numRuns: 50 },
    );
  }, 120_000);

  it('reads columns, CAN keys and sensors of any name, and leaves out what is no number', async () => {
    const sensors = [{ name: 'cold, room.1', data: [{ key: 'temp', value: '4.5' }] }];
    await store([
      { time: at(0), speed: 1, max_energy: 52, ignition: true, can: [{ key: 'a.b', value: ' -1.5e1 ' }], sensors },
      {
        time: at(1),
        ignition: false,
        can: [
          { key: 'a.b', value: 'NaN' },
          { key: 'c', value: '1' },
        ],
      },
      {
        time: at(2),
        can: [
          { key: 'a.b', value: '1e999' },
          { key: 'a.b', value: '7' },
        ],
      },
    ]);
    const numbers = [`1${'0'.repeat(60)}e99`, `${'9'.repeat(50)}e99`, '1e99'];
    await store(numbers.map((value, second) => ({ time: at(20 + second), can: [{ key: 'huge', value }] })));
    const huge = await read(`fields=can.huge&from=${at(20)}&until=${at(30)}&points=1`);
    expect([huge.status, huge.body.series[0].count]).toEqual([200, [2]]);
    const names = ['maxEnergy', 'ignition', 'can.a%2Eb', 'sensors.cold%2C%20room%2E1.temp'];
    const { status, body } = await read(`fields=${encodeURIComponent(names.join(','))}&from=${at(0)}&until=${at(9)}`);
    expect(status).toBe(200);
    expect(body.series.map(({ field, mean }: Series) => [field, mean])).toEqual([
      ['maxEnergy', [52]],
      ['ignition', [1, 0]],
      ['can.a%2Eb', [-15]],
      [names[3], [4.5]],
    ]);
    await storeLatest(platform.db, vehicle.id, at(2), {});
    const { body: fields } = await client.get(`/v1/x/vehicle/${vehicle.id}/fields`);
    expect(fields.fields).toEqual(
      ['speed', 'ignition', 'maxEnergy', 'can.a%2Eb', 'can.c', names[3]].map((field) => ({
        field,
        unit: expect.any(String),
      })),
    );
    expect(fields.fields[0]).toEqual({ field: 'speed', unit: 'km/h' });
  });

  it('reads windows of the same length in every bucket of a sample, and all of it with a share of 1', async () => {
    await storeSeries(platform.db, {
      applicationId: application.id,
      vehicleId: vehicle.id,
      start: at(0),
      count: 20_000,
    });
    const request = {
      ...{ vehicleId: Number(vehicle.id), fields: parseFields('mileage'), points: 500 },
      ...{ from: BigInt(startMs) * 1000n, until: BigInt(startMs + 20_000_000) * 1000n },
    };
    const [sample] = await readBuckets(platform.db, request, 0.2);
    expect(sample?.count).toEqual(Array.from({ length: 500 }, () => 8));
    expect(sample?.minimum).toEqual(Array.from({ length: 500 }, (_, bucket) => bucket * 40));
    expect(sample?.maximum).toEqual(Array.from({ length: 500 }, (_, bucket) => bucket * 40 + 31));
    const [whole] = await readBuckets(platform.db, request);
    expect(await readBuckets(platform.db, request, 0.999_999)).toEqual([whole]);
    expect(whole?.count).toEqual(Array.from({ length: 500 }, () => 40));
  });

  it('estimates the readings of an interval by their counts, and as one a second where they are not counted', async () => {
    const request = {
      vehicleId: Number(vehicle.id),
      fields: [],
      points: 1,
      from: 0n,
      until: BigInt(Date.now()) * 1000n,
    };
    await sql`insert into vehicle_latest (vehicle_id, earliest_time, time, received_at)
      values (${vehicle.id}::integer, ${at(0)}, ${at(600)}, now())`.execute(platform.db);
    const counted = await sql<{ until: Date }>`select counted_until as until
      from reading_settlement`.execute(platform.db);
    const isCounted = counted.rows[0] !== undefined && counted.rows[0].until.getTime() > startMs + 600_000;
    expect(await estimateReadings(platform.db, request)).toBe(isCounted ? 0 : 600);
    await sql`insert into reading_count (vehicle_id, hour, application_id, count) values
      (${vehicle.id}::integer, '2025-01-01', ${application.id}, 250)`.execute(platform.db);
    expect(await estimateReadings(platform.db, request)).toBe(isCounted ? 250 : 850);
  });

  it('has no positions', async () => {
    await store([{ latitude: 48, longitude: 2, speed: 1 }]);
    for (const field of ['latitude', 'longitude', 'constructor', 'device_id']) {
      const { status, body } = await read(`fields=${field}&from=${at(0)}&until=${at(9)}`);
      expect([status, body.field]).toEqual([400, 'fields']);
    }
    expect((await client.get(`/v1/x/vehicle/${vehicle.id}/fields`)).body).toEqual({ fields: [] });
  });

  it.each([
    ['fields', 'INVALID_PARAMETER', 'from=0&until=9'],
    ['fields', 'INVALID_PARAMETER', 'from=0&until=9&fields=can.%2500'],
    ['fields', 'INVALID_PARAMETER', 'from=0&until=9&fields=can.%25zz'],
    [
      'fields',
      'INVALID_PARAMETER',
      'from=0&until=9&fields=speed,soc,soh,angle,current,voltage,energy,mileage,autonomy',
    ],
    ['until', 'INVALID_INTERVAL', 'from=9&until=9&fields=speed'],
    ['until', 'INVALID_INTERVAL', 'from=2024-01-01&until=2025-01-02&fields=speed'],
    ['from', 'INVALID_PARAMETER', 'from=x&until=9&fields=speed'],
    ['points', 'INVALID_PARAMETER', 'from=0&until=9&fields=speed&points=0'],
    ['points', 'INVALID_PARAMETER', 'from=0&until=9&fields=speed&points=2001'],
  ])('names %s as %s: %s', async (field, error, query) => {
    const { status, body } = await read(query);
    expect([status, body.error, body.field]).toEqual([400, error, field]);
  });
});
