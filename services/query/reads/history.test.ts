import { createToken, createVehicle, type TestVehicle, updateVehicle } from '@odograph/testkit/fixtures';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { beforeEach, describe, expect, it } from 'vitest';
import { application, client, platform, setUpApplication } from '../application.fixture.ts';
import { createUser, storeReadings, storeSeries } from '../query.fixture.ts';
import { HistoryReading } from '../shared/schemas.ts';

setUpApplication();

const Answer = Type.Object({ status: Type.Array(HistoryReading) }, { additionalProperties: false });
type Reading = Static<typeof HistoryReading>;

let first: TestVehicle;
let second: TestVehicle;

beforeEach(async () => {
  first = await createVehicle(platform.db, application);
  second = await createVehicle(platform.db, application);
});

async function read(path: string, by = client): Promise<{ readings: Reading[]; link?: string; more: string | null }> {
  const { status, body, headers } = await by.get(path);
  expect({ status, error: body.error, field: body.field }).toEqual({ status: 200 });
  Value.Assert(Answer, body);
  const link = /^<(\/v1\/[^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
  return { readings: body.status, more: headers.get('x-has-more'), ...(link === undefined ? {} : { link }) };
}
const times = (readings: Reading[]) => readings.map(({ timestamp }) => timestamp);
const keys = (readings: Reading[]) => readings.map(({ timestamp, vehicle }) => `${timestamp} ${vehicle.id}`);
const start = 1_763_712_000;
const at = (seconds: number) => new Date((start + seconds) * 1000).toISOString();
const window = `from=${start}&until=${start + 100_000}`;
const series = (vehicle: TestVehicle, count: number) =>
  storeSeries(platform.db, { applicationId: application.id, vehicleId: vehicle.id, start: at(0), count });

describe('readings', () => {
  it('include both bounds, which are in seconds, milliseconds or ISO 8601', async () => {
    await series(first, 5);
    for (const bounds of [
      `from=${start + 1}&until=${start + 3}`,
      `from=${start + 1}000&until=${start + 3}000`,
      `from=${at(1)}&until=${at(3)}`,
      `from=${start + 1}.0&until=2025-11-21T09:00:03%2B01:00`,
    ]) {
      const { readings } = await read(`/v1/vehicle/${first.id}/history?${bounds}`);
      expect({ bounds, times: times(readings) }).toEqual({ bounds, times: [start + 1, start + 2, start + 3] });
    }
  });

  it('have and are found by times in microseconds', async () => {
    const moments = ['2025-11-21T08:00:00.123455Z', '2025-11-21T08:00:00.123456Z', '2025-11-21T08:00:00.123457Z'];
    await storeReadings(
      platform.db,
      application.id,
      moments.map((time) => ({ time, vehicle_id: first.id })),
    );
    const exact = '1763712000.123456';
    const response = await fetch(`${platform.httpUrl}/v1/vehicles/history?from=${exact}&until=${exact}`, {
      headers: { 'x-service-token': application.token },
    });
    expect(await response.text()).toContain(`"timestamp":${exact},`);
    const all = await read(`/v1/vehicles/history?${window}`);
    expect(times(all.readings)).toEqual([1763712000.123455, 1763712000.123456, 1763712000.123457]);
  });

  it('have every documented value, 0 or false if never reported, and no unknown location', async () => {
    await storeReadings(platform.db, application.id, [
      { time: at(0), vehicle_id: first.id },
      {
        time: at(0.25),
        vehicle_id: first.id,
        latitude: -0.1,
        longitude: 1e-7,
        ignition: true,
        mileage: 12345.6,
        soc: 80,
        max_energy: 52,
        sensors: [{ name: 'cargo "A"', data: [{ key: 'temperature', value: '4.5' }] }],
      },
    ]);
    const { readings } = await read(`/v1/vehicle/${first.id}/history?${window}`);
    const electric = {
      ...{ soh: 0, soc: 0, current: 0, voltage: 0, energy: 0, maxEnergy: 0, minCellVoltage: 0, maxCellVoltage: 0 },
      ...{ temperature: 0, minCellTemperature: 0, maxCellTemperature: 0, lifetimePowerUse: 0, lifetimeChargePower: 0 },
    };
    const vehicle = { id: first.id, plate: expect.any(String), vin: '', brand: 'Renault', model: 'Zoe' };
    expect(readings).toEqual([
      {
        vehicle,
        timestamp: start,
        status: { ignition: false, movement: false, mileage: 0, autonomy: 0 },
        electric,
        sensors: [],
      },
      {
        vehicle,
        timestamp: start + 0.25,
        location: { latitude: -0.1, longitude: 1e-7, angle: 0, altitude: 0 },
        status: { ignition: true, movement: false, mileage: 12345.6, autonomy: 0 },
        electric: { ...electric, soc: 80, maxEnergy: 52 },
        sensors: [{ name: 'cargo "A"', data: [{ key: 'temperature', value: '4.5' }] }],
      },
    ]);
  });
});

describe('a page', () => {
  it('holds 3000 readings by default and at most 10,000', async () => {
    await series(first, 10_050);
    for (const path of ['/v1/vehicles/history', `/v1/vehicle/${first.id}/history`]) {
      expect((await read(`${path}?${window}`)).readings).toHaveLength(3000);
      expect((await read(`${path}?${window}&limit=0`)).readings).toEqual([]);
      const largest = await read(`${path}?${window}&limit=1000000`);
      expect(times(largest.readings)).toEqual(Array.from({ length: 10_000 }, (_, index) => start + index));
      expect(largest.more).toBe('true');
      const rest = await read(`${path}?${window}&limit=10000&offset=10000`);
      expect(times(rest.readings)).toEqual(Array.from({ length: 50 }, (_, index) => start + 10_000 + index));
      expect(rest).not.toHaveProperty('link');
      expect(rest.more).toBe('false');
    }
  });

  it('skips `offset` readings', async () => {
    await series(first, 20);
    await series(second, 20);
    const all = keys((await read(`/v1/vehicles/history?${window}`)).readings);
    expect(all).toHaveLength(40);
    for (const offset of [1, 7, 39]) {
      const { readings } = await read(`/v1/vehicles/history?${window}&offset=${offset}`);
      expect(keys(readings)).toEqual(all.slice(offset));
    }
    for (const offset of ['40', '5000000', '9'.repeat(30)]) {
      expect((await read(`/v1/vehicles/history?${window}&offset=${offset}`)).readings).toEqual([]);
    }
  });

  it('is empty for an empty interval', async () => {
    await series(first, 5);
    expect((await read(`/v1/vehicles/history?from=${start + 4}&until=${start + 1}`)).readings).toEqual([]);
    expect((await read(`/v1/vehicle/${first.id}/history?from=0&until=1`)).readings).toEqual([]);
  });
});

describe('access', () => {
  it('answers UNKNOWN_VEHICLE for a deleted vehicle and a malformed id', async () => {
    await series(first, 3);
    await series(second, 3);
    await updateVehicle(platform.db, second.id, { deleted_at: new Date() });
    for (const id of [second.id, '9999999999', 'x']) {
      const { status, body } = await client.get(`/v1/vehicle/${id}/history?${window}`);
      expect([status, body.error]).toEqual([404, 'UNKNOWN_VEHICLE']);
    }
    const { readings } = await read(`/v1/vehicles/history?${window}`);
    expect(new Set(readings.map(({ vehicle }) => vehicle.id))).toEqual(new Set([first.id]));
  });

  it('is limited to granted vehicles in user mode', async () => {
    await series(first, 3);
    await series(second, 3);
    const userId = await createUser(platform.db, application.id, [second.id]);
    const user = platform.as(await createToken(platform.db, application.id, userId));
    const { readings } = await read(`/v1/vehicles/history?${window}`, user);
    expect(readings.map(({ vehicle }) => vehicle.id)).toEqual([second.id, second.id, second.id]);
    const foreign = await user.get(`/v1/vehicle/${first.id}/history?${window}`);
    expect(foreign.body.error).toBe('UNKNOWN_VEHICLE');
  });
});
