import { randomUUID } from 'node:crypto';
import { accessService } from '@odograph/access/service';
import { fleetService } from '@odograph/fleet/service';
import { queryService } from '@odograph/query/service';
import type { ApiClient } from '@odograph/testkit/api-client';
import {
  archiveVehicle,
  createApplication,
  createVehicle,
  type TestApplication,
  unlinkDevice,
  updateVehicle,
} from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  createParked,
  createParkingSpot,
  settingsExample as example,
  readJson,
  type State,
  settingsFor,
} from './gbfs.fixture.ts';

let application: TestApplication;
let api: ApiClient;

const platform = await usePlatform([fleetService, queryService, accessService]);
const { admin } = platform;
const { anonymous } = platform;
beforeEach(async () => {
  application = await createApplication(platform.db);
  api = platform.as(application.token);
});

const adminPath = () => `/v1/x/admin/gbfs/${application.appId}`;
/** Publishes the application under a new system id, whose feeds no process has computed yet. */
async function publish(changes: object = {}): Promise<string> {
  const systemId = `test-${randomUUID()}`;
  const { status, body } = await admin.put(adminPath(), settingsFor(systemId, changes));
  expect([status, body.message]).toEqual([200, undefined]);
  return systemId;
}

const read = async (systemId: string, name: string) =>
  (await anonymous.get(`/v1/x/gbfs/${systemId}/${name}.json`)).body;
const readVehicles = async (changes: object = {}) =>
  (await read(await publish(changes), 'vehicle_status')).data.vehicles;

/** Creates a car of the application that stands free in the street. */
const park = (state?: State, secondsAgo?: number) => createParked(platform.db, application, state, secondsAgo);

const createSpot = (place?: object) => createParkingSpot(api, place);

const book = async (vehicleId: string, request: object = {}) => {
  const from = new Date().toISOString();
  const { body } = await api.post(`/v1/vehicle/${vehicleId}/booking`, { type: 'FREE_FLOATING', from, ...request });
  expect(body.error).toBeUndefined();
  return String(body.bookingId);
};

describe('the feeds of a system', () => {
  const check = (name: string, body: unknown): unknown[] => {
    const { $id: _, ...schema } = readJson(`fixtures/gbfs-3.0/${name}.json`);
    const validate = addFormats.default(new Ajv({ strict: false, allErrors: true })).compile(schema);
    return validate(body) ? [] : [name, validate.errors];
  };

  it('satisfy the official JSON schemas of GBFS 3.0, each file that the discovery lists', async () => {
    const spot = await createSpot();
    const atStation = await park();
    await api.post(`/v1/vehicle/${atStation.id}/parking`, { parkingId: spot.id });
    await park({ location: { latitude: 48.9, longitude: 2.4 } });
    const circle = { name: 'Secret name', geometry: { type: 'Point', coordinates: [2.35, 48.85] }, radiusMetres: 300 };
    const ring = [[[2, 48], [2, 49], [3, 49], [2, 48]]]; // biome-ignore format: coordinates
    const area = { name: 'Town', geometry: { type: 'Polygon', coordinates: ring } };
    const zones = await Promise.all([circle, area].map((one) => api.post('/v1/x/geofences', one)));
    const rule = { ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true };
    const both = (text: string) => ['en', 'fr'].map((language) => ({ text, language }));
    const { vehicleTypes, pricingPlans, system } = example;
    const systemId = await publish({
      system: {
        ...{ ...system, system_id: `test-${randomUUID()}`, languages: ['en', 'fr'], name: both('Share') },
        ...{
          operator: both('Operator'),
          terms_url: both('https://share.example/terms'),
          terms_last_updated: '2026-01-01',
        },
      },
      vehicleTypes: vehicleTypes.map((type: object) => ({ ...type, name: both('Car'), g_CO2_km: 0 })),
      pricingPlans: pricingPlans.map((plan: object) => ({ ...plan, name: both('Plan'), description: both('Price') })),
      geofencing: { zones: zones.map(({ body }) => ({ geofenceId: body.id, rules: [rule] })), globalRules: [rule] },
    }).then(async () => (await admin.get(adminPath())).body.settings.system.system_id);
    const { data } = await read(systemId, 'gbfs');
    const names: string[] = data.feeds.map(({ name }: { name: string }) => name);
    expect(names.sort()).toEqual([
      ...['gbfs_versions', 'geofencing_zones', 'station_information', 'station_status', 'system_information'],
      ...['system_pricing_plans', 'vehicle_status', 'vehicle_types'],
    ]);
    const faults: unknown[] = [];
    for (const name of ['gbfs', ...names]) faults.push(...check(name, await read(systemId, name)));
    expect(faults).toEqual([]);
    const { features } = (await read(systemId, 'geofencing_zones')).data.geofencing_zones;
    // Counter-clockwise, although the geofence goes clockwise.
    expect(features[1].geometry.coordinates).toEqual([[[[3, 49], [2, 49], [2, 48], [3, 49]]]]); // biome-ignore format: coordinates
    expect(features[0].geometry.coordinates[0][0]).toHaveLength(65);
  });

  it('name only the files that the settings ask for; others are NOT_FOUND', async () => {
    await createSpot();
    const { pricingPlans: _, ...rest } = settingsFor(`test-${randomUUID()}`, { stations: 'none' });
    const vehicleTypes = rest.vehicleTypes.map(
      ({ default_pricing_plan_id: __, ...type }: Record<string, unknown>) => type,
    );
    expect((await admin.put(adminPath(), { ...rest, vehicleTypes })).status).toBe(200);
    const systemId = rest.system.system_id;
    const { feeds } = (await read(systemId, 'gbfs')).data;
    const names = feeds.map(({ name }: { name: string }) => name);
    expect(names).toEqual(['system_information', 'vehicle_types', 'vehicle_status', 'gbfs_versions']);
    for (const name of ['station_status', 'system_pricing_plans', 'system_regions']) {
      expect((await read(systemId, name)).error).toBe('NOT_FOUND');
    }
    expect((await read('nobody', 'gbfs')).error).toBe('NOT_FOUND');
    const ended = await publish();
    await admin.delete(adminPath());
    expect((await read(ended, 'gbfs')).error).toBe('NOT_FOUND');
  });

  it('are not published while the application moves to another cell', async () => {
    await park();
    const systemId = await publish();
    await sql`update application set moving_since = now() where id = ${application.id}`.execute(platform.db);
    expect(await read(systemId, 'vehicle_status')).toMatchObject({ error: 'NOT_FOUND' });
  });

  it('tell range, level, place and the next booking of a vehicle, and its station in place of its position', async () => {
    const spot = await createSpot();
    const unplaced = await createSpot({});
    const [near, far] = [await park(), await park({ location: { latitude: 48.9, longitude: 2.4 } })];
    // Devices send 0 for an unknown range.
    await park({ status: { ignition: false, autonomy: 0 }, electric: { soc: 50 } });
    for (const { id } of [near, far]) await api.post(`/v1/vehicle/${id}/parking`, { parkingId: spot.id });
    const from = new Date(Date.now() + 3_600_000).toISOString();
    const until = new Date(Date.now() + 7_200_000).toISOString();
    await book(far.id, { type: 'BOOKING', from, until });
    const systemId = await publish();
    const { vehicles } = (await read(systemId, 'vehicle_status')).data;
    const common = { vehicle_type_id: 'zoe', is_reserved: false, is_disabled: false };
    const reported = { vehicle_id: expect.any(String), last_reported: expect.stringMatching(/:00Z$/) };
    const level = { current_range_meters: 187_000, current_fuel_percent: 0.61 };
    const expected = [
      { ...common, ...reported, ...level, station_id: spot.shortId },
      {
        ...{ ...common, ...reported, ...level, lat: 48.9, lon: 2.4, home_station_id: spot.shortId },
        available_until: `${from.slice(0, 19)}Z`,
      },
      {
        ...{ ...common, ...reported, lat: 48.856612, lon: 2.352212 },
        ...{ current_range_meters: 197_000, current_fuel_percent: 0.5 },
      },
    ];
    expect(vehicles).toHaveLength(3);
    expect(vehicles).toEqual(expect.arrayContaining(expected));
    const { stations } = (await read(systemId, 'station_status')).data;
    expect(stations).toMatchObject([{ station_id: spot.shortId, num_vehicles_available: 1, is_renting: true }]);
    expect(JSON.stringify(stations)).not.toContain(unplaced.shortId);
  });

  it('hold no plate, VIN, device, application, driver, geofence name or number of a vehicle', async () => {
    const spot = await createSpot();
    const vehicle = await park();
    const vin = 'VF1AG000000000001';
    const plate = `ZZ-${randomUUID().slice(0, 8)}`;
    await updateVehicle(platform.db, vehicle.id, { vin, plate });
    const bookingId = await book(vehicle.id, { driver: 'a-driver' });
    await api.post(`/v1/booking/${bookingId}/stop`);
    const geometry = { type: 'Point', coordinates: [2.35, 48.85] };
    const { body: geofence } = await api.post('/v1/x/geofences', { name: 'Workshop', geometry, radiusMetres: 300 });
    const rule = { ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true };
    const systemId = await publish({ geofencing: { zones: [{ geofenceId: geofence.id }], globalRules: [rule] } });
    const { feeds } = (await read(systemId, 'gbfs')).data;
    const texts = await Promise.all(
      ['gbfs', ...feeds.map(({ name }: { name: string }) => name)].map(async (name) =>
        JSON.stringify(await read(systemId, name)),
      ),
    );
    expect(texts.join()).toContain(spot.shortId);
    expect(texts.join()).toContain('"vehicle_id"');
    const secrets = [plate, vin, vehicle.id, vehicle.deviceId, application.appId, 'a-driver', bookingId, spot.id];
    for (const secret of [...secrets, geofence.id, 'Workshop']) expect(texts.join()).not.toContain(secret);
  });
});

describe('a vehicle', () => {
  it('is not published while it is in use, private, out of service or not known to stand somewhere', async () => {
    const { db } = platform;
    const reasons = new Map<string, string>();
    const hide = async (
      reason: string,
      act: (id: string, deviceId: string) => Promise<unknown>,
      state?: State,
      age?: number,
    ) => {
      const vehicle = await park(state, age);
      await act(vehicle.id, vehicle.deviceId);
      reasons.set(vehicle.id, reason);
    };
    const nothing = async () => undefined;
    await hide('BOOKED', (id) => book(id));
    await hide('BOOKED', (id) => book(id, { type: 'BOOKING', until: new Date(Date.now() + 3_600_000).toISOString() }));
    await hide('AUTHORIZED', (vehicleId) => {
      const now = Math.floor(Date.now() / 1000);
      return sql`insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from, valid_until)
        values (${Number(vehicleId)}, 'd', 'DRIVE', to_timestamp(${now - 60}), to_timestamp(${now + 3600}))`.execute(
        db,
      );
    });
    await hide('PRIVATE', (id) =>
      sql`insert into privacy_period values (${Number(id)}, tstzrange(now(), null))`.execute(db),
    );
    await hide('OUT_OF_SERVICE', (id) => archiveVehicle(db, id));
    for (const flag of ['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable'] as const) {
      await hide('OUT_OF_SERVICE', (id) => updateVehicle(db, id, { [flag]: true }));
    }
    await hide('NO_DEVICE', (_id, deviceId) => unlinkDevice(db, deviceId));
    await hide('MOVING', nothing, { status: { ignition: true, autonomy: 100 } });
    await hide('SILENT', nothing, {}, 26 * 3600);
    await hide('RANGE_UNKNOWN', nothing, { status: { ignition: false }, electric: {} });
    const silentMeanwhile = await createVehicle(db, application);
    reasons.set(silentMeanwhile.id, 'POSITION_UNKNOWN');
    const deleted = await park();
    await updateVehicle(db, deleted.id, { deleted_at: new Date() });
    expect(await readVehicles()).toEqual([]);
    const { body } = await admin.get(`${adminPath()}/vehicles`);
    expect(body.published).toBe(0);
    const told = body.hidden.map(({ vehicleId, reason }: Record<string, string>) => [vehicleId, reason]);
    expect(new Map(told)).toEqual(reasons);
  });

  it('of another application, of no type or outside of the list is not published', async () => {
    const other = await createApplication(platform.db);
    const own = application;
    application = other;
    await park();
    application = own;
    const [listed, typeless] = [await park(), await park()];
    await updateVehicle(platform.db, typeless.id, { brand: 'Peugeot' });
    const ids: string[] = (await readVehicles()).map((one: { vehicle_id: string }) => one.vehicle_id);
    expect([ids.length, ids]).toEqual([2, [...ids].sort()]);
    expect(await readVehicles({ vehicleTypes: example.vehicleTypes.slice(0, 1) })).toHaveLength(1);
    expect(await readVehicles({ vehicleIds: [listed.id] })).toHaveLength(1);
  });

  it('keeps its id until it is used, and has another one after each rental and each drive', async () => {
    const vehicle = await park();
    const idNow = async (): Promise<string> => (await readVehicles())[0].vehicle_id;
    const ids = [await idNow()];
    expect(await idNow()).toBe(ids[0]);
    for (let rental = 0; rental < 3; rental += 1) {
      const bookingId = await book(vehicle.id);
      expect(await readVehicles()).toEqual([]);
      await api.post(`/v1/booking/${bookingId}/stop`);
      ids.push(await idNow());
    }
    await sql`update vehicle_latest set parked_at = now(), parked_location = location
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    ids.push(await idNow());
    expect(new Set(ids).size).toBe(5);
  });
});

describe('reading', () => {
  it('is free for everyone, cached for the TTL, and 304 while nothing has changed', async () => {
    await park();
    const systemId = await publish({ ttlSeconds: 60 });
    const get = (name: string, headers = {}) =>
      fetch(new URL(`/v1/x/gbfs/${systemId}/${name}.json`, platform.httpUrl), { headers });
    const live = await get('vehicle_status');
    expect(Object.fromEntries(live.headers)).toMatchObject({
      ...{ 'cache-control': 'public, max-age=60', 'access-control-allow-origin': '*' },
      'content-type': 'application/json; charset=utf-8',
    });
    const body = await live.text();
    expect(JSON.parse(body)).toMatchObject({ ttl: 60, version: '3.0' });
    expect(await (await get('vehicle_status')).text()).toBe(body);
    for (const name of ['vehicle_status', 'vehicle_types', 'gbfs']) {
      const etag = (await get(name)).headers.get('etag') ?? '';
      const again = await get(name, { 'if-none-match': `"other", ${etag}` });
      expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
      expect((await get(name, { 'if-none-match': '"other"' })).status).toBe(200);
    }
  });
});
