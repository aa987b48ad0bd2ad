import type { ApiClient } from '@odograph/testkit/api-client';
import { compressReadings } from '@odograph/testkit/compress-readings';
import { createApplication, createToken, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createUser, markHours } from '../query.fixture.ts';
import { queryService } from '../service.ts';

const platform = await usePlatform([queryService]);

/** Three days before a week begins: weeks since the epoch begin on Thursday, and each has a chunk. */
const start = Date.UTC(2019, 2, 4) / 1000;
const day = 86_400;

/** A burst of readings of a vehicle, dense or sparse. */
const burst = fc.record({
  vehicle: fc.integer({ min: 0, max: 3 }),
  second: fc.integer({ min: 0, max: 5 * day }),
  interval: fc.constantFrom(1, 10, 10, 1800),
  count: fc.integer({ min: 1, max: 60 }),
});
type Burst = typeof burst extends fc.Arbitrary<infer T> ? T : never;

const request = fc.record({
  from: fc.oneof(fc.constant(-start), fc.integer({ min: -day, max: 6 * day })),
  length: fc.oneof(fc.constant(50 * 365 * day), fc.integer({ min: 0, max: 6 * day })),
  offset: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400 })),
  limit: fc.integer({ min: 1, max: 150 }),
  of: fc.constantFrom('application', 'user', 'vehicle'),
});
type Request = typeof request extends fc.Arbitrary<infer T> ? T : never;

interface Fleet {
  readonly application: TestApplication;
  readonly vehicleIds: readonly string[];
  /** A user with grants for the first three of them. */
  readonly user: ApiClient;
}

async function createFleet(): Promise<Fleet> {
  const application = await createApplication(platform.db);
  const vehicles = [];
  for (let n = 0; n < 4; n += 1) vehicles.push(await createVehicle(platform.db, application));
  const vehicleIds = vehicles.map(({ id }) => id);
  const userId = await createUser(platform.db, application.id, vehicleIds.slice(0, 3));
  const token = await createToken(platform.db, application.id, userId);
  return { application, vehicleIds, user: platform.as(token) };
}

async function store({ application, vehicleIds }: Fleet, bursts: readonly Burst[]): Promise<void> {
  const rows = JSON.stringify(bursts.map((one) => ({ ...one, vehicle: vehicleIds[one.vehicle] })));
  await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
    select to_timestamp(${start} + second + n * interval), ${application.id}, vehicle, 'test', now()
    from jsonb_to_recordset(${rows}::jsonb) as burst (vehicle integer, second integer, interval integer, count integer)
      cross join generate_series(0, count - 1) as n
    on conflict do nothing`.execute(platform.db);
  await markHours(platform.db, application.id);
}

/** Stores the time bounds of each vehicle's readings, as ingest does; without them, a query scans all chunks. */
async function storeBounds({ application }: Fleet): Promise<void> {
  await sql`insert into vehicle_latest (vehicle_id, earliest_time, time, received_at)
    select vehicle_id, min(time), max(time), now() from reading where application_id = ${application.id} group by 1`.execute(
    platform.db,
  );
}

/** Compresses the first of two chunks. */
async function compress(): Promise<void> {
  await compressReadings(platform.db, start, start + 3 * day);
}

/** Finds the keys of all requested readings, on any page, with a plain query. */
async function plainKeys(vehicleIds: readonly string[], { from, length, offset }: Request): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select concat(extract(epoch from time)::bigint, ' ', vehicle_id) as key from reading
    where vehicle_id = any(${vehicleIds}::integer[])
      and time between to_timestamp(${start + from}) and to_timestamp(${start + from + length})
    order by time, vehicle_id offset ${offset}`.execute(platform.db);
  return rows.map(({ key }) => key);
}

async function readPage(client: ApiClient, path: string): Promise<{ keys: string[]; next: string | undefined }> {
  const { status, body, headers } = await client.get(path);
  expect({ path, status }).toEqual({ path, status: 200 });
  const readings = body.status as unknown as { vehicle: { id: string }; timestamp: number }[];
  return {
    keys: readings.map(({ vehicle, timestamp }) => `${timestamp} ${Number(vehicle.id)}`),
    next: /^<([^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1],
  };
}

interface Pages {
  readonly parameters: Request;
  readonly first: readonly string[];
  readonly second: readonly string[];
  readonly more: boolean;
}

/** Chooses client and route of a request, and the vehicles that it covers. */
function readerOf({ application, user, vehicleIds }: Fleet, { of }: Request) {
  const client = platform.as(application.token);
  if (of === 'vehicle') return { client, route: `/v1/vehicle/${vehicleIds[0]}/history`, ids: vehicleIds.slice(0, 1) };
  const route = '/v1/vehicles/history';
  return of === 'user' ? { client: user, route, ids: vehicleIds.slice(0, 3) } : { client, route, ids: vehicleIds };
}

/** Reads a page and the next one. @returns their keys and the expected ones */
async function readPages(fleet: Fleet, parameters: Request): Promise<{ found: Pages; expected: Pages }> {
  const { from, length, offset, limit } = parameters;
  const { client, route, ids } = readerOf(fleet, parameters);
  const keys = await plainKeys(ids, parameters);
  const path = `${route}?from=${start + from}&until=${start + from + length}&offset=${offset}&limit=${limit}`;
  const { keys: first, next } = await readPage(client, path);
  const second = next === undefined ? [] : (await readPage(client, next)).keys;
  return {
    found: { parameters, first, second, more: next !== undefined },
    expected: {
      parameters,
      first: keys.slice(0, limit),
      second: keys.slice(limit, 2 * limit),
      more: keys.length > limit,
    },
  };
}

describe('pages', () => {
  it('hold the same readings as a plain query with limit and offset, for any distribution of readings', async () => {
    const bursts = fc.array(burst, { maxLength: 15 });
    const requests = fc.array(request, { minLength: 6, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(bursts, bursts, fc.boolean(), requests, async (early, late, hasBounds, wanted) => {
        const fleet = await createFleet();
        await store(fleet, early);
        await compress();
        // Late readings are also stored in compressed chunks.
        await store(fleet, late);
        if (hasBounds) await storeBounds(fleet);
        for (const one of wanted) {
          const { found, expected } = await readPages(fleet, one);
          expect(found).toEqual(expected);
        }
      }),
      { numRuns: 12 },
    );
  });

  it('of a single reading hold it without an offset, and nothing with an offset of one', async () => {
    const fleet = await createFleet();
    await store(fleet, [{ vehicle: 0, second: 0, interval: 1, count: 1 }]);
    await storeBounds(fleet);
    for (const offset of [0, 1]) {
      const { found, expected } = await readPages(fleet, {
        from: -day,
        length: 2 * day,
        offset,
        limit: 2,
        of: 'vehicle',
      });
      expect(found).toEqual(expected);
    }
  });
});
