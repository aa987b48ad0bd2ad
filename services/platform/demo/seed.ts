import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { connectDevice, type DeviceCredentials } from '@odograph/simulator/device-connection';
import { SimulatedDevice } from '@odograph/simulator/simulated-device';
import { SimulatedVehicle } from '@odograph/simulator/simulated-vehicle';
import { createClient, type DemoClient, waitFor } from './client.ts';
import { type DemoFleet, ensureDemoFleet, saveFleet } from './fleet.ts';
import { ensureCommand, ensureRecords } from './records.ts';

const daySeconds = 86_400;
/** Two drives a day. */
const driveStartsSeconds = [7.5 * 3600, 17 * 3600];
const driveSeconds = 25 * 60;
const readingIntervalSeconds = 30;
/** A reading of the first drive that is not uploaded, so that the list of gaps has an entry. */
const lostReading = 10;
const readingsPerUpload = 100;

/**
 * Drives a vehicle twice a day, and leaves it parked. The same vehicle gives the same readings.
 * @param untilSeconds end of the last day, UNIX seconds
 */
function driveDays(vehicle: SimulatedVehicle, untilSeconds: number, days: number): TelemetryReading[] {
  const firstDay = untilSeconds - days * daySeconds;
  const starts = Array.from({ length: days }, (_unused, day) =>
    driveStartsSeconds.map((start) => firstDay + day * daySeconds + start),
  ).flat();
  return starts.flatMap((start) => {
    const drive: TelemetryReading[] = [];
    vehicle.parkUntil(start);
    for (let second = 0; second <= driveSeconds; second += readingIntervalSeconds) {
      drive.push(vehicle.read(start + second));
    }
    vehicle.parkUntil(untilSeconds);
    drive.push(vehicle.read(start + driveSeconds + readingIntervalSeconds));
    return drive;
  });
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

const paris = { latitude: 48.8566, longitude: 2.3522 };
const readingIntervalMs = 1000;
const tripsPatienceMs = 60_000;

export interface DemoOptions {
  readonly httpUrl: string;
  readonly mqttUrl: string;
  readonly adminToken: string;
  readonly dataDirectory: string;
  readonly vehicleCount: number;
  readonly days: number;
}

/** A demo whose devices drive and upload. */
export interface Demo {
  readonly fleet: DemoFleet;
  readonly devices: readonly SimulatedDevice[];
  /** Of the demo's application. */
  readonly client: DemoClient;
}

async function logIn(httpUrl: string, { appId, appKey }: DemoFleet): Promise<DemoClient> {
  const { token } = await createClient(httpUrl, {}).post<{ token: string }>('/v1/login', { appId, appKey });
  return createClient(httpUrl, { 'x-service-token': token });
}

/** Whether every vehicle has trips, which are segmented some seconds after an upload. */
async function haveTrips(client: DemoClient, { vehicles, historyUntilSeconds: until }: DemoFleet, days: number) {
  for (const { id } of vehicles)
    await client.get(`/v1/vehicle/${id}/trips?from=${until - days * 86_400}&until=${until}`);
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
  const client = await logIn(httpUrl, fleet);
  const [first] = fleet.vehicles;
  if (first !== undefined) await ensureRecords(client, first.id);
  // Drives again at each start, so that mileage and charge go on from the history.
  const vehicles = fleet.vehicles.map((_vehicle, index) => new SimulatedVehicle(index + 1, paris));
  const histories = vehicles.map((vehicle) => driveDays(vehicle, fleet.historyUntilSeconds, days));
  if (!fleet.hasHistory) {
    await Promise.all(
      fleet.vehicles.map(({ device }, index) => uploadHistory(mqttUrl, device, histories[index] ?? [])),
    );
    await waitFor(() => haveTrips(client, fleet, days), tripsPatienceMs);
    fleet.hasHistory = true;
    await saveFleet(dataDirectory, fleet);
  }
  const devices = fleet.vehicles.flatMap((entry, index) => {
    const vehicle = vehicles[index];
    return vehicle === undefined ? [] : [startDevice(mqttUrl, entry, vehicle)];
  });
  if (first !== undefined) await ensureCommand(client, first.id);
  return { fleet, devices, client };
}
