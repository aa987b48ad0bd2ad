// Takes the pictures of docs/images: every screen of the console with the demo's fleet. Needs Chromium.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { childEnvironment } from '@odograph/runtime/config';
import { freePort } from '@odograph/testkit/free-port';
import { hasBrowser } from '@odograph/testkit/programs';
import { chromium, type Page } from 'playwright-core';
import { launchOptions, openSignedIn } from '../test/console/browser.fixture.ts';
import { root } from './run-command.ts';

const images = join(root, 'docs/images');
const viewport = { width: 1280, height: 800 };
const quality = 82;
const maxBytes = 150 * 1024;
const demoTimeoutMs = 300_000;
/** For maps and charts to be drawn, by software. */
const drawingMs = 10_000;

interface Screen {
  readonly name: string;
  /** `ID` and `NEXT` stand for two vehicles that drive. */
  readonly path: string;
  /** Names of buttons to press, in this order. */
  readonly press?: readonly (string | RegExp)[];
  readonly colorScheme?: 'light' | 'dark';
}

const screens: readonly Screen[] = [
  { name: 'map', path: '/map?vehicle=ID', press: ['Last trip'] },
  { name: 'map-dark', path: '/map?vehicle=ID', press: ['Last trip'], colorScheme: 'dark' },
  { name: 'vehicles', path: '/vehicles' },
  { name: 'vehicle', path: '/vehicles/ID' },
  { name: 'charts', path: '/vehicles/ID/charts' },
  { name: 'battery', path: '/vehicles/ID/battery' },
  { name: 'trips', path: '/vehicles/ID/trips' },
  { name: 'replay', path: '/replay?vehicles=ID,NEXT' },
  { name: 'commands', path: '/vehicles/ID/commands' },
  { name: 'devices', path: '/devices' },
  { name: 'alarms', path: '/alarms' },
  { name: 'geofences', path: '/alarms/geofences' },
  { name: 'bookings', path: '/bookings' },
  { name: 'accounts', path: '/accounts' },
  { name: 'audit', path: '/audit' },
  // Last, when it has some history.
  { name: 'pipeline', path: '/pipeline' },
];

interface Demo {
  readonly httpUrl: string;
  readonly adminToken: string;
  readonly vehicleIds: readonly string[];
  stop(): Promise<void>;
}

/** Starts `npm run demo` with data of its own, and waits until its fleet has its history. */
async function startDemo(): Promise<Demo> {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-screenshots-'));
  const httpPort = await freePort();
  const settings = {
    DATA_DIR: directory,
    HTTP_PORT: String(httpPort),
    MQTT_PORT: String(await freePort()),
    TELTONIKA_PORT: '0',
    LOG_LEVEL: 'error',
  };
  const child = spawn(process.execPath, ['scripts/run.mjs', 'services/platform/demo/main.ts'], {
    cwd: root,
    env: childEnvironment(settings),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const end = Date.now() + demoTimeoutMs;
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  while (!printed.includes('appKey')) {
    if (child.exitCode !== null || Date.now() > end) throw new Error('the demo did not start');
    await delay(500);
  }
  const { vehicles } = JSON.parse(readFileSync(join(directory, 'demo-fleet.json'), 'utf8')) as {
    vehicles: readonly { readonly id: string }[];
  };
  return {
    httpUrl: `http://127.0.0.1:${httpPort}`,
    adminToken: readFileSync(join(directory, 'admin-token'), 'utf8').trim(),
    vehicleIds: vehicles.map(({ id }) => id),
    async stop() {
      child.kill('SIGTERM');
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function createOperator({ httpUrl, adminToken }: Demo): Promise<{ name: string; password: string }> {
  const response = await fetch(`${httpUrl}/v1/x/admin/operators`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'alex', role: 'administrator' }),
  });
  return (await response.json()) as { name: string; password: string };
}

/** The address of a screen for this demo. */
function addressOf({ path }: Screen, { vehicleIds: [id = '', next = ''] }: Demo): string {
  return path.replace('ID', id).replace('NEXT', next);
}

async function take(page: Page, screen: Screen, demo: Demo): Promise<void> {
  const { name, press = [], colorScheme = 'light' } = screen;
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.goto(addressOf(screen, demo));
  await page.getByRole('main').waitFor();
  for (const button of press) await page.getByRole('button', { name: button }).click();
  await delay(drawingMs);
  const client = await page.context().newCDPSession(page);
  const { data } = await client.send('Page.captureScreenshot', { format: 'webp', quality });
  await client.detach();
  const file = join(images, `${name}.webp`);
  writeFileSync(file, Buffer.from(data, 'base64'));
  const { size } = statSync(file);
  if (size > maxBytes) throw new Error(`${file} has ${size} bytes, more than ${maxBytes}`);
  console.log(`${file.slice(root.length + 1)} ${Math.round(size / 1024)} kB`);
}

if (!hasBrowser) throw new Error('needs Chromium or Google Chrome in /usr/bin');
mkdirSync(images, { recursive: true });
const demo = await startDemo();
const browser = await chromium.launch(launchOptions);
try {
  const account = await createOperator(demo);
  const page = await browser.newPage({ baseURL: demo.httpUrl, viewport, locale: 'en-GB', timezoneId: 'Europe/Paris' });
  page.setDefaultTimeout(60_000);
  await openSignedIn({ page }, '/profile', account);
  for (const screen of screens) await take(page, screen, demo);
} finally {
  await browser.close();
  await demo.stop();
}
