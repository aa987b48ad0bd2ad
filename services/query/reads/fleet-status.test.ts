import { createDevice, createUser, type TestVehicle, updateVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import Value from 'typebox/value';
import { beforeEach, describe, expect, it } from 'vitest';
import { application, client, platform, setUpVehicle, vehicle } from '../application.fixture.ts';
import { storeLatest, storeReadings, turnPrivacyOn } from '../query.fixture.ts';
import { VehicleStatus } from '../shared/schemas.ts';
import { CombinedStatus, FleetStatus, PositionAnswer } from './fleet-facts.ts';

setUpVehicle();

const time = '2025-11-21T08:00:00.25Z';
const location = { latitude: 48.8566, longitude: 2.3522, angle: 90, speed: 52 };

const byId = () => `/v1/vehicle/status?vehicleId=${vehicle.id}`;
const combinedPath = () => `/v1/vehicle/${vehicle.id}/status`;
async function refusal(path: string, by = client): Promise<unknown[]> {
  const { status, body } = await by.get(path);
  return [status, body.error, ...(body.field === undefined ? [] : [body.field])];
}
async function read(): Promise<FleetStatus> {
  const { body } = await client.get(byId());
  Value.Assert(FleetStatus, body);
  return body;
}
async function plateOf({ id }: TestVehicle): Promise<string> {
  const row = await platform.db.selectFrom('vehicle').select('plate').where('id', '=', Number(id)).executeTakeFirst();
  return row?.plate ?? '';
}
const watched = { available: true, active: true, action: '', triggered: false };
const noState = {
  ...{ Towing: false, Accident: false, Maintenance: false, Breakdown: false, Stolen: false, Unavailable: false },
};

describe('GET /v1/vehicle/status', () => {
  it('has every key, empty, 0 or false if never reported, without position and authenticated', async () => {
    await storeLatest(platform.db, vehicle.id, time, {});
    expect(await read()).toEqual({
      ...{ lock: '', engine: '', immobilizer: '', handbrake: '', lights: '', doors: '', windows: '', speed: 0 },
      ...{ bluetooth: '', mileage: 0, fuel: 0, fuelRange: 0, chargingAdapterStatus: '', ChargingStatus: '' },
      ...{ ChargingUntil: '', ChargeLevel: 0, RemainingRange: 0, privacy: false, authorizations: [], cardholder: [] },
      scenarii: { gps_jamming: watched, gnss_jamming: watched, towing_detection: watched, crash_detection: watched },
      ...{ vehicleKey: false, lastMessage: expect.stringMatching(/^20\d\d-.*Z$/), state: noState },
    });
  });

  it('falls back to other field groups for values missing in the fleet group', async () => {
    await storeLatest(platform.db, vehicle.id, time, {
      location,
      status: { ignition: false, mileage: 12345.6, autonomy: 310 },
      electric: { soc: 80 },
    });
    expect(await read()).toMatchObject({
      ...{ speed: 52, engine: 'OFF', mileage: 12345.6, ChargeLevel: 80, RemainingRange: 310 },
      position: { latitude: 48.8566, longitude: 2.3522, timestamp: '2025-11-21T08:00:00.250Z' },
    });
  });

  it('prefers the group reported last where two groups have the same fact, and the fleet group at equal times', async () => {
    await storeLatest(platform.db, vehicle.id, time, {
      status: { ignition: false, mileage: 200, autonomy: 310 },
      electric: { soc: 80 },
      fleet: { engine: 'ON', mileage: 100, ChargeLevel: 79, RemainingRange: 300 },
    });
    expect(await read()).toMatchObject({ engine: 'ON', mileage: 100, ChargeLevel: 79, RemainingRange: 300 });
    await sql`update vehicle_latest set fleet_time = fleet_time - interval '1 second'
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(await read()).toMatchObject({ engine: 'OFF', mileage: 200, ChargeLevel: 80, RemainingRange: 310 });
  });

  it('has the newest speed, also when the fleet group has an older one', async () => {
    await storeLatest(platform.db, vehicle.id, time, { location: { ...location, speed: 7 }, fleet: { speed: 99 } });
    expect((await read()).speed).toBe(7);
    const later = async (seconds: number, group: 'fleet_time' | 'location_time') =>
      sql`update vehicle_latest set ${sql.ref(group)} = ${time}::timestamptz + ${seconds} * interval '1 second'
        where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    await later(1, 'fleet_time');
    expect((await read()).speed).toBe(7);
    await storeReadings(platform.db, application.id, [
      { time: '2025-11-21T08:00:01Z', vehicle_id: vehicle.id, speed: 99 },
      { time: '2025-11-21T08:00:01.1Z', vehicle_id: vehicle.id },
    ]);
    expect((await read()).speed).toBe(99);
    await later(2, 'location_time');
    expect((await read()).speed).toBe(7);
  });

  it.each([
    ['no Bluetooth connection', { bluetooth: 'DISCONNECTED', authenticated: true }, undefined],
    ['a connection of which nothing more is known', { bluetooth: 'CONNECTED' }, false],
    ['an authenticated connection', { bluetooth: 'CONNECTED', authenticated: true }, true],
  ])('has authenticated only with a connection: %s', async (_name, fleet, authenticated) => {
    await storeLatest(platform.db, vehicle.id, time, { fleet });
    expect((await read()).authenticated).toBe(authenticated);
  });

  it.each([
    [1763712000.25, '2025-11-21T08:00:00.250Z'],
    [1763712000123, '2025-11-21T08:00:00.123Z'],
    ['2025-11-21T09:00:00+01:00', '2025-11-21T08:00:00.000Z'],
    ['1763712000.123456', '2025-11-21T08:00:00.123456Z'],
    [0, ''],
    [-5, ''],
    ['soon', ''],
  ])('writes ChargingUntil %s as %s', async (ChargingUntil, expected) => {
    await storeLatest(platform.db, vehicle.id, time, { fleet: { ChargingUntil } });
    expect((await read()).ChargingUntil).toBe(expected);
  });

  it('has the scenarii that the device model monitors, their actions, and what the device reported', async () => {
    const model = `model-${vehicle.id}`;
    await sql`insert into device_model (id, actions, proprietary_can, bluetooth, scenarii)
      values (${model}, '{}', false, false, '{"towing_detection": "SIREN", "crash_detection": ""}')`.execute(
      platform.db,
    );
    await platform.db.updateTable('device').set({ model_id: model }).where('id', '=', vehicle.deviceId).execute();
    await storeLatest(platform.db, vehicle.id, time, { alarms: { towing: true, crash: false, gps_jamming: true } });
    const absent = { available: false, active: false, action: '', triggered: false };
    expect((await read()).scenarii).toEqual({
      gps_jamming: { ...absent, triggered: true },
      gnss_jamming: absent,
      towing_detection: { ...watched, action: 'SIREN', triggered: true },
      crash_detection: watched,
    });
  });

  it('lists current authorizations, suspended ones included; the interval is half-open', async () => {
    await storeLatest(platform.db, vehicle.id, time, {});
    const insert = (driver: string, from: string, until: string, more: { revoked?: true; suspended?: true } = {}) =>
      sql`insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from, valid_until, revoked_at,
          suspended_until)
        values (${Number(vehicle.id)}, ${driver}, 'DRIVE', date_trunc('second', now()) + ${from}::interval,
          date_trunc('second', now()) + ${until}::interval, ${more.revoked ? sql`now()` : null},
          ${more.suspended ? sql`now() + interval '1 minute'` : null})`.execute(platform.db);
    await insert('current', '-2 hours', '1 hour');
    await insert('suspended', '-1 hour', '1 hour', { suspended: true });
    await insert('revoked', '-1 hour', '1 hour', { revoked: true });
    await insert('over', '-2 hours', '-1 hour');
    await insert('scheduled', '1 hour', '2 hours');
    const { authorizations } = await read();
    expect(authorizations.map(({ userId }) => userId)).toEqual(['current', 'suspended']);
    const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/);
    expect(authorizations[0]).toEqual({
      authorizationId: expect.any(String),
      userId: 'current',
      from: iso,
      until: iso,
    });
    const { from, until } = authorizations[0] ?? { from: '', until: '' };
    expect(Date.parse(until) - Date.parse(from)).toBe(3 * 3_600_000);
  });

  it('shows a user only their own authorizations, and a manager all', async () => {
    await storeLatest(platform.db, vehicle.id, time, {});
    const [driver, viewer, manager] = await Promise.all(
      (['driver', 'viewer', 'manager'] as const).map((role) =>
        createUser(platform.db, application, { vehicleIds: [vehicle.id], role }),
      ),
    );
    const drivers = ['another-driver', driver?.username.toUpperCase() ?? ''];
    await sql`insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from, valid_until)
      select ${Number(vehicle.id)}, driver, 'DRIVE', now() - interval '1 hour', now() + interval '1 hour'
      from unnest(${drivers}::text[]) as driver`.execute(platform.db);
    const listed = async (path: string, token = '') => {
      const { body } = await (token === '' ? client : platform.as(token)).get(path);
      return body.authorizations.map(({ userId }: { userId: string }) => userId).sort();
    };
    for (const path of [byId(), combinedPath()]) {
      for (const all of [undefined, manager?.token]) expect(await listed(path, all)).toEqual([...drivers].sort());
      expect(await listed(path, driver?.token)).toEqual(drivers.slice(1));
      expect(await listed(path, viewer?.token)).toEqual([]);
    }
  });

  it('finds a vehicle by its plate in any notation', async () => {
    await storeLatest(platform.db, vehicle.id, time, { fleet: { lock: 'LOCKED' } });
    const plate = (await plateOf(vehicle)).toLowerCase().replaceAll('-', ' ');
    expect((await client.get(`/v1/vehicle/status?plate=${encodeURIComponent(plate)}`)).body).toEqual(await read());
  });

  it('requires exactly one of vehicleId and plate; an empty one counts as missing', async () => {
    for (const path of ['/v1/vehicle/status', '/v1/vehicle/position']) {
      expect(await refusal(path)).toEqual([400, 'INVALID_PARAMETER', 'vehicleId']);
      expect(await refusal(`${path}?vehicleId=${vehicle.id}&plate=X`)).toEqual([400, 'INVALID_PARAMETER', 'plate']);
      expect(await refusal(`${path}?vehicleId=`)).toEqual([400, 'INVALID_PARAMETER', 'vehicleId']);
      expect(await refusal(`${path}?plate=`)).toEqual([400, 'INVALID_PARAMETER', 'vehicleId']);
      expect((await client.get(`${path}?vehicleId=${vehicle.id}&plate=`)).body.field).toBeUndefined();
      expect(await refusal(`${path}?plate=%00`)).toEqual([400, 'INVALID_PARAMETER', 'plate']);
      expect(await refusal(`${path}?vehicleId=1&vehicleId=2`)).toEqual([400, 'INVALID_PARAMETER', 'vehicleId']);
      expect(await refusal(`${path}?vehicleId=%00`)).toEqual([404, 'UNKNOWN_VEHICLE']);
      expect(await refusal(`${path}?plate=NOBODY-HAS-IT`)).toEqual([404, 'UNKNOWN_VEHICLE']);
    }
  });
});

describe('a vehicle without a fleet status', () => {
  const failed = [504, 'COMMUNICATION_FAILED'];

  it('whose device never reported is COMMUNICATION_FAILED, and NO_DATA in the dynamic shape', async () => {
    expect(await refusal(byId())).toEqual(failed);
    expect(await refusal(`${combinedPath()}?view=fleet`)).toEqual(failed);
    expect(await refusal(combinedPath())).toEqual(failed);
    expect(await refusal(`${combinedPath()}?view=dynamic`)).toEqual([404, 'NO_DATA']);
  });

  /** All keys but those of the fleet shape; the state in both forms. */
  async function lacksFleetKeys(): Promise<boolean> {
    expect(await refusal(byId())).toEqual(failed);
    expect(await refusal(`${combinedPath()}?view=fleet`)).toEqual(failed);
    const { body } = await client.get(combinedPath());
    expect(Value.Check(CombinedStatus, body)).toBe(true);
    const { body: dynamic } = await client.get(`${combinedPath()}?view=dynamic`);
    expect(body).toEqual({ ...dynamic, state: { ...dynamic.state, ...noState } });
    return !('lock' in body);
  }

  it('whose device was unlinked keeps its dynamic keys', async () => {
    await storeLatest(platform.db, vehicle.id, time, { location });
    await sql`update device_link set period = tstzrange(null, now())
      where device_id = ${vehicle.deviceId}`.execute(platform.db);
    expect(await lacksFleetKeys()).toBe(true);
  });

  it('whose new device has not reported yet keeps its dynamic keys, and has all keys once it reports', async () => {
    await storeLatest(platform.db, vehicle.id, time, { location });
    const { deviceId } = await createDevice(platform.db, { applicationId: application.id });
    await sql`update device_link set period = '(,2025-12-01)'
      where device_id = ${vehicle.deviceId}`.execute(platform.db);
    await sql`insert into device_link
      values (${deviceId}, ${Number(vehicle.id)}, '[2025-12-01,)')`.execute(platform.db);
    expect(await lacksFleetKeys()).toBe(true);
    await sql`update vehicle_latest set time = '2025-12-01'
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect((await client.get(byId())).status).toBe(200);
  });
});

describe('GET /v1/vehicle/{id}/status', () => {
  beforeEach(async () => {
    await storeLatest(platform.db, vehicle.id, time, {
      location,
      status: { ignition: true },
      fleet: { lock: 'LOCKED' },
    });
    await updateVehicle(platform.db, vehicle.id, { stolen: true });
  });

  it('answers both shapes in one object, the state in both forms', async () => {
    const [combined, dynamic, fleet] = await Promise.all(
      ['', '?view=dynamic', '?view=fleet'].map(async (view) => (await client.get(combinedPath() + view)).body),
    );
    expect(Value.Check(CombinedStatus, combined)).toBe(true);
    expect(Value.Check(VehicleStatus, dynamic)).toBe(true);
    expect(Value.Check(FleetStatus, fleet)).toBe(true);
    expect(combined).toEqual({ ...dynamic, ...fleet, state: { ...dynamic.state, ...fleet.state } });
    expect(combined.state).toMatchObject({ stolen: true, Stolen: true, towing: false, Towing: false });
    expect(fleet).toEqual(await read());
  });

  it('answers the shape that the application has set, unless the request names one', async () => {
    const fleet = await read();
    await platform.db.updateTable('application').set({ view: 'fleet' }).where('id', '=', application.id).execute();
    expect((await client.get(combinedPath())).body).toEqual(fleet);
    expect(Value.Check(VehicleStatus, (await client.get(`${combinedPath()}?view=dynamic`)).body)).toBe(true);
    expect(await refusal(`${combinedPath()}?view=both`)).toEqual([400, 'INVALID_PARAMETER', 'view']);
  });

  it('is readable for an archived vehicle', async () => {
    await updateVehicle(platform.db, vehicle.id, { archived_at: new Date() });
    expect((await read()).lock).toBe('LOCKED');
  });
});

describe('a position', () => {
  const paths = () => [`/v1/vehicle/position?vehicleId=${vehicle.id}`, `/v1/vehicle/${vehicle.id}/position`];

  it('is the last known one, by id and by plate', async () => {
    await storeLatest(platform.db, vehicle.id, '2025-11-21T08:00:00.123456Z', { location });
    const byPlate = `/v1/vehicle/position?plate=${await plateOf(vehicle)}`;
    for (const path of [...paths(), byPlate]) {
      const { status, body } = await client.get(path);
      expect([status, Value.Check(PositionAnswer, body)]).toEqual([200, true]);
      expect(body).toEqual({
        Position: { latitude: 48.8566, longitude: 2.3522, timestamp: '2025-11-21T08:00:00.123456Z' },
      });
    }
  });

  it('is POSITION_UNKNOWN if there was none', async () => {
    for (const path of paths()) expect(await refusal(path)).toEqual([404, 'POSITION_UNKNOWN']);
    await storeLatest(platform.db, vehicle.id, time, { status: { ignition: true } });
    for (const path of paths()) expect(await refusal(path)).toEqual([404, 'POSITION_UNKNOWN']);
  });

  it('is unknown and absent from the status while privacy is on; afterwards the earlier one is shown again', async () => {
    await storeLatest(platform.db, vehicle.id, time, { location, fleet: { lock: 'LOCKED' } });
    const before = await read();
    await turnPrivacyOn(platform.db, vehicle.id);
    for (const path of paths()) expect(await refusal(path)).toEqual([404, 'POSITION_UNKNOWN']);
    const { position, ...rest } = before;
    expect(await read()).toEqual({ ...rest, privacy: true });
    const { body } = await client.get(combinedPath());
    expect(body).not.toHaveProperty('position');
    expect(body).not.toHaveProperty('location');
    await sql`update privacy_period set period = tstzrange(lower(period), now())
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(await read()).toEqual(before);
    expect((await client.get(paths()[0] ?? '')).body).toEqual({ Position: position });
  });

  it('is hidden by a privacy interval that starts in the future, set by a clock ahead of this one', async () => {
    await storeLatest(platform.db, vehicle.id, time, { location });
    await turnPrivacyOn(platform.db, vehicle.id, new Date(Date.now() + 60_000).toISOString());
    for (const path of paths()) expect(await refusal(path)).toEqual([404, 'POSITION_UNKNOWN']);
  });
});

describe('access', () => {
  const paths = (plate: string) => [
    byId(),
    `/v1/vehicle/status?plate=${plate}`,
    combinedPath(),
    `${combinedPath()}?view=fleet`,
    `/v1/vehicle/position?vehicleId=${vehicle.id}`,
    `/v1/vehicle/position?plate=${plate}`,
    `/v1/vehicle/${vehicle.id}/position`,
  ];

  it('ends when the vehicle is deleted', async () => {
    await storeLatest(platform.db, vehicle.id, time, { location });
    const plate = await plateOf(vehicle);
    for (const path of paths(plate)) expect((await client.get(path)).status).toBe(200);
    await updateVehicle(platform.db, vehicle.id, { deleted_at: new Date() });
    for (const path of paths(plate)) expect(await refusal(path)).toEqual([404, 'UNKNOWN_VEHICLE']);
  });
});
