import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { ensureAdminToken } from '@odograph/runtime/admin-token';
import { type Config, InvalidSettings, readConfig, shutdownTimeoutMs } from '@odograph/runtime/config';
import { type Logger, openLogger } from '@odograph/runtime/logger';
import type { SimulatedDevice } from '@odograph/simulator/simulated-device';
import closeWithGrace from 'close-with-grace';
import { describeAddresses, type Platform, startPlatform } from '../platform.ts';
import { stopWithNpm } from '../process-lifetime.ts';
import { loadServices, selectServices } from '../services.ts';
import { checkBeforeStart, portFailure, StartFailure } from '../start-checks.ts';
import type { DemoFleet } from './fleet.ts';
import { type Demo, startDemo } from './seed.ts';

const vehicleCount = 8;
const days = 7;
const outageIntervalMs = 60_000;
const outageMs = 20_000;

/** Takes the last device off the network for 20 s every minute; it buffers its readings and uploads them afterwards. */
function simulateOutages(devices: readonly SimulatedDevice[]): NodeJS.Timeout {
  const last = devices.at(-1);
  return setInterval(() => {
    last?.setCoverage(false);
    setTimeout(() => last?.setCoverage(true), outageMs);
  }, outageIntervalMs);
}

/** Describes the running demo to a newcomer: addresses, credentials and a command to try. */
function describeDemo(config: Config, platform: Platform, { fleet, token }: Demo): string {
  const { appId, appKey, vehicles, operator } = fleet;
  const { page, ...addresses } = describeAddresses(config, platform, selectServices([]));
  const shown = { page, operator: operator.name, password: operator.password, ...addresses, appId, appKey };
  const [vehicle] = vehicles;
  const headers = `-H 'content-type: application/json' -H 'x-service-token: ${token}'`;
  return `
The demo is ready: ${vehicles.length} vehicles on the roads of Liechtenstein, with a week of history

${Object.entries(shown)
  .map(([name, value]) => `${name}: ${value}`)
  .join('\n')}

Lock ${vehicle?.plate}:
curl -X POST ${platform.httpUrl}/v1/vehicle/lock ${headers} -d '{"vehicleId":"${vehicle?.id}"}'

`;
}

/** Runs the platform with a simulated fleet until it is stopped. */
async function runDemo(config: Config, logger: Logger, opensBrowser: boolean): Promise<void> {
  stopWithNpm(logger);
  await checkBeforeStart(config, selectServices([]));
  const platform = await startPlatform(config, logger, await loadServices()).catch((error: unknown) => {
    throw portFailure(error, config) ?? error;
  });
  let stopDevices = async (): Promise<void> => undefined;
  closeWithGrace({ delay: shutdownTimeoutMs(config), logger: false }, async ({ err }) => {
    if (err) logger.fatal({ err }, 'unhandled error');
    await stopDevices();
    await platform.stop();
  });
  const { httpUrl, mqttUrl } = platform;
  const adminToken = await ensureAdminToken(config);
  const options = { httpUrl, mqttUrl, adminToken, dataDirectory: config.DATA_DIR, vehicleCount, days };
  const demo = await startDemo(options);
  const outages = simulateOutages(demo.devices);
  stopDevices = async () => {
    clearInterval(outages);
    await Promise.all(demo.devices.map((device) => device.stop()));
  };
  process.stdout.write(describeDemo(config, platform, demo));
  if (opensBrowser) await openBrowser(httpUrl, demo.fleet);
}

/**
 * Opens the browser, signed in. A page of this process sets the cookie of a session: cookies are shared by all ports of a
 * host. Its address works once.
 */
async function openBrowser(httpUrl: string, { operator }: DemoFleet): Promise<void> {
  const signedIn = await fetch(`${httpUrl}/v1/x/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: httpUrl },
    body: JSON.stringify(operator),
  });
  const cookies = signedIn.headers.getSetCookie();
  if (!signedIn.ok || cookies.length === 0) throw new Error(`sign-in: ${signedIn.status} ${await signedIn.text()}`);
  const path = `/${randomUUID()}`;
  const server = createServer((request, response) => {
    if (request.url !== path) return response.writeHead(404).end();
    response.writeHead(302, { location: `${httpUrl}/`, 'set-cookie': cookies, 'referrer-policy': 'no-referrer' }).end();
    return server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const openers: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', win32: 'explorer' };
  const opener = spawn(openers[process.platform] ?? 'xdg-open', [url], { stdio: 'ignore' });
  opener.once('error', () => process.stdout.write(`  Open ${url} (works once)\n\n`));
}

/** Shows the streets on which the demo drives, unless the settings name another map. */
function withStreets(config: Config): Config {
  if (config.MAP_TILES ?? config.MAP_TILES_URL ?? config.MAP_STYLE_URL) return config;
  return { ...config, MAP_TILES: fileURLToPath(new URL('./map/streets.pmtiles', import.meta.url)) };
}

try {
  const config = withStreets(readConfig());
  await runDemo(config, await openLogger(config.LOG_LEVEL), process.argv.includes('--open'));
} catch (error) {
  const isExpected = error instanceof InvalidSettings || error instanceof StartFailure;
  process.stderr.write(`${isExpected ? error.message : String((error as Error).stack ?? error)}\n`);
  process.exit(1);
}
