import { brokerService } from '@odograph/broker/service';
import { encodeCbor } from '@odograph/codec/native/cbor';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import type { ApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const platform = await usePlatform([ingestService, brokerService, queryService]);
const application = await createApplication(platform.db);
const api = platform.as(application.token);

const start = 1_763_712_000;

interface HistoryReading {
  vehicle: { id: string };
  timestamp: number;
  status: { mileage: number };
}

/** Reads every page of a history route by offset. */
async function readHistory(path: string, client: ApiClient): Promise<HistoryReading[]> {
  const all: HistoryReading[] = [];
  for (;;) {
    const { status, body } = await client.get(`${path}&limit=10000&offset=${all.length}`);
    expect(status).toBe(200);
    all.push(...body.status);
    if (body.status.length < 10_000) return all;
  }
}

describe('history answers uploads', () => {
  it('in order and once each: 20,000 readings of 50 devices with duplicates, out of order, in arrays and singly', async () => {
    const own = await createApplication(platform.db);
    // All connect before any upload: storing 20,000 readings keeps the single session of an embedded database busy.
    const connect = async () => {
      const vehicle = await createVehicle(platform.db, own);
      return { ...vehicle, connection: await connectDevice(platform.mqttUrl, vehicle) };
    };
    const vehicles = await Promise.all(Array.from({ length: 50 }, connect));
    const expected: string[] = [];
    await Promise.all(
      vehicles.map(async ({ id, connection }, device) => {
        const readings = Array.from({ length: 400 }, (_unused, index) => ({
          timestamp: start + index + device / 64,
          status: { mileage: index },
        }));
        for (const { timestamp } of readings) expected.push(`${timestamp.toFixed(6)} ${id}`);
        const shuffled = fc.sample(fc.shuffledSubarray([...readings, ...readings], { minLength: 800 }), {
          numRuns: 1,
          seed: device,
        })[0];
        const uploads: Promise<void>[] = [];
        for (let next = shuffled ?? []; next.length > 0; ) {
          const size = next.length % 3 === 0 ? 1 : (next.length % 40) + 1;
          const part = next.slice(0, size);
          uploads.push(connection.upload(part.length === 1 ? part[0] : part));
          next = next.slice(size);
        }
        await Promise.all(uploads);
        await connection.close();
      }),
    );
    expected.sort();
    const client = platform.as(own.token);
    const range = `from=${start}&until=${start + 500}`;
    await eventually(async () => {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from reading where application_id = ${own.id}`.execute(platform.db);
      expect(rows[0]?.count).toBe(20_000);
    }, 60_000);
    const key = ({ timestamp, vehicle }: HistoryReading) => `${timestamp.toFixed(6)} ${vehicle.id}`;
    expect((await readHistory(`/v1/vehicles/history?${range}`, client)).map(key)).toEqual(expected);
    const ofEach = await Promise.all(
      vehicles.map(({ id }) => readHistory(`/v1/vehicle/${id}/history?${range}`, client)),
    );
    for (const readings of ofEach) expect(readings.map(key)).toEqual(readings.map(key).sort());
    expect(ofEach.flat().map(key).sort()).toEqual(expected);
  });
});

describe('an upload in CBOR', () => {
  it('is stored like one in JSON; one that cannot be decoded, and an invalid value, go to quarantine', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const device = await connectDevice(platform.mqttUrl, vehicle);
    const readings = [
      { timestamp: start, sequence: 1, status: { mileage: 5 } },
      { timestamp: start + 1, sequence: 2, status: { mileage: 'far' } },
      { timestamp: start + 2, sequence: 3, frames: [{ id: '18FEF100', data: '0102' }] },
    ];
    await device.upload(Buffer.from(encodeCbor(readings)));
    await device.upload(Buffer.from('8100c1', 'hex'));
    const faultsOf = async () => {
      const { rows } = await sql<{ reason: string }>`select jsonb_array_elements(faults)->>'reason' as reason
        from quarantine where device_id = ${vehicle.deviceId} order by 1`.execute(platform.db);
      return rows.map(({ reason }) => reason);
    };
    await eventually(async () => expect(await faultsOf()).toEqual(['INVALID_VALUE', 'NOT_CBOR']));
    const stored = await sql`select mileage, sequence, frames from reading_in_units
      where vehicle_id = ${Number(vehicle.id)} order by time`.execute(platform.db);
    expect(stored.rows).toEqual([
      { mileage: 5, sequence: 1, frames: null },
      { mileage: null, sequence: 2, frames: null },
      { mileage: null, sequence: 3, frames: [{ id: '18FEF100', data: '0102' }] },
    ]);
    await device.close();
  });
});

describe("fleet status answers a device's uploads", () => {
  let vehicle: TestVehicle;
  let device: DeviceConnection;

  beforeEach(async () => {
    vehicle = await createVehicle(platform.db, application);
    device = await connectDevice(platform.mqttUrl, vehicle);
  });
  afterEach(() => device.close());

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
