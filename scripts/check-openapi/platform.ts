import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@odograph/runtime/config';
import { limits } from '@odograph/runtime/limits';
import { createLogger } from '@odograph/runtime/logger';
import { SimulatedDevice } from '@odograph/simulator/simulated-device';
import { SimulatedVehicle } from '@odograph/simulator/simulated-vehicle';
import { freePort } from '../../packages/testkit/free-port.ts';
import { createClient } from '../../services/platform/demo/client.ts';
import { createDemoFleet, type DemoFleet } from '../../services/platform/demo/fleet.ts';
import { createItinerary, readRoads } from '../../services/platform/demo/itineraries.ts';
import { startPlatform } from '../../services/platform/platform.ts';
import { loadServices } from '../../services/platform/services.ts';

const adminToken = 'admin-token-of-the-check';
const vehicleCount = 6;

/** A platform with data, and what is needed to call it. */
export interface RunningPlatform {
  readonly url: string;
  readonly adminToken: string;
  readonly accessToken: string;
  readonly vehicleIds: readonly string[];
  readonly deviceIds: readonly string[];
  stop(): Promise<void>;
}

/** Limits of a single client are lifted: the tools are one. */
async function settings(dataDirectory: string) {
  const { DATABASE_URL, REDIS_URL } = readConfig();
  return readConfig({
    ...{ DATABASE_URL, REDIS_URL },
    LOG_LEVEL: 'error',
    HTTP_PORT: '0',
    MQTT_PORT: String(await freePort()),
    TELTONIKA_PORT: '0',
    ADMIN_TOKEN: adminToken,
    ENCRYPTION_KEYS: 'encryption-key-of-the-check-0123456789',
    DATA_DIR: dataDirectory,
    HTTP_REQUESTS_PER_MINUTE: '10000000',
    ACK_TIMEOUT_MS: '500',
  });
}

async function signIn(url: string, { appId, appKey }: DemoFleet): Promise<string> {
  const response = await fetch(`${url}/v1/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ appId, appKey }),
  });
  return ((await response.json()) as { token: string }).token;
}

async function startDevices(mqttUrl: string, { vehicles }: DemoFleet): Promise<SimulatedDevice[]> {
  const roads = await readRoads();
  return vehicles.map(({ device, deviceKey }, index) => {
    const { deviceId } = device;
    const simulated = new SimulatedDevice({
      url: mqttUrl,
      credentials: device,
      identity: { deviceId, deviceKey: Buffer.from(deviceKey.key, 'base64url'), keyVersion: deviceKey.keyVersion },
      vehicle: new SimulatedVehicle(index + 1, createItinerary(roads, index)),
      intervalMs: 500,
    });
    simulated.start();
    return simulated;
  });
}

/** Starts the platform with a fleet whose devices report; the engines are embedded unless the settings name others. */
export async function startRunningPlatform(): Promise<RunningPlatform> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'odograph-openapi-'));
  const config = await settings(dataDirectory);
  const platform = await startPlatform(config, createLogger(config.LOG_LEVEL), await loadServices(), {
    limits: { ...limits, maxLoginFailuresPerMinute: 10_000_000 },
  });
  const operator = createClient(platform.httpUrl, { authorization: `Bearer ${adminToken}` });
  const fleet = await createDemoFleet(operator, vehicleCount);
  const devices = await startDevices(platform.mqttUrl, fleet);
  return {
    url: platform.httpUrl,
    adminToken,
    accessToken: await signIn(platform.httpUrl, fleet),
    vehicleIds: fleet.vehicles.map(({ id }) => id),
    deviceIds: fleet.vehicles.map(({ device }) => device.deviceId),
    async stop() {
      await Promise.all(devices.map((device) => device.stop()));
      await platform.stop();
      await rm(dataDirectory, { recursive: true, force: true });
    },
  };
}
