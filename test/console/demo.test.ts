import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnvironment } from '@odograph/runtime/config';
import { freePort } from '@odograph/testkit/free-port';
import { hasBrowser } from '@odograph/testkit/programs';
import { expect, it, onTestFinished } from 'vitest';
import { closePages, openSignedIn, startBrowser, watchLoads, watchPage } from './browser.fixture.ts';

/** Reads `name: value` lines. */
const readLines = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/^(\w+): (\S.*)$/gm)].map(([, name = '', value = '']) => [name, value]));

it.skipIf(!hasBrowser)(
  'a newcomer who starts the demo signs in with what it prints, and sees vehicles drive on streets',
  { timeout: 600_000 },
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'odograph-demo-'));
    const [http, mqtt] = [await freePort(), await freePort()];
    const settings = { DATA_DIR: directory, HTTP_PORT: String(http), MQTT_PORT: String(mqtt), TELTONIKA_PORT: '0' };
    const demo = spawn(process.execPath, ['scripts/run.mjs', 'services/platform/demo/main.ts'], {
      env: childEnvironment(settings),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(demo, 'exit');
    onTestFinished(async () => {
      await closePages(await startBrowser());
      demo.kill('SIGTERM');
      await exited;
      await rm(directory, { recursive: true });
    });
    let text = '';
    for await (const chunk of demo.stdout) {
      text += String(chunk);
      if (text.includes('curl -X POST')) break;
    }
    const { page: url = '', operator: name = '', password = '' } = readLines(text);
    const browser = await startBrowser();
    const watched = await watchPage(browser, url.replace(/\/$/, ''));
    const { page, errors, foreignRequests } = watched;
    const loads = watchLoads(page);
    await openSignedIn(watched, '/map', { name, password });
    await page.locator('.maplibregl-ctrl-attrib', { hasText: 'OpenStreetMap' }).waitFor({ state: 'attached' });
    await page
      .getByRole('button', { name: /DM-\d{3}-DM Moving.* [1-9]\d* km\/h/ })
      .first()
      .waitFor({ timeout: 300_000 });
    const loaded = await loads.total();
    expect({ errors, foreignRequests }).toEqual({ errors: [], foreignRequests: [] });
    expect(loaded).toBeLessThan(600_000);
    // The street map covers the coasts.
    expect(loads.paths.filter((path) => path.includes('countries-50m'))).toEqual([]);
  },
);
