import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApplication, type TestApplication } from '@odograph/testkit/fixtures';
import { createPmtiles, worldTile } from '@odograph/testkit/pmtiles';
import { hasBrowser } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';
import {
  closePages,
  colourAt,
  openSignedIn,
  startBrowser,
  type WatchedPage,
  watchLoads,
  watchPage,
} from './browser.fixture.ts';
import { createAccount, openAs, password } from './fleet.fixture.ts';

let browser: Browser;
let directory: string;
let file: string;
let platform: TestPlatform;
/** Has no vehicles, so that the map shows the world. */
let application: TestApplication;

/** Replaces the file of the map as `mv` does. */
async function replace(content: Buffer): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}

async function openMap(on: TestPlatform, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const watched = await watchPage(browser, on.httpUrl, options);
  await openAs(on, watched, '/map', await createAccount(on, { application }));
  return watched;
}

/** The colour of the map in its middle. */
const middleOf = (page: Page) => () => colourAt(page, 640, 330);
const pollOptions = { timeout: 15_000, interval: 250 };

/** Colours of Protomaps. */
const colours = { light: { earth: '#e2dfda', water: '#80deea' }, dark: { earth: '#1f1f1f' } };

describe.skipIf(!hasBrowser)('the map of the console', () => {
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'odograph-map-'));
    file = join(directory, 'area.pmtiles');
    await replace(createPmtiles());
    const services = await loadServices();
    [platform, browser] = await Promise.all([startTestPlatform(services, { MAP_TILES: file }), startBrowser()]);
    application = await createApplication(platform.db);
  });
  afterAll(async () => {
    await closePages(browser);
    await platform?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it.each(['light', 'dark'] as const)('is drawn from parts of the file of MAP_TILES, %s', async (colorScheme) => {
    const watched = await watchPage(browser, platform.httpUrl, { colorScheme });
    const { page, errors, foreignRequests } = watched;
    const statuses = new Set<number>();
    page.on('response', (response) => {
      if (response.url().endsWith('/v1/x/map/tiles')) statuses.add(response.status());
    });
    await openAs(platform, watched, '/map', await createAccount(platform, { application }));
    await expect.poll(middleOf(page), pollOptions).toBe(colours[colorScheme].earth);
    await page.locator('.maplibregl-ctrl-attrib', { hasText: 'Survey of Testland' }).waitFor({ state: 'attached' });
    expect({ statuses: [...statuses], errors, foreignRequests }).toEqual({
      statuses: [206],
      errors: [],
      foreignRequests: [],
    });
    await page.context().close();
  });

  it('shows a file that was replaced while the platform runs', async () => {
    const { page } = await openMap(platform);
    await expect.poll(middleOf(page), pollOptions).toBe(colours.light.earth);
    await replace(createPmtiles({ tile: worldTile('water') }));
    await page.getByRole('link', { name: 'Vehicles' }).click();
    await page.getByRole('link', { name: 'Map' }).click();
    await expect.poll(middleOf(page), pollOptions).toBe(colours.light.water);
    await replace(createPmtiles());
    await page.context().close();
  });

  it('shows outlines of countries, and why, while the file cannot be used', async () => {
    await replace(createPmtiles().subarray(0, 300));
    const { page, errors } = await openMap(platform);
    await page.getByText(/The map file of the platform is truncated/).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(errors).toEqual([]);
    await replace(createPmtiles());
    await page.reload();
    await expect.poll(middleOf(page), pollOptions).toBe(colours.light.earth);
    expect(await page.getByText(/The map file/).count()).toBe(0);
    await page.context().close();
  });

  it('shows outlines of countries, and why, when the file fails while it is read', async () => {
    const { page } = await openMap(platform);
    await page.route('**/v1/x/map/tiles', (route) => route.fulfill({ status: 500 }));
    await page.reload();
    await page.getByText(/could not be loaded. Only outlines of countries are shown/).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.getByText(/could not be loaded/).count()).toBe(1);
    await page.context().close();
  });

  it('loads in less than 600 kB, and loads finer coastlines only after zooming in', async () => {
    const watched = await watchPage(browser, platform.httpUrl);
    const { page } = watched;
    const loads = watchLoads(page);
    await openSignedIn(watched, '/map', { name: await createAccount(platform, { application }), password });
    await page.getByText('Live', { exact: true }).waitFor();
    await expect.poll(middleOf(page), pollOptions).toBe(colours.light.earth);
    const total = await loads.total();
    expect(total).toBeGreaterThan(300_000);
    expect(total).toBeLessThan(600_000);
    const coasts = () =>
      loads.paths.filter((path) => path.includes('countries-')).map((path) => /\d+m/.exec(path)?.[0]);
    expect(coasts()).toEqual(['110m']);
    expect(loads.paths.filter((path) => /chart|replay/.test(path))).toEqual([]);
    for (let zoom = 0; zoom < 3; zoom += 1) await page.getByRole('button', { name: 'Zoom in' }).click();
    await expect.poll(coasts).toEqual(['110m', '50m']);
    await page.context().close();
  });

  describe('of another site', () => {
    let foreign: Server;
    let site: string;
    let requested: string[];

    beforeAll(async () => {
      requested = [];
      // One pixel, red.
      const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';
      const style = () => ({
        version: 8,
        sources: { images: { type: 'raster', tiles: [`${site}/{z}/{x}/{y}.png`], tileSize: 256 } },
        layers: [{ id: 'images', type: 'raster', source: 'images' }],
      });
      foreign = createServer((request, response) => {
        requested.push(request.url ?? '');
        const isStyle = request.url === '/style.json';
        response.setHeader('access-control-allow-origin', '*');
        response.setHeader('content-type', isStyle ? 'application/json' : 'image/png');
        response.end(isStyle ? JSON.stringify(style()) : Buffer.from(png, 'base64'));
      }).listen(0, '127.0.0.1');
      await once(foreign, 'listening');
      site = `http://127.0.0.1:${(foreign.address() as AddressInfo).port}`;
    });
    afterAll(() => foreign?.close());

    it.each([
      ['MAP_TILES_URL', '/{z}/{x}/{y}.png'],
      ['MAP_STYLE_URL', '/style.json'],
    ])('is loaded from the site of %s, and nothing from elsewhere', async (setting, path) => {
      const settings = { [setting]: site + path, MAP_ATTRIBUTION: 'Red Survey' };
      const other = await startTestPlatform(await loadServices(), settings);
      try {
        const { page, errors, foreignRequests } = await openMap(other);
        await expect.poll(middleOf(page), pollOptions).toBe('#ff0000');
        await page.locator('.maplibregl-ctrl-attrib', { hasText: 'Red Survey' }).waitFor({ state: 'attached' });
        expect(errors).toEqual([]);
        expect([...new Set(foreignRequests.map((url) => new URL(url).origin))]).toEqual([site]);
        // The policy of the page refuses every other site, such as the first platform.
        const ask = `fetch('${platform.httpUrl}/health').then(() => 'allowed', () => 'refused')`;
        expect(await page.evaluate(ask)).toBe('refused');
        expect(errors.join()).toMatch(/Content Security Policy/);
        await page.context().close();
      } finally {
        await other.stop();
      }
    });

    it('is replaced by outlines of countries, with a notice, when that site does not answer', async () => {
      const other = await startTestPlatform(await loadServices(), { MAP_TILES_URL: `http://127.0.0.1:1/{z}/{x}/{y}` });
      try {
        const { page } = await openMap(other);
        const notice = page.getByText(/The map of 127\.0\.0\.1:1 could not be loaded/);
        await notice.waitFor();
        expect(await notice.count()).toBe(1);
        await page.context().close();
      } finally {
        await other.stop();
      }
    });
  });
});
