import { hasBrowser } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';
import { findBarriers, startBrowser, watchPage } from './browser.fixture.ts';

let platform: TestPlatform;
let browser: Browser;

describe.skipIf(!hasBrowser)('signing in to the console', () => {
  beforeAll(async () => {
    [platform, browser] = await Promise.all([startTestPlatform(await loadServices()), startBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await platform?.stop();
  });

  it('asks who you are at every address, and asks for nothing outside of the platform', async () => {
    const { page, errors, foreignRequests } = await watchPage(browser, platform.httpUrl);
    await page.goto('/vehicles?state=moving');
    await page.waitForURL(`${platform.httpUrl}/sign-in?next=%2Fvehicles%3Fstate%3Dmoving`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect({ errors, foreignRequests }).toEqual({ errors: [], foreignRequests: [] });
    await page.context().close();
  });

  it.each(['light', 'dark'] as const)('has no barrier that axe finds serious, %s', async (colorScheme) => {
    const { page } = await watchPage(browser, platform.httpUrl, { colorScheme });
    await page.goto('/sign-in');
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.context().close();
  });
});
