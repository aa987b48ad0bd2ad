import { createToken, createVehicle, type TestVehicle, updateVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import Type from 'typebox';
import Value from 'typebox/value';
import { beforeEach, describe, expect, it } from 'vitest';
import { application, client, platform, setUpApplication } from '../application.fixture.ts';
import { createUser, storeLatest, turnPrivacyOn } from '../query.fixture.ts';
import { CombinedVehicle, DynamicVehicle, FleetVehicle, VehicleStatus } from '../shared/schemas.ts';

setUpApplication();

let driving: TestVehicle;
let silent: TestVehicle;

beforeEach(async () => {
  driving = await createVehicle(platform.db, application);
  silent = await createVehicle(platform.db, application);
  await storeLatest(platform.db, driving.id, '2025-11-21T08:00:00.25Z', {
    location: { latitude: 48.8566, longitude: 2.3522, angle: 90, speed: 52, satellites: 9 },
    status: { ignition: true, movement: true, mileage: 12345.6 },
    electric: { soc: 80, current: -12.3, maxEnergy: 52 },
    sensors: [{ name: 'cargo', data: [{ key: 'humidity', value: '61' }] }],
  });
  await updateVehicle(platform.db, driving.id, {
    plate: `"${driving.id}" \\ é`,
    stolen: true,
    seats: 5,
    accessories: ['CARDHOLDER'],
  });
});

const vehicleOf = ({ id }: TestVehicle) => ({ id, plate: `"${id}" \\ é`, vin: '', brand: 'Renault', model: 'Zoe' });
const dynamicOf = (vehicle: TestVehicle) => ({
  vehicle: vehicleOf(vehicle),
  timestamp: 1763712000.25,
  location: { latitude: 48.8566, longitude: 2.3522, angle: 90, altitude: 0 },
  status: { ignition: true, movement: true, mileage: 12345.6, autonomy: 0 },
});
const statusOf = (vehicle: TestVehicle) => ({
  ...dynamicOf(vehicle),
  electric: {
    ...{ soh: 0, soc: 80, current: -12.3, voltage: 0, energy: 0, maxEnergy: 52, minCellVoltage: 0, maxCellVoltage: 0 },
    ...{ temperature: 0, minCellTemperature: 0, maxCellTemperature: 0, lifetimePowerUse: 0, lifetimeChargePower: 0 },
  },
  sensors: [{ name: 'cargo', data: [{ key: 'humidity', value: '61' }] }],
  state: { towing: false, accident: false, maintenance: false, breakdown: false, stolen: true, unavailable: false },
});
const fleetOf = (vehicle: TestVehicle, own: object) => ({
  ...{ id: vehicle.id, builder: 'Renault', model: 'Zoe', deviceId: vehicle.deviceId, deviceModel: 'generic' },
  ...{ energy: '', bluetoothName: '', seats: 0, gearbox: '', kind: '', archived: false, accessories: [] },
  ...own,
});
const drivingRecord = () =>
  fleetOf(driving, { plate: vehicleOf(driving).plate, seats: 5, accessories: ['CARDHOLDER'] });
const silentRecord = () => fleetOf(silent, { plate: expect.any(String) });

describe('GET /v1/vehicles', () => {
  it('answers both shapes in one object; a vehicle without data has only the keys of the fleet shape', async () => {
    const { body } = await client.get('/v1/vehicles');
    expect(Value.Check(Type.Array(CombinedVehicle), body)).toBe(true);
    expect(body).toEqual([{ ...drivingRecord(), ...dynamicOf(driving) }, silentRecord()]);
  });

  it('answers the dynamic shape alone on request, without vehicles that have no data', async () => {
    const { body } = await client.get('/v1/vehicles?view=dynamic');
    expect(Value.Check(Type.Array(DynamicVehicle), body)).toBe(true);
    expect(body).toEqual([dynamicOf(driving)]);
  });

  it('answers the fleet shape alone on request and for a search', async () => {
    const { body } = await client.get('/v1/vehicles?view=fleet');
    expect(Value.Check(Type.Array(FleetVehicle), body)).toBe(true);
    expect(body).toEqual([drivingRecord(), silentRecord()]);
    expect((await client.get('/v1/vehicles?searchType=FREE_FLOATING')).body).toEqual([silentRecord()]);
  });

  it('answers the shape that the application has set, unless the request names one', async () => {
    await platform.db.updateTable('application').set({ view: 'dynamic' }).where('id', '=', application.id).execute();
    expect((await client.get('/v1/vehicles')).body).toEqual([dynamicOf(driving)]);
    expect((await client.get('/v1/vehicles?view=fleet')).body).toEqual([drivingRecord(), silentRecord()]);
  });

  it('refuses an unknown shape', async () => {
    const { status, body } = await client.get('/v1/vehicles?view=other');
    expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'view']);
  });

  it('names the current device, not an earlier one, and whether the vehicle is archived', async () => {
    await sql`update device_link set period = '(,2025-12-01)'
      where device_id = ${driving.deviceId}`.execute(platform.db);
    await updateVehicle(platform.db, silent.id, { archived_at: new Date() });
    const { body } = await client.get('/v1/vehicles?view=fleet');
    expect(body).toEqual([
      { ...drivingRecord(), deviceId: '', deviceModel: '' },
      { ...silentRecord(), archived: true },
    ]);
  });
});

describe('the latest status', () => {
  it('has every documented key and the state flags of the vehicle', async () => {
    const all = await client.get('/v1/vehicles/status');
    expect(all.body).toEqual([statusOf(driving)]);
    const one = await client.get(`/v1/vehicle/${driving.id}/status?view=dynamic`);
    expect(one.body).toEqual(statusOf(driving));
    expect(Value.Check(VehicleStatus, one.body)).toBe(true);
  });

  it('omits an unknown location, and has defaults for values that were never reported', async () => {
    await storeLatest(platform.db, silent.id, '2025-11-21T08:00:00Z', {});
    const { body } = await client.get(`/v1/vehicle/${silent.id}/status?view=dynamic`);
    expect(Value.Check(VehicleStatus, body)).toBe(true);
    expect(body).not.toHaveProperty('location');
    expect(body.status).toEqual({ ignition: false, movement: false, mileage: 0, autonomy: 0 });
  });

  it('is NO_DATA for a vehicle that never reported', async () => {
    const { status, body } = await client.get(`/v1/vehicle/${silent.id}/status?view=dynamic`);
    expect([status, body.error]).toEqual([404, 'NO_DATA']);
  });
});

describe('while privacy is on', () => {
  const can = [
    { key: 'gps_latitude', value: '48.8566' },
    { key: 'engine_rpm', value: '2100' },
  ];
  const everywhere = () => [
    '/v1/vehicles',
    '/v1/vehicles?view=dynamic',
    '/v1/vehicles/status',
    '/v1/vehicles/customcan',
    ...['status', 'status?view=dynamic', 'customcan'].map((rest) => `/v1/vehicle/${driving.id}/${rest}`),
  ];

  it('no live answer contains a position, not even as CAN data; afterwards the last known one is shown again', async () => {
    const stored = { can: JSON.stringify(can), sensors: JSON.stringify([{ name: 'cargo', data: can }]) };
    await sql`update vehicle_latest set can = ${stored.can}::jsonb, sensors = ${stored.sensors}::jsonb
      where vehicle_id = ${Number(driving.id)}`.execute(platform.db);
    const before = await Promise.all(everywhere().map((path) => client.get(path)));
    for (const { body } of before) expect(JSON.stringify(body)).toContain('"latitude":48.8566');
    const { body: shown } = await client.get(`/v1/vehicle/${driving.id}/customcan`);
    expect([shown.can, shown.sensors]).toEqual([can, [{ name: 'cargo', data: can }]]);

    await turnPrivacyOn(platform.db, driving.id);
    for (const path of everywhere()) {
      const { status, body } = await client.get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(path + JSON.stringify(body)).not.toMatch(/"location"|48\.8566/);
    }
    const { body } = await client.get(`/v1/vehicle/${driving.id}/customcan`);
    expect(body.can).toEqual([{ key: 'engine_rpm', value: '2100' }]);
    expect(body.sensors).toEqual([{ name: 'cargo', data: [{ key: 'engine_rpm', value: '2100' }] }]);

    await sql`update privacy_period set period = tstzrange(lower(period), now())
      where vehicle_id = ${Number(driving.id)}`.execute(platform.db);
    const after = await Promise.all(everywhere().map((path) => client.get(path)));
    expect(after.map(({ body: answer }) => answer)).toEqual(before.map(({ body: answer }) => answer));
  });

  it('other vehicles keep their positions', async () => {
    await turnPrivacyOn(platform.db, silent.id);
    expect((await client.get('/v1/vehicles/status')).body).toEqual([statusOf(driving)]);
  });
});

describe('access', () => {
  it('is limited to granted vehicles in user mode', async () => {
    const userId = await createUser(platform.db, application.id, [silent.id]);
    const user = platform.as(await createToken(platform.db, application.id, userId));
    expect((await user.get('/v1/vehicles')).body).toEqual([silentRecord()]);
    expect((await user.get('/v1/vehicles/status')).body).toEqual([]);
    expect((await user.get(`/v1/vehicle/${driving.id}/status`)).body.error).toBe('UNKNOWN_VEHICLE');
  });

  it('ends when a vehicle is deleted', async () => {
    await updateVehicle(platform.db, driving.id, { deleted_at: new Date() });
    expect((await client.get('/v1/vehicles')).body).toEqual([silentRecord()]);
    expect((await client.get('/v1/vehicles/status')).body).toEqual([]);
    expect((await client.get(`/v1/vehicle/${driving.id}/status`)).body.error).toBe('UNKNOWN_VEHICLE');
  });
});
