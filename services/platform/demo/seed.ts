import { setImmediate } from 'node:timers/promises';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { connectDevice, type DeviceCredentials } from '@odograph/simulator/device-connection';
import { SimulatedDevice } from '@odograph/simulator/simulated-device';
import { SimulatedVehicle } from '@odograph/simulator/simulated-vehicle';
import { createClient, type DemoClient, waitFor } from './client.ts';
import { type DemoFleet, ensureDemoFleet, saveFleet } from './fleet.ts';
import { createItinerary, places, readRoads } from './itineraries.ts';

/** The driver of the demo's authorizations and bookings. */
export const demoDriver = 'demo-driver';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** An authorization cannot be issued for the past, so the expired one ends after this time. */
const expiryMs = 1500;
const timeoutMs = 15_000;

const parking = {
  ...{ name: 'Depot', address: 'Zollstrasse 1', zipcode: '9494', city: 'Schaan', country: 'Liechtenstein' },
  ...places.depot,
};
/** Around the depot: vehicles of the demo drive in and out. */
const geofence = { name: 'Vaduz', geometry: { type: 'Point', coordinates: [9.5215, 47.141] }, radiusMetres: 1500 };

const fromNow = (milliseconds: number): string => new Date(Date.now() + milliseconds).toISOString();

async function ensureParking(client: DemoClient, vehicleId: string): Promise<void> {
  const { parkings } = await client.get<{ parkings: { id: string }[] }>('/v1/parkings');
  const id = parkings[0]?.id ?? (await client.post<{ parking_id: string }>('/v1/parkings', parking)).parking_id;
  await client.post(`/v1/vehicle/${vehicleId}/parking`, { parkingId: id });
}

/** Issues an authorization of each category that has none. */
async function ensureAuthorizations(client: DemoClient, vehicleId: string): Promise<void> {
  const isListed = async (category: string): Promise<boolean> => {
    const path = `/v1/vehicle/${vehicleId}/authorizations/${category}`;
    return (await client.get<{ authorizations: unknown[] }>(path)).authorizations.length > 0;
  };
  const ensure = async (category: string, fromMs: number, untilMs: number): Promise<void> => {
    if (await isListed(category)) return;
    const interval = { from: fromNow(fromMs), until: fromNow(untilMs) };
    await client.post('/v1/bluetooth-token', { vehicleId, userId: demoDriver, level: 'DRIVE', ...interval });
  };
  await ensure('expired', -2 * dayMs, expiryMs);
  await waitFor(() => isListed('expired'), timeoutMs);
  await ensure('scheduled', 6 * dayMs, 7 * dayMs);
  await ensure('current', -hourMs, 5 * dayMs);
}

/** Books the vehicle for tomorrow, and for now until then. */
async function ensureBookings(client: DemoClient, vehicleId: string): Promise<void> {
  const path = `/v1/vehicle/${vehicleId}/booking`;
  const { bookings } = await client.get<{ bookings: { from: string }[] }>(path);
  if (!bookings.some(({ from }) => Date.parse(from) > Date.now())) {
    const tomorrow = { from: fromNow(dayMs), until: fromNow(dayMs + 2 * hourMs) };
    await client.post(path, { type: 'BOOKING', driver: demoDriver, ...tomorrow });
  }
  const active = await client.get<{ bookings: unknown[] }>('/v1/bookings');
  if (active.bookings.length > 0) return;
  await client.post(path, { type: 'FREE_FLOATING', driver: demoDriver, from: fromNow(0) });
}

/** Creates a geofence that one vehicle must not leave, and rules that the simulated drives break now and then. */
async function ensureAlarmRules(client: DemoClient, vehicleId: string): Promise<void> {
  const { rules } = await client.get<{ rules: unknown[] }>('/v1/x/alarm-rules');
  if (rules.length > 0) return;
  const { id: geofenceId } = await client.post<{ id: string }>('/v1/x/geofences', geofence);
  for (const rule of [
    { name: 'Leaves Vaduz', kind: 'geofence', parameters: { geofenceId, when: 'outside' }, vehicleIds: [vehicleId] },
    { name: 'City speed', kind: 'speed', parameters: { limitKmh: 70 } },
    { name: 'Battery', kind: 'low-battery', parameters: { belowPercent: 20 } },
    { name: 'No contact', kind: 'silent', parameters: { afterMinutes: 30 } },
  ]) {
    await client.post('/v1/x/alarm-rules', rule);
  }
}

/** Creates what is missing: a parking spot, authorizations of each category and bookings of a vehicle, and alarm rules. */
async function ensureRecords(client: DemoClient, vehicleId: string): Promise<void> {
  await ensureParking(client, vehicleId);
  await ensureAlarmRules(client, vehicleId);
  await ensureAuthorizations(client, vehicleId);
  await ensureBookings(client, vehicleId);
}

/** Sends a command as soon as the device is connected, unless the vehicle has had one. */
async function ensureCommand(client: DemoClient, vehicleId: string): Promise<void> {
  const { commands } = await client.get<{ commands: unknown[] }>(`/v1/x/commands?vehicleId=${vehicleId}`);
  if (commands.length > 0) return;
  await waitFor(async () => {
    await client.post('/v1/vehicle/honk', { vehicleId });
    return true;
  }, timeoutMs);
}

const daySeconds = 86_400;
/** Like trackers, the vehicles record at intervals and after turns, so that their trips stay on the roads. */
const drivingIntervalSeconds = 30;
const turnCheckSeconds = 3;
const recordedTurnDegrees = 20;
const parkedIntervalSeconds = 3600;
/** One reading is not uploaded, so that the list of gaps has an entry; counted from the end. */
const lostReading = 10;
const readingsPerUpload = 100;

/** Drives for an interval or until a turn. @returns the time of the next reading, UNIX seconds */
function driveOn(vehicle: SimulatedVehicle, since: number): number {
  let time = since;
  do time += turnCheckSeconds;
  while (vehicle.advance(time) < recordedTurnDegrees && time < since + drivingIntervalSeconds);
  return time;
}

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
    if (departure === undefined) time = driveOn(vehicle, time);
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
  const arrived = readings.filter((_reading, index) => index !== readings.length - lostReading);
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

interface DemoOptions {
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
