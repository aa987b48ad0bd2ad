import { ensureAdminToken } from '@odograph/runtime/admin-token';
import type { Config } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { SimulatedDevice } from '@odograph/simulator/simulated-device';
import { SimulatedVehicle } from '@odograph/simulator/simulated-vehicle';
import closeWithGrace from 'close-with-grace';
import { stopWithNpm } from '../npm-parent.ts';
import { startPlatform } from '../platform.ts';
import { loadServices } from '../services.ts';
import { type DemoFleet, ensureDemoFleet } from './fleet.ts';

const paris = { latitude: 48.8566, longitude: 2.3522 };
const readingIntervalMs = 1000;
const outageIntervalMs = 60_000;
const outageMs = 20_000;

function startDevices(mqttUrl: string, fleet: DemoFleet): SimulatedDevice[] {
  return fleet.vehicles.map(({ device, deviceKey }, index) => {
    const vehicle = new SimulatedVehicle(index + 1, paris);
    const simulated = new SimulatedDevice({
      url: mqttUrl,
      credentials: device,
      identity: {
        deviceId: device.deviceId,
        deviceKey: Buffer.from(deviceKey.key, 'base64url'),
        keyVersion: deviceKey.keyVersion,
      },
      vehicle,
      intervalMs: readingIntervalMs,
    });
    simulated.start();
    return simulated;
  });
}

/** Takes the last device off the network for 20 s every minute; it buffers its readings and uploads them afterwards. */
function simulateOutages(devices: readonly SimulatedDevice[]): NodeJS.Timeout {
  const last = devices.at(-1);
  return setInterval(() => {
    last?.setCoverage(false);
    setTimeout(() => last?.setCoverage(true), outageMs);
  }, outageIntervalMs);
}

function instructions(httpUrl: string, { appId, appKey, vehicles }: DemoFleet): string {
  const json = "-H 'content-type: application/json'";
  const token = '-H "x-service-token: $TOKEN"';
  return `
appId  ${appId}
appKey ${appKey}

TOKEN=$(curl -s ${httpUrl}/v1/login ${json} -d '{"appId":"${appId}","appKey":"${appKey}"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
curl -s "${httpUrl}/v1/vehicle/${vehicles[0]?.id}/history?from=$(($(date +%s)-60))&until=$(date +%s)" ${token}
curl -s -X POST ${httpUrl}/v1/vehicle/lock ${json} ${token} -d '{"vehicleId":"${vehicles[0]?.id}"}'

`;
}

/** Runs the platform with a simulated fleet until it is stopped. */
export async function runDemo(config: Config, logger: Logger, vehicleCount: number): Promise<void> {
  const platform = await startPlatform(config, logger, await loadServices());
  const adminToken = await ensureAdminToken(config);
  const fleet = await ensureDemoFleet(config.DATA_DIR, platform.httpUrl, adminToken, vehicleCount);
  const devices = startDevices(platform.mqttUrl, fleet);
  const outages = simulateOutages(devices);
  stopWithNpm(logger);
  closeWithGrace({ delay: config.SHUTDOWN_TIMEOUT_MS, logger: false }, async ({ err }) => {
    if (err) logger.fatal({ err }, 'unhandled error');
    clearInterval(outages);
    await Promise.all(devices.map((device) => device.stop()));
    await platform.stop();
  });
  process.stdout.write(instructions(platform.httpUrl, fleet));
}
