import { createBrowser } from '@odograph/testkit/api-client';
import {
  archiveVehicle,
  createApplication,
  createGroup,
  createOperator,
  createUser,
  createVehicle,
  type TestVehicle,
  updateVehicle,
} from '@odograph/testkit/fixtures';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { application, client, platform, setUpApplication } from '../application.fixture.ts';
import { storeLatest, turnPrivacyOn } from '../query.fixture.ts';
import { sortColumns, tableStates } from './vehicle-table-queries.ts';

setUpApplication();

async function newVehicle(plate: string, groups: object = {}, values: object = {}): Promise<TestVehicle> {
  const vehicle = await createVehicle(platform.db, application);
  await updateVehicle(platform.db, vehicle.id, { plate, ...values });
  if (Object.keys(groups).length > 0) await storeLatest(platform.db, vehicle.id, '2025-03-01T08:00:00Z', groups);
  return vehicle;
}
const change = (id: string, assignments: ReturnType<typeof sql>) =>
  sql`update vehicle_latest set ${assignments} where vehicle_id = ${id}::integer`.execute(platform.db);
const list = async (query = '', as = client) => (await as.get(`/v1/x/vehicles?${query}`)).body;
const plates = async (query = '', as = client): Promise<string[]> =>
  (await list(query, as)).vehicles.map(({ plate }: { plate: string }) => plate);

type Row = Record<string, string | number>;

/** Sorts as the interface promises: regardless of case, unknown values last, equal ones by id. */
function sortWhole(rows: readonly Row[], column: string, isDescending: boolean): Row[] {
  const keyOf = (row: Row) => {
    if (column === 'id') return Number(row[column]);
    const key = row[column];
    return typeof key === 'string' ? key.toLowerCase() : key;
  };
  const isKnown = (row: Row) => !['', undefined].includes(row[column] as string);
  const sort = (list: Row[]) =>
    list.sort((one, other) => {
      const [a = '', b = ''] = [keyOf(one), keyOf(other)];
      return a === b ? Number(one['id']) - Number(other['id']) : a < b ? -1 : 1;
    });
  const groups = [rows.filter(isKnown), rows.filter((row) => !isKnown(row))].map(sort);
  return groups.flatMap((group) => (isDescending ? group.reverse() : group));
}

/** Reads all pages. */
async function readAll(query: string): Promise<{ vehicles: Record<string, unknown>[]; pages: number }> {
  const vehicles = [];
  let pages = 0;
  for (let path: string | undefined = `/v1/x/vehicles?${query}`; path; pages += 1) {
    const { body, headers, status } = await client.get(path);
    expect(status).toBe(200);
    expect(body.total === undefined).toBe(pages > 0);
    vehicles.push(...body.vehicles);
    path = /<(.+)>/.exec(headers.get('link') ?? '')?.[1];
    expect(headers.get('x-has-more')).toBe(String(path !== undefined));
  }
  return { vehicles, pages };
}

describe('GET /v1/x/vehicles', () => {
  it('answers every field, and leaves out those that were never reported', async () => {
    const vehicle = await newVehicle(
      'AB-1',
      {
        location: { latitude: 48.5, longitude: 2.25, speed: 12 },
        status: { ignition: false, mileage: 100, autonomy: 210 },
        electric: { soc: 80 },
      },
      { vin: 'VF1', energy: 'EL', stolen: true },
    );
    await change(
      vehicle.id,
      sql`received_at = '2025-03-01T08:00:01Z', parked_at = '2025-03-01T07:00:00Z',
      parked_location = '{}', location_time = '2025-03-01T07:59:00Z'`,
    );
    const bare = await newVehicle('AB-2');
    const common = { appId: application.appId, brand: 'Renault', model: 'Zoe' };
    expect(await list()).toEqual({
      vehicles: [
        {
          ...{ ...common, id: vehicle.id, plate: 'AB-1', vin: 'VF1', energy: 'EL', deviceId: vehicle.deviceId },
          ...{
            state: 'silent',
            flags: ['stolen'],
            alarms: [],
            ignition: false,
            speed: 12,
            mileage: 100,
            soc: 80,
            range: 210,
          },
          ...{ lastContact: '2025-03-01T08:00:01.000Z', time: '2025-03-01T08:00:00.000Z' },
          location: { latitude: 48.5, longitude: 2.25, time: '2025-03-01T07:59:00.000Z' },
          parkedSince: '2025-03-01T07:00:00.000Z',
        },
        {
          ...{ ...common, id: bare.id, plate: 'AB-2', vin: '', energy: '', deviceId: bare.deviceId },
          ...{ state: 'silent', flags: [], alarms: [] },
        },
      ],
      total: 2,
    });
  });

  it('shows the mileage that was reported last, by the device or by the vehicle', async () => {
    const mileages = (status: number, fleet: number) => ({ status: { mileage: status }, fleet: { mileage: fleet } });
    const vehicle = await newVehicle('AB-1', mileages(100, 101));
    const mileage = async () => (await list()).vehicles[0].mileage;
    expect(await mileage()).toBe(101);
    await change(vehicle.id, sql`status_time = status_time + interval '1 s'`);
    expect(await mileage()).toBe(100);
    await change(vehicle.id, sql`status = '{}'`);
    expect(await mileage()).toBe(101);
  });

  it('decides the state by ignition, speed, contact, privacy and archive, and filters by it', async () => {
    const groups = (ignition: boolean, speed: number) => ({
      status: { ignition },
      location: { latitude: 1, longitude: 1, speed },
    });
    await newVehicle('driving', groups(true, 0));
    await newVehicle('towed', groups(false, 30));
    await newVehicle('drifting', groups(false, 5));
    const quiet = await newVehicle('quiet', groups(true, 50));
    const asleep = await newVehicle('asleep', groups(false, 0));
    const lost = await newVehicle('lost', groups(false, 0));
    await newVehicle('never');
    const hidden = await newVehicle('hidden', groups(true, 50));
    const archived = await newVehicle('archived', groups(true, 50));
    await change(quiet.id, sql`received_at = now() - interval '11 minutes'`);
    await change(asleep.id, sql`received_at = now() - interval '24 hours'`);
    await change(lost.id, sql`received_at = now() - interval '26 hours'`);
    await turnPrivacyOn(platform.db, hidden.id);
    await archiveVehicle(platform.db, archived.id);
    expect(await plates('state=moving')).toEqual(['driving', 'towed']);
    expect(await plates('state=parked')).toEqual(['asleep', 'drifting']);
    expect(await plates('state=silent')).toEqual(['lost', 'never', 'quiet']);
    expect(await plates('state=private')).toEqual(['hidden']);
    expect(await plates('state=archived')).toEqual(['archived']);
    expect(await plates('state=archived,private')).toEqual(['archived', 'hidden']);
    expect(await list()).toMatchObject({ total: 8 });
    expect((await list('state=moving,parked&limit=1')).total).toBe(4);
    expect((await list('state=moving,parked,silent,private,archived')).total).toBe(9);
  });

  it('hides position, speed and parking of a private vehicle, also in the order', async () => {
    const groups = { location: { latitude: 48, longitude: 2, speed: 90 }, fleet: { speed: 91 }, electric: { soc: 5 } };
    const hidden = await newVehicle('hidden', groups);
    await change(hidden.id, sql`parked_at = now(), parked_location = '{}'`);
    await newVehicle('seen', { location: { latitude: 48, longitude: 2, speed: 10 } });
    await turnPrivacyOn(platform.db, hidden.id);
    expect(await plates('sort=-speed')).toEqual(['seen', 'hidden']);
    const [vehicle] = (await list('state=private')).vehicles;
    expect(vehicle).toMatchObject({ state: 'private', soc: 5 });
    for (const field of ['location', 'speed', 'parkedSince']) expect(vehicle).not.toHaveProperty(field);
    const csv: string = (await client.get('/v1/x/vehicles?format=csv&columns=plate,speed,parkedSince,latitude')).body;
    expect(csv).toContain('\r\nhidden,,,\r\n');
  });

  it('finds part of a plate with other separators and letters of any script, composed or not', async () => {
    for (const plate of ['FÜ-AB 7', 'F-AB 7', 'Ж 001 КХ']) await newVehicle(plate);
    for (const search of ['fü ab 7', 'FÜAB', 'fü-ab 7'.normalize('NFD')]) {
      expect(await plates(`q=${encodeURIComponent(search)}`)).toEqual(['FÜ-AB 7']);
    }
    expect(await plates(`q=${encodeURIComponent('ж001-к')}`)).toEqual(['Ж 001 КХ']);
  });

  it('finds part of a plate, VIN, device, make and model, in any case, and the start of an id', async () => {
    const first = await newVehicle('AB-123-CD', {}, { vin: 'VF1AG0001', brand: 'Peugeot', model: 'e-208' });
    await newVehicle('XY%9_', {}, { vin: 'WVW', brand: 'VW', model: 'Golf' });
    const finds = ['b-123', 'b123c', 'AG00', 'PEUGEOT E-2', first.deviceId.slice(3, 20).toUpperCase(), first.id];
    for (const search of finds) expect(await plates(`q=${encodeURIComponent(search)}`)).toEqual(['AB-123-CD']);
    expect(await plates('q=%25')).toEqual(['XY%9_']);
    expect(await plates('q=_')).toEqual(['XY%9_']);
    expect(await plates('q=%27%20or%201=1')).toEqual([]);
    expect(await plates('q=%20&brand=vw&model=GOLF')).toEqual(['XY%9_']);
    expect(await plates('flag=stolen')).toEqual([]);
    expect(await plates('energy=DIESEL')).toEqual([]);
    expect(await plates(`appId=${application.appId}`)).toHaveLength(2);
    expect(await plates('appId=other')).toEqual([]);
  });

  it('pages under every sort through each vehicle once, in the order of a full sort', async () => {
    const value = fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined });
    const texts = fc.constantFrom('', 'a', 'B', 'b', 'é', 'Z');
    const row = fc.record({ speed: value, soc: value, mileage: value, brand: texts, vin: texts, parked: value });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 12 }),
        fc.constantFrom(...sortColumns),
        fc.boolean(),
        fc.integer({ min: 1, max: 5 }),
        async (rows, column, isDescending, limit) => {
          run += 1;
          const energy = `run-${run}`;
          for (const { speed, soc, mileage, brand, vin, parked } of rows) {
            // Plates differ in more than their case, so that two of them never are the same to the index.
            const { id } = await newVehicle(
              `p${Math.random()}`,
              {
                location: { latitude: 1, longitude: 1, ...(speed !== undefined && { speed }) },
                status: { ignition: false, ...(mileage !== undefined && { mileage }) },
                electric: { ...(soc !== undefined && { soc }) },
              },
              { brand, vin, energy },
            );
            if (parked !== undefined) {
              await change(
                id,
                sql`parked_at = to_timestamp(${parked}), parked_location = '{}', received_at = to_timestamp(${parked})`,
              );
            }
          }
          const query = `energy=${energy}&sort=${isDescending ? '-' : ''}${column}`;
          const { vehicles, pages } = await readAll(`${query}&limit=${limit}`);
          expect(pages).toBe(Math.ceil(rows.length / limit));
          const all: Row[] = (await list(`energy=${energy}&limit=1000`)).vehicles;
          const expected = sortWhole(all, column, isDescending);
          expect(vehicles.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
        },
      ),
      { numRuns: 40 },
    );
  }, 120_000);

  it('shows a person only what it may see', async () => {
    const mine = await newVehicle('mine');
    await newVehicle('not granted');
    const deleted = await newVehicle('deleted');
    await updateVehicle(platform.db, deleted.id, { deleted_at: new Date() });
    const other = await createApplication(platform.db);
    const foreign = await createVehicle(platform.db, other);
    const user = await createUser(platform.db, application, { vehicleIds: [mine.id], role: 'viewer' });
    expect(await list('', platform.as(user.token))).toMatchObject({ total: 1, vehicles: [{ id: mine.id }] });
    expect(await plates()).toEqual(['mine', 'not granted']);
    const limited = await createOperator(platform.db, { role: 'viewer', applicationIds: [application.id] });
    expect(await plates('', createBrowser(platform.httpUrl, limited.cookie))).toEqual(['mine', 'not granted']);
    const { admin } = platform;
    const ids = (await list(`q=${foreign.id}`, admin)).vehicles.map(({ id }: { id: string }) => id);
    expect(ids).toEqual([foreign.id]);
    expect((await platform.anonymous.get('/v1/x/vehicles')).status).toBe(401);
  });

  it('filters by a group including its subgroups, and matches nothing for a foreign or unknown group', async () => {
    const [one, other] = [await newVehicle('AB-1'), await newVehicle('AB-2')];
    await newVehicle('AB-3');
    const parentId = await createGroup(platform.db, application, { vehicleIds: [one.id] });
    await createGroup(platform.db, application, { parentId, vehicleIds: [one.id, other.id] });
    const stranger = await createApplication(platform.db);
    const foreign = await createGroup(platform.db, stranger, { vehicleIds: [] });
    expect(await plates(`group=${parentId}`)).toEqual(['AB-1', 'AB-2']);
    expect(await list(`group=${parentId}&limit=1`)).toMatchObject({ total: 2 });
    for (const group of [foreign, crypto.randomUUID(), 'nonsense']) expect(await plates(`group=${group}`)).toEqual([]);
  });

  it('writes CSV with the chosen columns, whatever cells contain, in the order of the table', async () => {
    await newVehicle('=1+2', { electric: { soc: -4.5 } }, { brand: 'a,"b"\n', model: '@SUM(1)' });
    await newVehicle('b', {}, { brand: '-x', model: 'é' });
    const response = await fetch(
      `${platform.httpUrl}/v1/x/vehicles?format=csv&columns=plate,brand,model,soc&sort=-plate`,
      { headers: { 'x-service-token': application.token } },
    );
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(response.headers.get('content-disposition')).toContain('vehicles.csv');
    const text = Buffer.from(await response.arrayBuffer()).toString();
    expect(text).toBe(`\uFEFFplate,brand,model,soc\r\nb,'-x,é,\r\n'=1+2,"a,""b""\n",'@SUM(1),-4.5\r\n`);
    expect((await client.get('/v1/x/vehicles?format=csv')).body.split('\r\n')).toHaveLength(4);
  });

  it.each([
    ...['sort=color', 'state=flying', 'limit=0', 'limit=1001', 'after=x', 'after=W10', 'q=%00', 'columns=password'],
    ...['after=WzEsMV0', 'sort=speed&after=WyJhIiwxXQ', 'sort=speed&after=W251bGwsMWU5OV0', 'format=xml'],
    ...['sort=time&after=WyIyMDI1IC0wMSIsMV0', `sort=soc&after=${Buffer.from('["1e999",1]').toString('base64url')}`],
  ])('refuses %s', async (query) => {
    const { status, body } = await client.get(`/v1/x/vehicles?${query}`);
    const field = query.split('&').at(-1)?.split('=')[0];
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', field]);
  });

  it('lists the allowed values of a parameter that has another one', async () => {
    const { body } = await client.get('/v1/x/vehicles?state=flying');
    expect(body.message).toBe(`state must be of ${tableStates.join(', ')}, separated by commas`);
  });
});
