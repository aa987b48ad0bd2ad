import { createApplication, createOperator } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findBarriers, signedInOptions, watchPage } from './browser.fixture.ts';
import { type ConsoleSetup, startConsole, uniqueName } from './console.fixture.ts';
import { createAccount, endSessions, password } from './fleet.fixture.ts';

describe.skipIf(!hasBrowser)('signing in to the console', () => {
  let setup: ConsoleSetup;
  beforeAll(async () => {
    setup = await startConsole();
  });
  afterAll(() => setup?.stop());

  it('asks who you are at every address, and asks for nothing outside of the platform', async () => {
    const { browser, platform } = setup;
    const { page, errors, foreignRequests } = await watchPage(browser, platform.httpUrl);
    await page.goto('/vehicles?state=moving');
    await page.waitForURL(`${platform.httpUrl}/sign-in?next=%2Fvehicles%3Fstate%3Dmoving`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect({ errors, foreignRequests }).toEqual({ errors: [], foreignRequests: [] });
    await page.context().close();
  });

  it.each(['light', 'dark'] as const)('has no axe violations, %s', async (colorScheme) => {
    const { page } = await watchPage(setup.browser, setup.platform.httpUrl, { colorScheme });
    await page.goto('/sign-in');
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.context().close();
  });

  it.each([
    ['/queues', 'Odograph queues'],
    ['/docs', 'Odograph: interface'],
  ])('opens a page for operators after the sign-in that it asks for: %s', async (path, title) => {
    const { browser, platform, admin } = setup;
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

  it('names every field of the API reference', async () => {
    const { cookie } = await createOperator(setup.platform.db);
    const options = signedInOptions(setup.platform.httpUrl, cookie);
    const { page } = await watchPage(setup.browser, setup.platform.httpUrl, options);
    await page.goto('/docs#/alarms/getAlarms');
    await page.locator('tr[data-param-name] select[aria-label]').first().waitFor({ timeout: 60_000 });
    expect(await findBarriers(page, ['select-name', 'label'])).toEqual([]);
    await page.context().close();
  });

  it('names every button of the queues', async () => {
    const { cookie } = await createOperator(setup.platform.db);
    const options = signedInOptions(setup.platform.httpUrl, cookie);
    const { page } = await watchPage(setup.browser, setup.platform.httpUrl, options);
    for (const [path, button] of [
      ['/queues', 'Settings'],
      ['/queues/queue/maintenance', 'Actions'],
    ] as const) {
      await page.goto(path);
      await page.getByRole('button', { name: button }).first().waitFor();
      expect(await findBarriers(page, ['button-name'])).toEqual([]);
    }
    await page.context().close();
  });
});

describe.skipIf(!hasBrowser)('a browser that several people share', () => {
  let setup: ConsoleSetup;
  const plate = uniqueName('SE');
  beforeAll(async () => {
    setup = await startConsole();
    await setup.createNamedVehicle(plate);
  });
  afterAll(() => setup?.stop());

  /** Creates an operator of an application without vehicles. @returns the name */
  const createStranger = async (): Promise<string> =>
    createAccount(setup.platform, { application: await createApplication(setup.platform.db) });

  it('discards the page of a person whose session has ended when another person signs in', async () => {
    const first = await setup.accountOf('operator');
    const { page } = await setup.open('/vehicles', first);
    await page.getByRole('link', { name: plate }).waitFor();
    await endSessions(setup.platform, first);
    await page.getByText('Parked', { exact: true }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Name').fill(await createStranger());
    await dialog.getByLabel('Password').fill(password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('searchbox').waitFor();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.getByText(plate).count()).toBe(0);
    await page.context().close();
  });

  it('shows nothing of a person in other tabs after the sign-out, nor when another person signs in', async () => {
    const { page } = await setup.open('/vehicles', await setup.accountOf('operator'));
    await page.getByRole('link', { name: plate }).waitFor();
    const other = await page.context().newPage();
    await other.goto('/profile');
    await other.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.getByText(plate).count()).toBe(0);
    await other.getByLabel('Name').fill(await setup.accountOf('operator'));
    await other.getByLabel('Password').fill(password);
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.getByRole('navigation', { name: 'Screens' }).waitFor();
    await page.goto('/vehicles');
    await page.getByRole('link', { name: plate }).waitFor();
    // Another person's sign-in also discards the page if the first session ended in another way.
    await other.context().clearCookies();
    await other.goto('/profile');
    await other.getByLabel('Name').fill(await createStranger());
    await other.getByLabel('Password').fill(password);
    await other.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText(plate).waitFor({ state: 'detached' });
    await page.context().close();
  });
});

describe.skipIf(!hasBrowser)('signing in with an identity provider', () => {
  it('is offered on the sign-in page, which reports its failure', async () => {
    const settings = { OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'odograph', OIDC_CLIENT_SECRET: 'secret' };
    const more = { OIDC_ROLES: 'staff=viewer', OIDC_NAME: 'Keycloak', PUBLIC_URL: 'http://fleet.example' };
    const partner = { id: 'partner', name: 'Partner', issuer: 'http://127.0.0.1:2', clientId: 'c', clientSecret: 's' };
    const OIDC_PROVIDERS = JSON.stringify([{ ...partner, roles: 'staff=viewer' }]);
    const setup = await startConsole({ ...settings, ...more, OIDC_PROVIDERS });
    const { page } = await watchPage(setup.browser, setup.platform.httpUrl);
    await page.goto('/sign-in?failed=provider&next=%2Fvehicles');
    const link = page.getByRole('link', { name: 'Sign in with Keycloak' });
    await link.waitFor();
    await page.getByText('Signing in with Keycloak failed.').waitFor();
    expect(await link.getAttribute('href')).toBe('/v1/x/session/oidc?next=%2Fvehicles');
    const other = page.getByRole('link', { name: 'Sign in with Partner' });
    expect(await other.getAttribute('href')).toBe('/v1/x/session/oidc/partner?next=%2Fvehicles');
    expect(await findBarriers(page)).toEqual([]);
    await page.context().close();
    await setup.stop();
  });
});
