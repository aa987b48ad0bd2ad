import { existsSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import { startOdograph } from './contender.ts';
import { type Engines, type Pool, withEngines } from './engines.ts';
import { type BenchFleet, createFleet } from './fleet.ts';
import { planLoad } from './measure-load.ts';
import { figure, printMachine, printTable } from './report.ts';
import { adminToken, startServices } from './service-process.ts';

/** The parts of the benchmark that need a browser. */
export const screenParts: readonly string[] = ['map', 'list', 'chart'];

const programs = ['/usr/bin/chromium', '/usr/bin/google-chrome'];
const viewport = { width: 1280, height: 800 };
const fleetSizes = [10_000, 50_000];
const timeoutMs = 120_000;
/** A reading a minute. */
const readingsOfYear = 525_600;
const panMs = 10_000;
const settlingMs = 5000;

export interface ScreenSettings {
  readonly rate: number;
  readonly mapSeconds: number;
}

interface Console {
  readonly engines: Engines;
  readonly fleet: BenchFleet;
  readonly httpUrl: string;
  readonly browser: Browser;
  readonly account: { readonly name: string; readonly password: string };
}

function startBrowser(): Promise<Browser> {
  const executablePath = programs.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error(`needs ${programs.join(' or ')}`);
  const args = [
    '--no-sandbox',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--enable-precise-memory-info',
  ];
  return chromium.launch({ executablePath, args });
}

/** Adds vehicles until there are so many, with a position in the country each. */
async function growFleet(pool: Pool, { applicationId }: BenchFleet, count: number): Promise<void> {
  await pool.query(
    `insert into vehicle (application_id, plate, vin, brand, model)
    select $1, 'GR-' || n || '-OW', 'VF1AG1000' || lpad(n::text, 8, '0'), 'Renault', 'Zoe'
    from generate_series((select count(*) from vehicle) + 1, $2::integer) as n`,
    [applicationId, count],
  );
  await pool.query(
    `insert into vehicle_latest (vehicle_id, time, location, location_time, status, status_time, received_at)
    select id, now(), jsonb_build_object('latitude', 43 + random() * 6, 'longitude', -1 + random() * 8, 'angle', 90), now(),
      '{"ignition": false}', now(), now() from vehicle on conflict (vehicle_id) do nothing`,
  );
  await pool.query('vacuum analyze vehicle, vehicle_latest, device_link');
}

async function signIn({ browser, httpUrl, account }: Console): Promise<Page> {
  const context = await browser.newContext({ baseURL: httpUrl, locale: 'en-GB', viewport });
  const page = await context.newPage();
  page.setDefaultTimeout(timeoutMs);
  await page.goto('/sign-in?next=/profile');
  await page.getByLabel('Name').fill(account.name);
  await page.getByLabel('Password').fill(account.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname === '/profile');
  return page;
}

/** Counts the frames of a page and its longest pauses between two of them. */
const countFrames = `(() => {
  const frames = { gaps: [], last: performance.now() };
  window.benchFrames = frames;
  const next = (now) => { frames.gaps.push(now - frames.last); frames.last = now; requestAnimationFrame(next); };
  requestAnimationFrame(next);
})()`;
const takeFrames = `(() => { const { gaps } = window.benchFrames; window.benchFrames.gaps = []; return gaps; })()`;

interface Frames {
  readonly perSecond: number;
  readonly maxMs: number;
}

async function readFrames(page: Page, work: () => Promise<void>): Promise<Frames> {
  await page.evaluate(takeFrames);
  const start = performance.now();
  await work();
  const gaps = (await page.evaluate(takeFrames)) as number[];
  return { perSecond: (gaps.length * 1000) / (performance.now() - start), maxMs: Math.max(...gaps) };
}

/** Drags the map to and fro. */
async function pan({ mouse }: Page): Promise<void> {
  const end = Date.now() + panMs;
  for (let toRight = true; Date.now() < end; toRight = !toRight) {
    const [from, to] = toRight ? [600, 900] : [900, 600];
    await mouse.move(from, 400);
    await mouse.down();
    await mouse.move(to, 420, { steps: 30 });
    await mouse.up();
  }
}

async function heapMiB(client: CDPSession): Promise<number> {
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = (await client.send('Runtime.getHeapUsage')) as { usedSize: number };
  return usedSize / 1024 ** 2;
}

/** Seconds that the page has spent in JavaScript. The rest of a frame is drawing, which a machine with a GPU does elsewhere. */
async function scriptSeconds(client: CDPSession): Promise<number> {
  const { metrics } = (await client.send('Performance.getMetrics')) as { metrics: { name: string; value: number }[] };
  return metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? Number.NaN;
}

/** Watches the map at an address while the fleet changes. @returns a column of figures */
async function watchMap(console_: Console, path: string, seconds: number): Promise<string[]> {
  const page = await signIn(console_);
  const client = await page.context().newCDPSession(page);
  let bytes = 0;
  await client.send('Network.enable');
  await client.send('Performance.enable');
  client.on('Network.dataReceived', ({ dataLength }) => {
    bytes += dataLength;
  });
  const start = performance.now();
  await page.goto(path);
  await page.getByText('Live', { exact: true }).waitFor();
  const firstMs = performance.now() - start;
  await delay(settlingMs);
  await page.evaluate(countFrames);
  const [heapBefore, bytesBefore, watchStart] = [await heapMiB(client), bytes, performance.now()];
  const scriptBefore = await scriptSeconds(client);
  const watched = await readFrames(page, () => delay(seconds * 1000));
  const script = (await scriptSeconds(client)) - scriptBefore;
  const rate = (bytes - bytesBefore) / ((performance.now() - watchStart) / 1000);
  const heapAfter = await heapMiB(client);
  const panned = await readFrames(page, () => pan(page));
  await page.context().close();
  return [
    firstMs,
    watched.perSecond,
    watched.maxMs,
    (script * 1000) / seconds,
    panned.perSecond,
    panned.maxMs,
    heapBefore,
    heapAfter,
    rate / 1000,
  ].map(figure);
}

async function measureMap(console_: Console, { rate, mapSeconds }: ScreenSettings): Promise<void> {
  const { engines, fleet } = console_;
  const shape = { connections: rate, inFlight: 4, ingestProcesses: 1, profile: '' };
  const platform = await startOdograph(engines, fleet, shape);
  const columns: string[][] = [
    [
      `${figure(rate)} changes/s for ${mapSeconds} s`,
      ...[
        'open until live, ms',
        'frames/s',
        'longest frame, ms',
        'JavaScript, ms each second',
        'frames/s while dragged',
        'longest frame while dragged, ms',
      ],
      ...['JavaScript heap at the start, MiB', 'at the end, MiB', 'received, kB/s', 'load average'],
    ],
  ];
  for (const size of fleetSizes) {
    await growFleet(engines.pool, fleet, size);
    const views = { 'whole fleet': '/map', 'one city': `/map?vehicle=${fleet.vehicles[0]?.vehicleId}` };
    for (const [view, path] of Object.entries(views)) {
      const uploads = rate * (mapSeconds + (4 * settlingMs + panMs) / 1000);
      const loading = platform.generator.ask({ kind: 'load', ...planLoad(uploads, rate, rate) });
      const figures = await watchMap(console_, path, mapSeconds);
      columns.push([`${figure(size)} vehicles, ${view}`, ...figures, figure(loadavg()[0] ?? Number.NaN)]);
      await loading;
    }
  }
  await platform.stop();
  printTable((columns[0] ?? []).map((_cell, row) => columns.map((column) => column[row] ?? '')));
}

/** Runs an action and waits for what it shows. @returns milliseconds */
async function timeOf(action: () => Promise<unknown>, shown: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  await shown();
  return performance.now() - start;
}

async function measureList(console_: Console): Promise<void> {
  const count = fleetSizes.at(-1) ?? 0;
  await growFleet(console_.engines.pool, console_.fleet, count);
  const page = await signIn(console_);
  const rows = page.locator('tbody tr');
  const first = await timeOf(
    () => page.goto('/vehicles'),
    () => rows.first().waitFor(),
  );
  const search = page.getByRole('searchbox');
  const found = page.getByRole('cell', { name: 'BN-1234-CH' });
  const filter = await timeOf(
    () => search.fill('BN-1234-CH'),
    () => found.waitFor(),
  );
  await page.context().close();
  printTable([
    [`table of ${figure(count)} vehicles`, ''],
    ['open until the first rows, ms', figure(first)],
    ['search until its row, ms', figure(filter)],
    ['load average', figure(loadavg()[0] ?? Number.NaN)],
  ]);
}

/** Stores a reading a minute for a year. */
async function fillYear(pool: Pool, { applicationId, vehicles }: BenchFleet): Promise<number> {
  const vehicleId = vehicles[1]?.vehicleId ?? 0;
  await pool.query(
    `insert into reading (application_id, vehicle_id, time, soc, voltage, mileage, device_id, received_at)
    select $1, $2, now() - make_interval(mins => n), 50 + 40 * sin(n / 500.0), 390 + 10 * random(), 20000 - n * 0.02, 'bench', now()
    from generate_series(1, $3::integer) as n`,
    [applicationId, vehicleId, readingsOfYear],
  );
  await pool.query(
    `insert into vehicle_latest (vehicle_id, earliest_time, time, electric, electric_time, received_at)
    select vehicle_id, min(time), max(time), '{"soc": 50}', max(time), now() from reading where vehicle_id = $1 group by 1`,
    [vehicleId],
  );
  await pool.query('vacuum analyze reading, vehicle_latest');
  return vehicleId;
}

async function measureChart(console_: Console): Promise<void> {
  const vehicleId = await fillYear(console_.engines.pool, console_.fleet);
  const page = await signIn(console_);
  await page.goto(`/vehicles/${vehicleId}/charts`);
  await page.locator('.chart canvas').first().waitFor();
  await page.evaluate("for (const one of document.querySelectorAll('.chart canvas')) one.dataset.before = ''");
  const year = await timeOf(
    () => page.getByText('Year', { exact: true }).click(),
    () => page.locator('.chart canvas:not([data-before])').first().waitFor(),
  );
  await page.context().close();
  printTable([
    [`charts of a year, ${figure(readingsOfYear)} readings`, ''],
    ['click until the first picture, ms', figure(year)],
    ['load average', figure(loadavg()[0] ?? Number.NaN)],
  ]);
}

/** Measures screens of the console in Chromium, drawn by software. */
export async function measureScreens(parts: readonly string[], settings: ScreenSettings): Promise<void> {
  await withEngines(async (engines) => {
    printMachine(engines);
    const fleet = await createFleet(engines.pool, settings.rate);
    const { httpUrl } = await startServices(engines, ['query', 'fleet', 'console']);
    const browser = await startBrowser();
    engines.onStop('browser', () => browser.close());
    const response = await fetch(`${httpUrl}/v1/x/admin/operators`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'bench', role: 'operator' }),
    });
    const account = { name: 'bench', password: ((await response.json()) as { password: string }).password };
    const console_ = { engines, fleet, httpUrl, browser, account };
    if (parts.includes('map')) await measureMap(console_, settings);
    if (parts.includes('list')) await measureList(console_);
    if (parts.includes('chart')) await measureChart(console_);
  });
}
