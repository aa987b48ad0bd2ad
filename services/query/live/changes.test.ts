import { compressReadings } from '@odograph/testkit/compress-readings';
import { createApplication, createToken, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { application, client, platform, setUpVehicle, vehicle } from '../application.fixture.ts';
import { createUser, turnPrivacyOn } from '../query.fixture.ts';
import { awaitHorizon, keyOf, readAll, readPage, start, storeBatch } from './changes.fixture.ts';

setUpVehicle();

// Long transactions of other tests delay the feed.
let otherVehicle: TestVehicle;

beforeEach(async () => {
  otherVehicle = await createVehicle(platform.db, application);
});

async function store(...readings: (readonly [vehicleId: string, seconds: number])[]): Promise<void> {
  await storeBatch(platform.db, application.id, readings);
  await awaitHorizon(platform.db, application.id);
}
async function refusal(search: string): Promise<unknown[]> {
  const { status, body } = await client.get(`/v1/x/changes?${search}`);
  return [status, body.error, body.field, ...(body.reason === undefined ? [] : [body.reason])];
}

describe('the feed of stored readings', () => {
  it('answers them in the order of storage, also late ones', async () => {
    await store([vehicle.id, 50], [otherVehicle.id, 49]);
    await store([vehicle.id, 10]);
    await store([otherVehicle.id, 90], [vehicle.id, 5]);
    const { changes, more } = await readPage(client)();
    expect(changes.map(keyOf)).toEqual([
      `${otherVehicle.id} 49`,
      `${vehicle.id} 50`,
      `${vehicle.id} 10`,
      `${vehicle.id} 5`,
      `${otherVehicle.id} 90`,
    ]);
    expect(more).toBe(false);
  });

  it('has every documented key of a reading', async () => {
    await store([vehicle.id, 0.123456]);
    await sql`update reading set latitude = 48.8566, longitude = 2.3522, ignition = true, soc = 80,
        can = '[{"key":"engine_rpm","value":"2100"}]', sensors = '[{"name":"cargo","data":[]}]'
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    const { changes } = await readPage(client)();
    expect(changes).toEqual([
      {
        vehicle: { id: vehicle.id, plate: expect.any(String), vin: '', brand: 'Renault', model: 'Zoe' },
        timestamp: start + 0.123456,
        location: { latitude: 48.8566, longitude: 2.3522, angle: 0, altitude: 0 },
        can: [{ key: 'engine_rpm', value: '2100' }],
        status: { ignition: true, movement: false, mileage: 0.123456, autonomy: 0 },
        electric: expect.objectContaining({ soc: 80, soh: 0 }),
        sensors: [{ name: 'cargo', data: [] }],
      },
    ]);
  });

  it('continues after its token with readings stored since, including changed ones', async () => {
    await store([vehicle.id, 1], [otherVehicle.id, 1]);
    const first = await readAll(client);
    expect((await readAll(client, first.next)).changes).toEqual([]);
    await store([vehicle.id, 1]);
    await store([vehicle.id, -1000]);
    const later = await readAll(client, first.next);
    expect(later.changes.map(keyOf)).toEqual([`${vehicle.id} 1`, `${vehicle.id} -1000`]);
    expect(later.changes[0]?.status.mileage).toBe(2);
    expect((await readAll(client, later.next)).changes).toEqual([]);
  });

  it('neither loses nor repeats readings when a page ends inside a batch, for any limit', async () => {
    const batches = [7, 1, 12, 3].map((size, index) =>
      Array.from({ length: size }, (_unused, n) => [n % 2 ? vehicle.id : otherVehicle.id, index * 100 - n] as const),
    );
    for (const batch of batches) await store(...batch);
    const whole = (await readAll(client)).changes.map(keyOf);
    expect(whole.length).toBe(23);
    expect(new Set(whole).size).toBe(23);
    for (const limit of [1, 2, 3, 7, 8, 22, 23, 24]) {
      const { changes, pages } = await readAll(client, undefined, limit);
      expect(changes.map(keyOf)).toEqual(whole);
      expect(pages).toBe(Math.ceil(23 / limit));
    }
  });

  it('links to the next page with the same limit', async () => {
    await store([vehicle.id, 1], [vehicle.id, 2], [vehicle.id, 3]);
    const { headers, body } = await client.get('/v1/x/changes?limit=2');
    const link = /^<(\/v1\/x\/changes\?[^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '';
    expect(new URLSearchParams(link.split('?')[1]).get('after')).toBe(body.next);
    expect((await client.get(link)).body.changes.map(keyOf)).toEqual([`${vehicle.id} 3`]);
  });

  it('holds 3000 readings by default and at most 10,000', async () => {
    await store(...Array.from({ length: 10_001 }, (_unused, n) => [vehicle.id, n] as const));
    expect((await readPage(client)()).changes.length).toBe(3000);
    const page = await readPage(client)(undefined, 1_000_000);
    expect([page.changes.length, page.more]).toEqual([10_000, true]);
    expect((await readPage(client)(page.next)).changes.map(keyOf)).toEqual([`${vehicle.id} 10000`]);
  });

  it('answers readings that were compressed since, stored in any order', async () => {
    const seconds = Array.from({ length: 2000 }, (_unused, n) => -40 * 86_400 - ((n * 7919) % 2000));
    await store(...seconds.slice(0, 1000).map((second) => [vehicle.id, second] as const));
    await store(
      ...seconds.slice(1000).map((second) => [second % 2 === 0 ? vehicle.id : otherVehicle.id, second] as const),
    );
    expect(await compressReadings(platform.db, start - 41 * 86_400, start - 39 * 86_400)).toBeGreaterThan(0);
    const { changes } = await readAll(client, undefined, 700);
    expect(new Set(changes.map(({ timestamp }) => timestamp)).size).toBe(2000);
  });

  it('answers readings whose times are days apart in one page, in the order of storage', async () => {
    const days = Array.from({ length: 12 }, (_unused, n) => 60 - 86_400 * 9 * ((n * 5) % 12));
    for (const part of [0, 4, 8])
      await store(...days.slice(part, part + 4).map((second) => [vehicle.id, second] as const));
    const expected = [0, 4, 8].flatMap((part) => days.slice(part, part + 4).sort((a, b) => a - b));
    const { changes } = await readPage(client)();
    expect(changes.map(({ timestamp }) => timestamp - start)).toEqual(expected);
  });

  it('skips readings that were purged or dropped, and empty entries of a batch', async () => {
    await store([vehicle.id, 1], [otherVehicle.id, 1], [vehicle.id, 2], [otherVehicle.id, 2]);
    const { next } = await readPage(client)(undefined, 2);
    await sql`update reading_change set
        vehicle_ids = array(select case when id = ${Number(otherVehicle.id)} then null else id end from unnest(vehicle_ids) as id),
        times = array(select case when id = ${Number(otherVehicle.id)} then null else time end
          from unnest(vehicle_ids, times) as place (id, time))
      where application_id = ${application.id}`.execute(platform.db);
    expect((await readAll(client, next, 1)).changes.map(keyOf)).toEqual([`${vehicle.id} 2`]);
    await sql`delete from reading where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    const { changes, more } = await readPage(client)();
    expect([changes, more]).toEqual([[], false]);
  });

  it('has no coordinates within a privacy interval, and keeps earlier ones', async () => {
    await store([vehicle.id, 1], [vehicle.id, 2]);
    await sql`update reading set latitude = 48, longitude = 2
      where vehicle_id = ${Number(vehicle.id)} and time = to_timestamp(${start + 1})`.execute(platform.db);
    await turnPrivacyOn(platform.db, vehicle.id, new Date((start + 2) * 1000).toISOString());
    const { changes } = await readPage(client)();
    expect(changes.map((change) => change.location?.latitude)).toEqual([48, undefined]);
  });
});

describe('access to the feed', () => {
  it('is limited to the application, without deleted vehicles', async () => {
    await store([vehicle.id, 1], [otherVehicle.id, 2]);
    const other = await createApplication(platform.db);
    expect((await readAll(platform.as(other.token))).changes).toEqual([]);
    await platform.db
      .updateTable('vehicle')
      .set({ deleted_at: new Date() })
      .where('id', '=', Number(vehicle.id))
      .execute();
    for (const limit of [1, 2, 10]) {
      expect((await readAll(client, undefined, limit)).changes.map(keyOf)).toEqual([`${otherVehicle.id} 2`]);
    }
  });

  it('is limited to granted vehicles in user mode, and the token skips the others', async () => {
    const userId = await createUser(platform.db, application.id, [otherVehicle.id]);
    const user = platform.as(await createToken(platform.db, application.id, userId));
    await store([vehicle.id, 1], [otherVehicle.id, 2], [vehicle.id, 3]);
    await store([otherVehicle.id, 4], [vehicle.id, 4]);
    for (const limit of [1, 2, 10]) {
      expect((await readAll(user, undefined, limit)).changes.map(keyOf)).toEqual([
        `${otherVehicle.id} 2`,
        `${otherVehicle.id} 4`,
      ]);
    }
    const { next } = await readAll(user);
    await store(...Array.from({ length: 60_000 }, (_unused, second) => [vehicle.id, 100 + second] as const));
    await store([otherVehicle.id, 5]);
    const later = await readAll(user, next);
    expect([later.changes.map(keyOf), later.pages]).toEqual([[`${otherVehicle.id} 5`], 2]);
  });
});

describe('the parameters of the feed', () => {
  it.each([
    ['after=x', 'after'],
    ['after=1-2-3', 'after'],
    ['after=1-2-3-4', 'after'],
    ['after=1--1-2-3-1000000001', 'after'],
    ['after=1-99999999999999999999-1-1-1000000001', 'after'],
    ['after=1-1-1-1-9999999999', 'after'],
    ['after=1-1-1-999999999999999999-1000000001', 'after'],
    ['after=1-1-1-1-1000000001&after=1-1-1-1-1000000001', 'after'],
    ['limit=0', 'limit'],
    ['limit=-1', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=many', 'limit'],
    ['limit=Infinity', 'limit'],
  ])('%s is refused as %s', async (search, field) => {
    expect(await refusal(search)).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('`after` that a restored database has not reached, or of another epoch, is refused with the reason EXPIRED', async () => {
    await store([vehicle.id, 1]);
    const { next } = await readAll(client);
    const [epoch = '', transaction = '', ...key] = next.split('-');
    const ahead = [epoch, String(BigInt(transaction) + 1_000_000_000n), ...key].join('-');
    const foreign = [String(BigInt(epoch) - 1n), transaction, ...key].join('-');
    for (const after of [ahead, foreign]) {
      expect(await refusal(`after=${after}`)).toEqual([400, 'INVALID_PARAMETER', 'after', 'EXPIRED']);
    }
  });

  it('`after` older than the kept changes is refused with the reason EXPIRED', async () => {
    await store([vehicle.id, 1]);
    const { next } = await readAll(client);
    await store([vehicle.id, 2]);
    const forgotten = sql`(select max(transaction_id) from reading_change where application_id = ${application.id})`;
    await sql`update application
      set changes_forgotten_until = ${forgotten} where id = ${application.id}`.execute(platform.db);
    await sql`delete from reading_change where application_id = ${application.id}`.execute(platform.db);
    expect(await refusal(`after=${next}`)).toEqual([400, 'INVALID_PARAMETER', 'after', 'EXPIRED']);
    await store([vehicle.id, 3]);
    const { changes, next: fresh } = await readAll(client);
    expect(changes.map(keyOf)).toEqual([`${vehicle.id} 3`]);
    expect((await readAll(client, fresh)).changes).toEqual([]);
  });
});
