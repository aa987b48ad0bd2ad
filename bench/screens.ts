import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { browserPath } from '@odograph/testkit/programs';
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';
import build from '../scripts/build/build.ts';
import { openSignedIn } from '../test/console/browser.fixture.ts';
import { defineBenchmark, UsageError } from './parts/benchmark.ts';
import { planLoad, startOdograph } from './parts/contenders.ts';
import type { Engines, Pool } from './parts/engines.ts';
import { type BenchFleet, createFleet, spreadFleet } from './parts/fleet.ts';
import { adminToken, startServices } from './parts/processes.ts';
import { figure, printTable } from './parts/report.ts';

const viewport = { width: 1280, height: 800 };
const fleetSizes = [10_000, 50_000];
const timeoutMs = 120_000;
/** A reading a minute. */
const readingsOfYear = 525_600;
const panMs = 10_000;
const settlingMs = 5000;
const slowConnection = { latency: 200, downloadThroughput: 50_000, uploadThroughput: 50_000 };
const slowRounds = 5;
const slowFleetSize = 1000;

const options = {
  part: ['all', 'map, list, chart, or all of these; or slow, the map over 50 kB/s'],
  rate: [2000, 'uploads/s while the map is watched, each for a different vehicle'],
  mapSeconds: [60, 'seconds per map; the figures in docs/performance.md are for 600'],
  vehicles: [0, 'vehicles on the map; 10,000 and then 50,000 without it'],
} as const;

interface Console {
  readonly engines: Engines;
  readonly fleet: BenchFleet;
  readonly httpUrl: string;
  readonly browser: Browser;
  readonly account: { readonly name: string; readonly password: string };
}

function startBrowser(): Promise<Browser> {
  if (browserPath === undefined) throw new Error('needs Chromium or Google Chrome in /usr/bin');
  const args = [
    '--no-sandbox',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--enable-precise-memory-info',
  ];
  return chromium.launch({ executablePath: browserPath, args });
}

/** Adds vehicles until there are so many, with a position in the country each. */
async function growFleet(pool: Pool, { applicationId }: BenchFleet, count: number): Promise<void> {
  await pool.query(
    `insert into vehicle (application_id, plate, vin, brand, model)
    select $1, 'GR-' || n || '-OW', 'VF1AG1000' || lpad(n::text, 8, '0'), 'Renault', 'Zoe'
    from generate_series((select count(*) from vehicle) + 1, $2::integer) as n`,
    [applicationId, count],
  );
  await spreadFleet(pool);
}

async function signIn({ browser, httpUrl, account }: Console): Promise<Page> {
  // A service worker would answer from its own cache.
  const options = { baseURL: httpUrl, locale: 'en-GB', viewport, serviceWorkers: 'block' } as const;
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(timeoutMs);
  await openSignedIn({ page }, '/profile', account);
  return page;
}

/** Counts the frames of a page from now on. */
const countFrames = `(() => {
  window.benchFrames = 0;
  const next = () => { window.benchFrames += 1; requestAnimationFrame(next); };
  requestAnimationFrame(next);
})()`;

/** Measures the frames/s during some work. */
async function measureFrames(page: Page, work: () => Promise<void>): Promise<number> {
  const [before, start] = [Number(await page.evaluate('window.benchFrames')), performance.now()];
  await work();
  return ((Number(await page.evaluate('window.benchFrames')) - before) * 1000) / (performance.now() - start);
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

/** Watches the map at an address while the fleet changes. */
async function watchMap(console_: Console, path: string, seconds: number): Promise<Record<string, number>> {
  const page = await signIn(console_);
  const client = await page.context().newCDPSession(page);
  let bytes = 0;
  await client.send('Network.enable');
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
  let heapEarly = heapBefore;
  const watched = await measureFrames(page, async () => {
    const early = Math.min(60, seconds);
    await delay(early * 1000);
    heapEarly = await heapMiB(client);
    await delay((seconds - early) * 1000);
  });
  const rate = (bytes - bytesBefore) / ((performance.now() - watchStart) / 1000);
  const heapAfter = await heapMiB(client);
  const panned = await measureFrames(page, () => pan(page));
  await page.context().close();
  return {
    'open until live, ms': firstMs,
    'frames/s': watched,
    'frames/s while dragged': panned,
    'JavaScript heap at the start, MiB': heapBefore,
    'after a minute, MiB': heapEarly,
    'at the end, MiB': heapAfter,
    'received, kB/s': rate / 1000,
    'load average': loadavg()[0] ?? Number.NaN,
  };
}

async function measureMap(
  console_: Console,
  { rate, mapSeconds, vehicles }: { rate: number; mapSeconds: number; vehicles: number },
): Promise<void> {
  const { engines, fleet } = console_;
  const shape = { connections: rate, inFlight: 4 };
  const platform = await startOdograph(engines, fleet, shape);
  const columns: [view: string, figures: Record<string, number>][] = [];
  for (const size of vehicles === 0 ? fleetSizes : [vehicles]) {
    await growFleet(engines.pool, fleet, size);
    const views = { 'whole fleet': '/map', 'one city': `/map?vehicle=${fleet.vehicles[0]?.vehicleId}` };
    for (const [view, path] of Object.entries(views)) {
      const plan = planLoad(rate * (mapSeconds + (4 * settlingMs + panMs) / 1000), rate, shape);
      const loading = platform.generator.ask({ kind: 'load', ...plan });
      columns.push([`${figure(size)} vehicles, ${view}`, await watchMap(console_, path, mapSeconds)]);
      await loading;
    }
  }
  await platform.stop();
  printTable(
    [`${figure(rate)} changes/s for ${mapSeconds} s`, ...columns.map(([view]) => view)],
    Object.keys(columns[0]?.[1] ?? {}).map((name) => [
      name,
      ...columns.map(([, figures]) => figures[name] ?? Number.NaN),
    ]),
  );
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
  const found = page.getByRole('cell', { name: 'BN-1234-CH' });
  const search = await timeOf(
    () => page.getByRole('searchbox').fill('BN-1234-CH'),
    () => found.waitFor(),
  );
  await page.context().close();
  printTable(
    [`table of ${figure(count)} vehicles`, 'ms'],
    [
      ['until the first rows', first],
      ['search until its row', search],
    ],
  );
}

/** Opens the map for the first time over a slow connection. @returns the time until its list and its map appear, ms */
async function openSlowly(console_: Console): Promise<readonly [list: number, map: number]> {
  const page = await signIn(console_);
  const client = await page.context().newCDPSession(page);
  await client.send('Network.clearBrowserCache');
  await client.send('Network.emulateNetworkConditions', { offline: false, ...slowConnection });
  const start = performance.now();
  await page.goto('/map', { waitUntil: 'commit' });
  await page.locator('.vehicle-row').first().waitFor();
  const list = performance.now() - start;
  await page.locator('.map-frame canvas').waitFor();
  const map = performance.now() - start;
  await page.context().close();
  return [list, map];
}

async function measureSlow(console_: Console): Promise<void> {
  await spreadFleet(console_.engines.pool);
  const rounds: (readonly [number, number])[] = [];
  for (let round = 0; round < slowRounds; round += 1) rounds.push(await openSlowly(console_));
  printTable(
    [`map of ${figure(slowFleetSize)} vehicles, nothing cached, 50 kB/s`, `ms, fastest of ${slowRounds}`],
    [
      ['until the first vehicles of the list', Math.min(...rounds.map(([list]) => list))],
      ['until the map is drawn', Math.min(...rounds.map(([, map]) => map))],
    ],
  );
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
    select vehicle_id, min(time), max(time), '{"soc": 50}', max(time), now() from reading where vehicle_id = $1 group by 1
    on conflict (vehicle_id) do update set earliest_time = excluded.earliest_time, time = excluded.time`,
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
  printTable([`charts of a year, ${figure(readingsOfYear)} readings`, 'ms'], [['click until the first picture', year]]);
}

export const benchmark = defineBenchmark(
  'map, table and chart of the console in Chromium, with software rendering',
  options,
  async (engines, { part, ...settings }) => {
    if (!['all', 'map', 'list', 'slow', 'chart'].includes(part)) {
      throw new UsageError(`--part must be map, list, slow, chart or all, not ${part}`);
    }
    await build();
    const fleet = await createFleet(engines.pool, part === 'slow' ? slowFleetSize : settings.rate);
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
    if (part === 'map' || part === 'all') await measureMap(console_, settings);
    if (part === 'list' || part === 'all') await measureList(console_);
    if (part === 'slow') await measureSlow(console_);
    if (part === 'chart' || part === 'all') await measureChart(console_);
  },
);
