import { setImmediate } from 'node:timers/promises';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { connectDevice, type DeviceCredentials } from '@odograph/simulator/device-connection';
import { SimulatedDevice } from '@odograph/simulator/simulated-device';
import { SimulatedVehicle } from '@odograph/simulator/simulated-vehicle';
import { createClient, type DemoClient, waitFor } from './client.ts';
import { type DemoFleet, ensureDemoFleet, saveFleet } from './fleet.ts';
import { createItinerary, readRoads } from './itineraries.ts';
import { ensureCommand, ensureRecords } from './records.ts';

const daySeconds = 86_400;
const drivingIntervalSeconds = 30;
const parkedIntervalSeconds = 3600;
/** A reading of the first drive that is not uploaded, so that the list of gaps has an entry. */
const lostReading = 10;
const readingsPerUpload = 100;

/**
 * Lets a vehicle live through past days. The same vehicle gives the same readings.
 * @param untilSeconds end of the last day, UNIX seconds
 */
async function readDays(vehicle: SimulatedVehicle, untilSeconds: number, days: number): Promise<TelemetryReading[]> {
  const readings: TelemetryReading[] = [];
  for (let time = untilSeconds - days * daySeconds; time < untilSeconds; ) {
    readings.push(vehicle.read(time));
    // The platform runs in this process.
    if (readings.length % readingsPerUpload === 0) await setImmediate();
    const { departure } = vehicle;
    if (departure === undefined) time += drivingIntervalSeconds;
    else time = Math.min(time + parkedIntervalSeconds, Math.max(Math.ceil(departure), time) + 1);
  }
  return readings;
}

/** Uploads past readings of a device over MQTT. Repeating it is harmless. */
async function uploadHistory(
  mqttUrl: string,
  device: DeviceCredentials,
  readings: readonly TelemetryReading[],
): Promise<void> {
  const arrived = readings.filter((_reading, index) => index !== lostReading);
  const connection = await connectDevice(mqttUrl, device);
  try {
    for (let start = 0; start < arrived.length; start += readingsPerUpload) {
      await connection.upload(arrived.slice(start, start + readingsPerUpload));
    }
  } finally {
    await connection.close();
  }
}

const readingIntervalMs = 1000;
const tripsTimeoutMs = 60_000;

export interface DemoOptions {
  readonly httpUrl: string;
  readonly mqttUrl: string;
  readonly adminToken: string;
  readonly dataDirectory: string;
  readonly vehicleCount: number;
  readonly days: number;
}

/** A demo whose devices report. */
export interface Demo {
  readonly fleet: DemoFleet;
  readonly devices: readonly SimulatedDevice[];
  readonly client: DemoClient;
  /** Access token of the demo's application. */
  readonly token: string;
}

/** Whether every vehicle has trips, which are segmented some seconds after an upload. */
async function haveTrips(client: DemoClient, { vehicles, historyUntilSeconds: until }: DemoFleet, days: number) {
  const interval = `from=${until - days * daySeconds}&until=${until}`;
  for (const { id } of vehicles) await client.get(`/v1/vehicle/${id}/trips?${interval}`);
  return true;
}

function startDevice(mqttUrl: string, { device, deviceKey }: DemoFleet['vehicles'][number], vehicle: SimulatedVehicle) {
  const { deviceId } = device;
  const { key, keyVersion } = deviceKey;
  const simulated = new SimulatedDevice({
    url: mqttUrl,
    credentials: device,
    identity: { deviceId, deviceKey: Buffer.from(key, 'base64url'), keyVersion },
    vehicle,
    intervalMs: readingIntervalMs,
  });
  simulated.start();
  return simulated;
}

/**
 * Creates the demo's fleet with days of history, trips, bookings and authorizations, as far as they are missing, and
 * starts its devices.
 */
export async function startDemo({ httpUrl, mqttUrl, adminToken, ...options }: DemoOptions): Promise<Demo> {
  const { dataDirectory, vehicleCount, days } = options;
  const operator = createClient(httpUrl, { authorization: `Bearer ${adminToken}` });
  const fleet = await ensureDemoFleet(dataDirectory, operator, vehicleCount);
  const { appId, appKey } = fleet;
  const { token } = await createClient(httpUrl, {}).post<{ token: string }>('/v1/login', { appId, appKey });
  const client = createClient(httpUrl, { 'x-service-token': token });
  const [first] = fleet.vehicles;
  if (first !== undefined) await ensureRecords(client, first.id);
  const roads = await readRoads();
  // Drives again at each start, so that mileage and charge go on from the history.
  const vehicles = fleet.vehicles.map(
    (_vehicle, index) => new SimulatedVehicle(index + 1, createItinerary(roads, index)),
  );
  const histories = await Promise.all(vehicles.map((vehicle) => readDays(vehicle, fleet.historyUntilSeconds, days)));
  if (!fleet.hasHistory) {
    await Promise.all(
      fleet.vehicles.map(({ device }, index) => uploadHistory(mqttUrl, device, histories[index] ?? [])),
    );
    await waitFor(() => haveTrips(client, fleet, days), tripsTimeoutMs);
    fleet.hasHistory = true;
    await saveFleet(dataDirectory, fleet);
  }
  const devices = fleet.vehicles.flatMap((entry, index) => {
    const vehicle = vehicles[index];
    return vehicle === undefined ? [] : [startDevice(mqttUrl, entry, vehicle)];
  });
  if (first !== undefined) await ensureCommand(client, first.id);
  return { fleet, devices, client, token };
}
