import { setTimeout as delay } from 'node:timers/promises';
import { brokerService } from '@odograph/broker/service';
import { ingestService } from '@odograph/ingest/service';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';

const readingsPerUpload = 1000;
const uploadsInFlight = 20;
const normalIntervalMs = 1000;
const sampleIntervalMs = 100;
/** The rates of a device by default; other test platforms have no limit. */
const defaultRates = { MQTT_DEVICE_UPLOADS_PER_SECOND: '50', MQTT_DEVICE_BYTES_PER_SECOND: String(512 * 1024) };

export interface FloodOptions {
  normalDevices: number;
  floodingDevices: number;
  seconds: number;
}

/** Delay from sending to storing the readings of normal devices, in ms, and the number of accepted flood readings. */
export interface FloodResult {
  p50Ms: number;
  p99Ms: number;
  worstMs: number;
  floodUploads: number;
}

type Device = TestVehicle & { connection: DeviceConnection };

async function connectMany(platform: TestPlatform, count: number): Promise<Device[]> {
  const application = await createApplication(platform.db);
  const vehicles: TestVehicle[] = [];
  for (let index = 0; index < count; index += 1) vehicles.push(await createVehicle(platform.db, application));
  return Promise.all(
    vehicles.map(async (vehicle) => ({ ...vehicle, connection: await connectDevice(platform.mqttUrl, vehicle) })),
  );
}

/** Uploads 1,000 current readings with alarms as fast as PUBACKs allow. */
async function flood({ connection }: Device, signal: AbortSignal, accepted: () => void): Promise<void> {
  const upload = async (): Promise<void> => {
    while (!signal.aborted && connection.client.connected) {
      const now = Date.now();
      const readings = Array.from({ length: readingsPerUpload }, (_, index) => ({
        timestamp: (now - readingsPerUpload + index) / 1000 + Math.random() / 1000,
        location: { latitude: 48.8566, longitude: 2.3522, speed: 50 },
        status: { ignition: true, mileage: index },
        alarms: { towing: true, crash: true },
      }));
      await connection.upload(readings).then(accepted, () => undefined);
    }
  };
  await Promise.all(Array.from({ length: uploadsInFlight }, upload));
}

/** Uploads one reading per second. */
async function drive({ connection }: Device, signal: AbortSignal): Promise<void> {
  await delay(Math.random() * normalIntervalMs);
  while (!signal.aborted) {
    const reading = {
      timestamp: Date.now() / 1000,
      location: { latitude: 48, longitude: 2 },
      status: { ignition: true },
    };
    await connection.upload(reading);
    await delay(normalIntervalMs);
  }
}

/** Samples how long ago the newest stored reading of each device was sent, less the interval between two. */
async function sampleDelays(
  platform: TestPlatform,
  devices: readonly Device[],
  signal: AbortSignal,
): Promise<number[]> {
  const ids = devices.map(({ id }) => Number(id));
  const delays: number[] = [];
  while (!signal.aborted) {
    const { rows } = await sql<{ age: number }>`
      select extract(epoch from clock_timestamp() - time)::float8 * 1000 as age from vehicle_latest
      where vehicle_id = any(${ids}::integer[])`.execute(platform.db);
    for (const { age } of rows) delays.push(Math.max(0, age - normalIntervalMs));
    await delay(sampleIntervalMs);
  }
  return delays.sort((a, b) => a - b);
}

/** Measures how devices that flood the platform delay the others. */
export async function measureFlood(options: FloodOptions, settings: Record<string, string> = {}): Promise<FloodResult> {
  const platform = await startTestPlatform([brokerService, ingestService], { ...defaultRates, ...settings });
  try {
    const normal = await connectMany(platform, options.normalDevices);
    const flooding = await connectMany(platform, options.floodingDevices);
    const end = new AbortController();
    let floodUploads = 0;
    const driving = normal.map((device) => drive(device, end.signal));
    await delay(3 * normalIntervalMs);
    const floods = flooding.map((device) => flood(device, end.signal, () => (floodUploads += 1)));
    const sampling = sampleDelays(platform, normal, end.signal);
    await delay(options.seconds * 1000);
    end.abort();
    const delays = await sampling;
    await Promise.allSettled(driving);
    for (const { connection } of [...normal, ...flooding]) await connection.close('cut');
    await Promise.allSettled(floods);
    const at = (share: number): number => Math.round(delays[Math.floor(share * (delays.length - 1))] ?? Number.NaN);
    return { p50Ms: at(0.5), p99Ms: at(0.99), worstMs: at(1), floodUploads };
  } finally {
    await platform.stop();
  }
}
