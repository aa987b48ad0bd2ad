import { createApiClient } from '@odograph/testkit/api-client';
import { hasBrowser } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';
import { startBrowser, watchPage } from './browser.fixture.ts';

let platform: TestPlatform;
let browser: Browser;

describe.skipIf(!hasBrowser)('a page for operators', () => {
  beforeAll(async () => {
    [platform, browser] = await Promise.all([startTestPlatform(await loadServices()), startBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await platform?.stop();
  });

  it.each([
    ['/queues', 'Odograph queues'],
    ['/docs', 'Odograph: interface'],
  ])('opens after the sign-in that it asks for: %s', async (path, title) => {
    const admin = createApiClient(platform.httpUrl, { authorization: `Bearer ${testAdminToken}` });
    const account = { name: path.slice(1), role: 'viewer' };
    const { password } = (await admin.post('/v1/x/admin/operators', account)).body;
    const { page, foreignRequests, errors } = await watchPage(browser, platform.httpUrl);
    await page.goto(path);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByLabel('Name').fill(account.name);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL((url) => url.pathname.startsWith(path));
    await page.waitForFunction(`document.title.includes('${title}')`);
    await page.waitForLoadState('networkidle');
    expect({ errors, foreignRequests }).toEqual({ errors: [], foreignRequests: [] });
    // The browser gives scripts no access to the cookie, and sends the Origin that a change needs.
    expect(await page.evaluate('document.cookie')).toBe('');
    const signOut = "fetch('/v1/x/session', { method: 'DELETE' }).then(({ status }) => status)";
    expect(await page.evaluate(signOut)).toBe(200);
    await page.goto(path);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.context().close();
  });
});
