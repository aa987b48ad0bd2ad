// Takes the pictures of docs/images with the demo's fleet, or only those named; with `--all DIRECTORY`, pictures of every
// screen of the console to look at: in English and French, light and dark, at three widths. Needs Chromium.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
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
  /** `ID` and `NEXT` stand for two vehicles that drive, `DEVICE` for the device of the first, `APP` for their application. */
  readonly path: string;
  /** Selects an element to click first. */
  readonly click?: string;
  readonly colorScheme?: 'light' | 'dark';
}

const lastTrip = '.vehicle-card .actions button >> nth=-1';

const screens: readonly Screen[] = [
  { name: 'map', path: '/map?vehicle=ID', click: lastTrip },
  { name: 'map-dark', path: '/map?vehicle=ID', click: lastTrip, colorScheme: 'dark' },
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
  { name: 'notifications', path: '/integrations/notifications?app=APP', click: '.row.start .button:not(.primary)' },
  { name: 'reports', path: '/reports?interval=thisWeek' },
  { name: 'accounts', path: '/accounts' },
  { name: 'audit', path: '/audit' },
  // Last, when it has some history.
  { name: 'pipeline', path: '/pipeline' },
];

/** The screens without a picture in the documentation. */
const furtherScreens: readonly Screen[] = [
  { name: 'map-fleet', path: '/map' },
  { name: 'map-settings', path: '/map/settings' },
  { name: 'vehicles-add', path: '/vehicles?add=one' },
  { name: 'vehicles-file', path: '/vehicles?add=file' },
  { name: 'vehicle-values', path: '/vehicles/ID/values' },
  { name: 'vehicle-access', path: '/vehicles/ID/access' },
  { name: 'vehicle-records', path: '/vehicles/ID/records' },
  { name: 'vehicle-command', path: '/vehicles/ID/commands', click: '.command-group button' },
  { name: 'vehicle-details', path: '/vehicles/ID/details' },
  { name: 'device', path: '/devices/DEVICE' },
  { name: 'devices-add', path: '/devices?add=one' },
  { name: 'devices-file', path: '/devices?add=file' },
  { name: 'reports-mileage', path: '/reports?kind=mileage' },
  { name: 'reports-schedules', path: '/reports/schedules' },
  { name: 'reports-schedule', path: '/reports/schedules', click: '.button.primary' },
  { name: 'exports', path: '/exports' },
  { name: 'exports-imports', path: '/exports/imports' },
  { name: 'alarms-rules', path: '/alarms/rules' },
  { name: 'alarms-rule', path: '/alarms/rules', click: '.button.primary' },
  { name: 'alarms-geofence', path: '/alarms/geofences', click: '.button.primary' },
  { name: 'bookings-new', path: '/bookings', click: '.button.primary' },
  { name: 'bookings-spots', path: '/bookings/spots' },
  { name: 'bookings-requests', path: '/bookings/requests' },
  { name: 'integrations', path: '/integrations' },
  { name: 'integrations-new', path: '/integrations', click: '.button.primary' },
  { name: 'integrations-sources', path: '/integrations/sources' },
  { name: 'integrations-gbfs', path: '/integrations/gbfs' },
  { name: 'integrations-reports', path: '/integrations/reports' },
  { name: 'accounts-application', path: '/accounts/applications/APP' },
  { name: 'accounts-users', path: '/accounts/users' },
  { name: 'accounts-operators', path: '/accounts/operators' },
  { name: 'accounts-data', path: '/accounts/data' },
  { name: 'profile', path: '/profile' },
  { name: 'unknown', path: '/nowhere' },
  { name: 'docs-devices', path: '/docs/devices' },
];

interface Demo {
  readonly httpUrl: string;
  readonly adminToken: string;
  readonly appId: string;
  readonly vehicles: readonly { readonly id: string; readonly device: { readonly deviceId: string } }[];
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
  const fleet: Pick<Demo, 'appId' | 'vehicles'> = JSON.parse(readFileSync(join(directory, 'demo-fleet.json'), 'utf8'));
  return {
    ...fleet,
    httpUrl: `http://127.0.0.1:${httpPort}`,
    adminToken: readFileSync(join(directory, 'admin-token'), 'utf8').trim(),
    async stop() {
      child.kill('SIGTERM');
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function post<Answer>({ httpUrl, adminToken }: Demo, path: string, body: object): Promise<Answer> {
  const response = await fetch(`${httpUrl}/v1/x/admin/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

/** The address of a screen for this demo. */
function addressOf({ path }: Screen, { appId, vehicles: [first, second] }: Demo): string {
  const { id = '', device: { deviceId } = { deviceId: '' } } = first ?? {};
  return path
    .replace('ID', id)
    .replace('NEXT', second?.id ?? '')
    .replace('DEVICE', deviceId)
    .replace('APP', appId);
}

async function open(page: Page, screen: Screen, demo: Demo): Promise<void> {
  await page.goto(addressOf(screen, demo));
  await page.locator('main, [role=main], body > h1').first().waitFor();
  if (screen.click !== undefined) await page.locator(screen.click).first().click();
}

async function take(page: Page, screen: Screen, demo: Demo): Promise<void> {
  const { name, colorScheme = 'light' } = screen;
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await open(page, screen, demo);
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

const sizes = [
  { width: 390, height: 1200 },
  { width: 820, height: 1180 },
  { width: 1440, height: 900 },
];

/** Takes a screen in all sizes, light and dark, into files such as `map-390-dark-fr.png`. */
async function takeViews(page: Page, screen: Screen, demo: Demo, file: string, language: string): Promise<void> {
  await open(page, screen, demo);
  await delay(drawingMs / 5);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    for (const size of sizes) {
      await page.setViewportSize(size);
      const isDrawn = (await page.locator('canvas').count()) > 0;
      await delay(isDrawn ? drawingMs / 4 : drawingMs / 25);
      await page.screenshot({ path: `${file}-${size.width}-${colorScheme}-${language}.png` });
    }
  }
}

if (!hasBrowser) throw new Error('needs Chromium or Google Chrome in /usr/bin');
const { values: options, positionals: names } = parseArgs({
  options: { all: { type: 'string' } },
  allowPositionals: true,
});
mkdirSync(options.all ?? images, { recursive: true });
const demo = await startDemo();
const browser = await chromium.launch(launchOptions);
const account = await post<{ name: string; password: string }>(demo, 'operators', {
  name: 'alex',
  role: 'administrator',
});

const common = { baseURL: demo.httpUrl, viewport, timezoneId: 'Europe/Paris' };

/** Opens a page with the session of an operator. The form is in the language of the page, so sign in in English. */
async function openConsole(locale: string): Promise<Page> {
  const english = await browser.newPage({ ...common, locale: 'en-GB' });
  await openSignedIn({ page: english }, '/profile', account);
  const storageState = await english.context().storageState();
  await english.context().close();
  const page = await browser.newPage({ ...common, locale, storageState });
  page.setDefaultTimeout(60_000);
  // The headless shell of Chromium reports that notifications are blocked.
  await page.addInitScript("Object.defineProperty(Notification, 'permission', { value: 'default' })");
  return page;
}

try {
  if (options.all === undefined) {
    const page = await openConsole('en-GB');
    for (const screen of screens.filter(({ name }) => names.length === 0 || names.includes(name))) {
      await take(page, screen, demo);
    }
  } else {
    await post(demo, 'sources', { appId: demo.appId, format: 'traccar', createDevices: true });
    for (const locale of ['en-GB', 'fr-FR']) {
      const page = await openConsole(locale);
      for (const screen of [...screens, ...furtherScreens].filter(({ colorScheme }) => colorScheme === undefined)) {
        await takeViews(page, screen, demo, join(options.all, screen.name), locale.slice(0, 2));
      }
    }
  }
} finally {
  await browser.close();
  await demo.stop();
}
