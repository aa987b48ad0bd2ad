import { brokerService } from '@odograph/broker/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

let vehicle: TestVehicle;
let device: DeviceConnection;

const platform = await usePlatform([ingestService, brokerService, queryService]);
const application = await createApplication(platform.db);
const api = platform.as(application.token);
beforeEach(async () => {
  vehicle = await createVehicle(platform.db, application);
  device = await connectDevice(platform.mqttUrl, vehicle);
});
afterEach(() => device.close());

const start = 1_763_712_000;
const location = { latitude: 48.8566, longitude: 2.3522, angle: 90, altitude: 35, speed: 52, satellites: 9 };
/** Every device-reported field of the fleet vehicle status record, each with a value other than its default. */
const fleet = {
  ...{ lock: 'LOCKED', engine: 'ON', immobilizer: 'UNLOCKED', handbrake: 'OFF', lights: 'ON', doors: 'CLOSED' },
  ...{ windows: 'OPEN', speed: 50.5, bluetooth: 'CONNECTED', authenticated: true, mileage: 12345.6, fuel: 31.5 },
  ...{ fuelRange: 62, chargingAdapterStatus: 'CONNECTED', ChargingStatus: 'CHARGING', ChargeLevel: 80 },
  ...{ RemainingRange: 310, cardholder: [{ id: '1', statut: 'PRESENT' }], vehicleKey: true },
};
const alarms = { towing: true, crash: true, gps_jamming: true, gnss_jamming: true };

type Reading = { readonly timestamp: number } & Readonly<Record<string, unknown>>;

/** Uploads readings, and waits until the newest of them is the latest state. */
async function upload(...readings: Reading[]): Promise<void> {
  await device.upload(readings);
  const newest = Math.max(...readings.map(({ timestamp }) => timestamp));
  await eventually(async () => {
    const { rows } = await sql<{ time: string }>`select extract(epoch from time)::text as time from vehicle_latest
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(Number(rows[0]?.time)).toBeGreaterThanOrEqual(newest);
  });
}
const status = async () => (await api.get(`/v1/vehicle/status?vehicleId=${vehicle.id}`)).body;

describe("fleet status answers a device's uploads", () => {
  it('with every field by its exact name', async () => {
    const before = Date.now();
    await upload({ timestamp: start, fleet: { ...fleet, ChargingUntil: start + 3600.5 }, alarms });
    const { lastMessage, scenarii, state, ...told } = await status();
    expect(told).toEqual({
      ...fleet,
      ChargingUntil: '2025-11-21T09:00:00.500Z',
      privacy: false,
      authorizations: [],
    });
    const triggered = { available: true, active: true, action: '', triggered: true };
    expect(scenarii).toEqual({
      gps_jamming: triggered,
      gnss_jamming: triggered,
      towing_detection: triggered,
      crash_detection: triggered,
    });
    expect(state).toEqual({
      ...{ Towing: true, Accident: true, Maintenance: false, Breakdown: false, Stolen: false, Unavailable: false },
    });
    expect(Date.parse(lastMessage)).toBeGreaterThanOrEqual(before - 1000);
    expect(Date.parse(lastMessage)).toBeLessThanOrEqual(Date.now() + 1000);
  });

  it('without a speed from a privacy interval after its end', async () => {
    await upload({ timestamp: start, location: { ...location, speed: 10 } });
    await sql`insert into privacy_period values (${Number(vehicle.id)},
      tstzrange(to_timestamp(${start + 10}), to_timestamp(${start + 20})))`.execute(platform.db);
    await upload({ timestamp: start + 15, location: { ...location, latitude: 50, speed: 90 } });
    expect((await status()).speed).toBe(90);
    await upload({ timestamp: start + 25, location: { ...location, speed: 3 } });
    await upload({ timestamp: start + 30, fleet: { doors: 'OPEN' } });
    expect(await status()).toMatchObject({ speed: 3, doors: 'OPEN', position: { latitude: 48.8566 } });
  });
});
