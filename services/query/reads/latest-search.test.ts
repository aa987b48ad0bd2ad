import { randomUUID } from 'node:crypto';
import { createApplication, createToken, createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { application, client, platform, setUpApplication } from '../application.fixture.ts';
import { createUser } from '../query.fixture.ts';

setUpApplication();

let free: string;

beforeEach(async () => {
  free = await newVehicle();
});

async function newVehicle(of = application): Promise<string> {
  return (await createVehicle(platform.db, of)).id;
}

async function change(vehicleId: string, values: object): Promise<void> {
  await platform.db.updateTable('vehicle').set(values).where('id', '=', Number(vehicleId)).execute();
}

/** Inserts a booking; its ends are in minutes from now. */
async function book(vehicleId: string, from: number, until: number | null, deletedAt: Date | null = null) {
  const moment = (minutes: number) => new Date(Date.now() + minutes * 60_000);
  await platform.db
    .insertInto('booking')
    .values({
      application_id: application.id,
      vehicle_id: Number(vehicleId),
      user_id: 'driver',
      account_id: null,
      type: 'FREE_FLOATING',
      starts_at: moment(from),
      ends_at: until === null ? null : moment(until),
      authorization_id: randomUUID(),
      deleted_at: deletedAt,
    })
    .execute();
}

async function found(search: string, as = client): Promise<string[]> {
  const { status, body } = await as.get(`/v1/vehicles?searchType=${search}`);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.map(({ id }: { id: string }) => id);
}

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
const period = (from: number, until: number) => `BOOKING&from=${inMinutes(from)}&until=${inMinutes(until)}`;
const searches = { 'free-floating': () => 'FREE_FLOATING', booking: () => period(60, 120) };

describe.each(Object.entries(searches))('a search for a %s', (_name, search) => {
  it.each(['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable'])(
    'leaves out a vehicle whose state is %s',
    async (flag) => {
      await change(await newVehicle(), { [flag]: true });
      expect(await found(search())).toEqual([free]);
    },
  );

  it('omits archived and deleted vehicles, and those without a current device', async () => {
    await change(await newVehicle(), { archived_at: new Date() });
    await change(await newVehicle(), { deleted_at: new Date() });
    const bare = await newVehicle();
    await sql`update device_link set period = tstzrange(null, now() - interval '1 hour')
      where vehicle_id = ${bare}`.execute(platform.db);
    expect(await found(search())).toEqual([free]);
  });

  it('finds only vehicles of the application, and in user mode only granted ones', async () => {
    await newVehicle(await createApplication(platform.db));
    const granted = await newVehicle();
    expect(await found(search())).toEqual([free, granted]);
    const userId = await createUser(platform.db, application.id, [granted]);
    const asUser = platform.as(await createToken(platform.db, application.id, userId));
    expect(await found(search(), asUser)).toEqual([granted]);
  });
});

describe('searchType=FREE_FLOATING', () => {
  it('omits exactly the vehicles that are booked now', async () => {
    const [open, closed, past, future, deleted] = [
      await newVehicle(),
      await newVehicle(),
      await newVehicle(),
      await newVehicle(),
      await newVehicle(),
    ];
    await book(open, -600, null);
    await book(closed, -1, 10);
    await book(past, -20, -1);
    await book(future, 5, null);
    await book(deleted, -1, 10, new Date());
    expect(await found('FREE_FLOATING')).toEqual([free, past, future, deleted]);
  });

  it('answers fleet vehicle records, regardless of the shape that the application has set', async () => {
    await platform.db.updateTable('application').set({ view: 'dynamic' }).where('id', '=', application.id).execute();
    const { body } = await client.get('/v1/vehicles?searchType=FREE_FLOATING');
    expect(body).toEqual([expect.objectContaining({ id: free, builder: 'Renault', deviceModel: 'generic' })]);
    expect(body[0]).not.toHaveProperty('vehicle');
  });
});

describe('searchType=BOOKING', () => {
  it('omits vehicles with a booking that overlaps the interval, bounds excluded', async () => {
    const [during, open, before, after] = [
      await newVehicle(),
      await newVehicle(),
      await newVehicle(),
      await newVehicle(),
    ];
    await book(during, 70, 80);
    await book(open, -5, null);
    await book(before, 0, 59);
    await book(after, 121, 180);
    expect(await found(period(60, 120))).toEqual([free, before, after]);
    const { rows } = await sql<{
      ends: Date;
    }>`select ends_at as ends from booking where vehicle_id = ${before}`.execute(platform.db);
    const end = rows[0]?.ends.toISOString();
    expect(await found(`BOOKING&from=${end}&until=${inMinutes(65)}`)).toContain(before);
  });

  it('accepts timestamps in seconds and milliseconds', async () => {
    const booked = await newVehicle();
    await book(booked, 70, 80);
    const [from, until] = [Date.now() + 75 * 60_000, Date.now() + 76 * 60_000];
    expect(await found(`BOOKING&from=${from}&until=${until}`)).toEqual([free]);
    expect(await found(`BOOKING&from=${from / 1000}&until=${until / 1000}`)).toEqual([free]);
  });

  it('filters by energy, gearbox, brand and kind, ignoring case', async () => {
    const chosen = await newVehicle();
    await change(chosen, { energy: 'EL', gearbox: 'AUTOMATIC', brand: 'Peugeot', kind: 'VP' });
    for (const filter of ['energy=el', 'gearbox=AUTOMATIC', 'brand=PEUGEOT', 'kind=vp']) {
      expect(await found(`${period(60, 120)}&${filter}`)).toEqual([chosen]);
    }
    expect(await found(`${period(60, 120)}&brand=peugeot&gearbox=MANUAL`)).toEqual([]);
    expect(await found(`${period(60, 120)}&brand=&energy=`)).toEqual([free, chosen]);
  });

  it.each([
    ['from', 'BOOKING&until=2030-01-01'],
    ['until', 'BOOKING&from=2030-01-01'],
    ['from', 'BOOKING&from=soon&until=2030-01-01'],
    ['until', 'BOOKING&from=2030-01-01&until=9e99'],
    ['gearbox', 'BOOKING&from=2030-01-01&until=2030-01-02&gearbox=CVT'],
    ['brand', 'BOOKING&from=2030-01-01&until=2030-01-02&brand=%00'],
    ['searchType', 'OTHER'],
  ])('names %s when it is missing or malformed: %s', async (field, search) => {
    const { status, body } = await client.get(`/v1/vehicles?searchType=${search}`);
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('answers INVALID_INTERVAL for an interval that does not end after its start', async () => {
    for (const until of ['2030-01-01', '2029-12-31']) {
      const { status, body } = await client.get(`/v1/vehicles?searchType=BOOKING&from=2030-01-01&until=${until}`);
      expect([status, body.error]).toEqual([400, 'INVALID_INTERVAL']);
    }
  });
});
