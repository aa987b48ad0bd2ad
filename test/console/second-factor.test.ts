import { createOperator } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../services/fleet/accounts/passwords.ts';
import { totpCode, totpStep } from '../../services/fleet/accounts/totp.ts';
import { signedInOptions, watchPage } from './browser.fixture.ts';
import { type ConsoleSetup, findAllBarriers, startConsole } from './console.fixture.ts';

const password = 'correct horse battery';

/** Computes the TOTP code for the secret that the page displays. */
function codeOf(secret: string, shift: number): string {
  const bits = [...secret]
    .map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  return totpCode(key, totpStep(Date.now()) + shift);
}

describe.skipIf(!hasBrowser)('the second factor of an operator', () => {
  let setup: ConsoleSetup;
  beforeAll(async () => {
    setup = await startConsole({ SECOND_FACTOR_ROLE: 'viewer' });
  });
  afterAll(() => setup?.stop());

  it('is enforced on every page if the role requires one, and requested at the next sign-in', async () => {
    const { browser, platform } = setup;
    const { name, cookie } = await createOperator(platform.db, { passwordHash: await hashPassword(password) });
    const { page, errors } = await watchPage(browser, platform.httpUrl, signedInOptions(platform.httpUrl, cookie));
    await page.goto('/vehicles');
    const section = page.locator('section', { has: page.getByRole('heading', { name: 'Second factor' }) });
    await section.getByLabel('Current password').fill(password);
    await section.getByRole('button', { name: 'Add a second factor' }).click();
    await section.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    // A reused input element would show the password.
    expect(await section.getByLabel('Code', { exact: true }).inputValue()).toBe('');
    const secret = await section.locator('.copy-rows code').innerText();
    await section.getByLabel('Code', { exact: true }).fill(codeOf(secret, -1));
    await section.getByRole('button', { name: 'Confirm' }).click();
    await section.getByRole('button', { name: 'Remove the second factor' }).waitFor();
    const codes = (await section.locator('.copy-rows code').innerText()).split(' ');
    expect(codes).toHaveLength(10);

    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    // Exact, because the profile has fields with longer labels.
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const code = page.getByLabel('Code from the authenticator app, or a recovery code');
    await code.fill('000000');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The code is wrong or has already been used.').waitFor();
    await code.fill(codes[0] ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL((url) => url.pathname === '/map');
    // Chromium logs responses with status 401.
    expect(errors.filter((error) => !error.includes('401'))).toEqual([]);
    await page.context().close();
  });

  it('lists sessions of other browsers, which can be ended', async () => {
    const { browser, platform } = setup;
    const { id, cookie } = await createOperator(platform.db);
    const rows = [{ operator_id: id, address: '192.0.2.17', browser: 'Firefox' }];
    const expires_at = new Date(Date.now() + 3_600_000);
    await platform.db
      .insertInto('sign_in')
      .values(rows.map((row) => ({ ...row, token_sha256: Buffer.from(id), expires_at })))
      .execute();
    const { page } = await watchPage(browser, platform.httpUrl, signedInOptions(platform.httpUrl, cookie));
    await page.goto('/profile');
    const sessions = page.getByRole('list', { name: 'Your sessions' });
    await sessions.getByText('192.0.2.17').waitFor();
    await sessions.getByRole('button', { name: 'End: 192.0.2.17 Firefox' }).click();
    await sessions.getByText('192.0.2.17').waitFor({ state: 'detached' });
    expect(await sessions.getByRole('listitem').count()).toBe(1);
    await page.context().close();
  });
});
