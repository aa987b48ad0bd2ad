import { ensureAdminToken } from '@odograph/runtime/admin-token';
import type { Config } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { SimulatedBox } from '@odograph/simulator/simulated-box';
import { SimulatedVehicle } from '@odograph/simulator/simulated-vehicle';
import closeWithGrace from 'close-with-grace';
import { startPlatform } from '../platform.ts';
import { services } from '../services.ts';
import { type DemoFleet, ensureDemoFleet } from './demo-fleet.ts';

const paris = { latitude: 48.8566, longitude: 2.3522 };
const readingIntervalMs = 1000;
const outageIntervalMs = 60_000;
const outageMs = 20_000;

function startBoxes(mqttUrl: string, fleet: DemoFleet): SimulatedBox[] {
  return fleet.vehicles.map(({ device }, index) => {
    const vehicle = new SimulatedVehicle(index + 1, paris);
    const box = new SimulatedBox({ url: mqttUrl, credentials: device, vehicle, intervalMs: readingIntervalMs });
    box.start();
    return box;
  });
}

/** Once a minute the last box drives through a tunnel, and sends what it kept afterwards. */
function simulateOutages(boxes: readonly SimulatedBox[]): NodeJS.Timeout {
  const box = boxes.at(-1);
  return setInterval(() => {
    box?.setCoverage(false);
    setTimeout(() => box?.setCoverage(true), outageMs);
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

/** Runs the platform with a simulated fleet until it is told to stop. */
export async function runDemo(config: Config, logger: Logger, vehicleCount: number): Promise<void> {
  const platform = await startPlatform(config, logger, services);
  const adminToken = await ensureAdminToken(config);
  const fleet = await ensureDemoFleet(config.DATA_DIR, platform.httpUrl, adminToken, vehicleCount);
  const boxes = startBoxes(platform.mqttUrl, fleet);
  const outages = simulateOutages(boxes);
  closeWithGrace({ delay: config.SHUTDOWN_TIMEOUT_MS, logger: false }, async ({ err }) => {
    if (err) logger.fatal({ err }, 'an error nobody expected');
    clearInterval(outages);
    await Promise.all(boxes.map((box) => box.stop()));
    await platform.stop();
  });
  process.stdout.write(instructions(platform.httpUrl, fleet));
}
