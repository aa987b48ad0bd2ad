import { createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { application, client, platform, setUpVehicle, vehicle } from '../application.fixture.ts';
import { storeLatest, storeReadings, turnPrivacyOn } from '../query.fixture.ts';

setUpVehicle();

const time = '2025-03-01T08:00:00.000Z';
const read = async (resource: string) => (await client.get(`/v1/x/vehicle/${vehicle.id}/${resource}`)).body;

describe('GET /v1/x/vehicle/{id}/values', () => {
  beforeEach(() =>
    storeLatest(platform.db, vehicle.id, time, {
      location: { latitude: 48.5, longitude: 2.25, speed: 12 },
      electric: { soh: 97 },
      can: [
        { key: 'rpm', value: '2100' },
        { key: 'gps.latitude', value: '48.5' },
      ],
      sensors: [{ name: 'cold room', data: [{ key: 'temperature', value: '4.5' }] }],
      fleet: { lock: 'LOCKED', cardholder: [{ id: '7', statut: 'IN' }] },
    }),
  );
  const value = (group: string, name: string, one: unknown, unit = '', field?: string) => ({
    ...{ group, name, value: one, unit, time, ...(field !== undefined && { field }) },
  });

  it('lists every latest value with its time, its unit, and the name of its series', async () => {
    const { values } = await read('values');
    expect(values).toHaveLength(9);
    expect(values).toEqual(
      expect.arrayContaining([
        value('location', 'latitude', 48.5, '°'),
        value('location', 'speed', 12, 'km/h', 'speed'),
        value('electric', 'soh', 97, '%', 'soh'),
        value('can', 'rpm', '2100', '', 'can.rpm'),
        value('sensors', 'cold room temperature', '4.5', '°C', 'sensors.cold%20room.temperature'),
        value('fleet', 'lock', 'LOCKED'),
        value('fleet', 'cardholder', '[{"id":"7","statut":"IN"}]'),
      ]),
    );
  });

  it('has the units of CAN data from the DBC file of the model and from the Teltonika device family', async () => {
    const dbc = 'BO_ 256 M: 8 X\n SG_ rpm : 0|16@1+ (1,0) [0|0] "rpm" X\n';
    // A model of its own, so that other vehicles keep their units.
    const model = `units-${vehicle.id}`;
    await sql`update vehicle set model = ${model} where id = ${vehicle.id}::integer`.execute(platform.db);
    await sql`insert into can_database (model, file, dbc, sha256, messages, signals, position_keys)
      values (${model}, 'test.dbc', ${dbc}, ${vehicle.id}, 1, 1, '{}')`.execute(platform.db);
    await sql`insert into device_model (id, protocol, family, actions, proprietary_can, bluetooth)
      values (${model}, 'teltonika', 'fmb', '{}', true, false)`.execute(platform.db);
    await sql`update device set model_id = ${model} where id = ${vehicle.deviceId}`.execute(platform.db);
    const can = [
      { key: 'rpm', value: '2100' },
      { key: 'external_voltage', value: '12.6' },
    ];
    await sql`update vehicle_latest set can = ${JSON.stringify(can)}::jsonb
      where vehicle_id = ${vehicle.id}::integer`.execute(platform.db);
    const { values } = await read('values');
    expect(values).toEqual(
      expect.arrayContaining([
        value('can', 'rpm', '2100', 'rpm', 'can.rpm'),
        value('can', 'external_voltage', '12.6', 'V', 'can.external_voltage'),
      ]),
    );
  });

  it('leaves out everything that denotes a position while privacy is on', async () => {
    await turnPrivacyOn(platform.db, vehicle.id);
    const { values } = await read('values');
    const names = values.map(({ name }: { name: string }) => name);
    expect(names.sort()).toEqual(['cardholder', 'cold room temperature', 'lock', 'rpm', 'soh']);
  });
});

describe('GET /v1/x/vehicle/{id}/readings', () => {
  it('answers the newest readings first, whole, and without what was not reported', async () => {
    const at = (seconds: number) => `2025-03-01T08:00:0${seconds}.25Z`;
    await storeReadings(platform.db, application.id, [
      { vehicle_id: vehicle.id, time: at(1), soc: 80, ignition: false, can: [{ key: 'rpm', value: '0' }] },
      { vehicle_id: vehicle.id, time: at(2), latitude: 48.5, longitude: 2.25, speed: 12 },
    ]);
    await sql`update reading set sequence = 7 where vehicle_id = ${vehicle.id}::integer
      and soc is null`.execute(platform.db);
    const { readings } = await read('readings');
    const common = { receivedAt: expect.any(String), deviceId: 'test' };
    const older = {
      ...{ ...common, time: '2025-03-01T08:00:01.250000Z', status: { ignition: false }, electric: { soc: 80 } },
      can: [{ key: 'rpm', value: '0' }],
    };
    expect(readings).toEqual([
      {
        ...{ ...common, time: '2025-03-01T08:00:02.250000Z', sequence: 7 },
        location: { latitude: 48.5, longitude: 2.25, speed: 12 },
      },
      older,
    ]);
    expect((await read('readings?limit=1')).readings).toEqual([readings[0]]);
    expect(await read(`readings?before=${readings[0].time}`)).toEqual({ readings: [older] });
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['before=x', 'before'],
  ])('refuses %s', async (query, field) => {
    expect(await read(`readings?${query}`)).toMatchObject({ error: 'INVALID_PARAMETER', field });
  });
});

describe('GET /v1/x/vehicle/{id}/links', () => {
  it('lists the links of the vehicle with their bounds, the newest first', async () => {
    const other = await createVehicle(platform.db, application);
    await sql`delete from device_link where device_id = ${other.deviceId}`.execute(platform.db);
    await sql`update device_link set period = tstzrange(null, '2025-03-01T08:00:00Z')
      where device_id = ${vehicle.deviceId}`.execute(platform.db);
    await sql`insert into device_link values (${other.deviceId}, ${vehicle.id}::integer,
      tstzrange('2025-03-01T09:00:00Z', null))`.execute(platform.db);
    expect(await read('links')).toEqual({
      links: [
        { deviceId: other.deviceId, from: '2025-03-01T09:00:00.000Z' },
        { deviceId: vehicle.deviceId, until: '2025-03-01T08:00:00.000Z' },
      ],
    });
  });
});
