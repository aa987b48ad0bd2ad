import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApiClient, createBrowser } from '@odograph/testkit/api-client';
import { createOperator } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../services/fleet/accounts/passwords.ts';
import { signedInOptions, watchPage } from './browser.fixture.ts';
import { type ConsoleSetup, findAllBarriers, startConsole } from './console.fixture.ts';

const password = 'correct horse battery';
const passwordHash = hashPassword(password);
let setup: ConsoleSetup;
/** Passkeys require a domain name, not an IP address. */
let origin: string;

/** A page whose browser has an authenticator, with which the person of `cookie` is signed in. */
interface PasskeyPage {
  readonly page: Page;
  readonly errors: readonly string[];
  readonly client: CDPSession;
  readonly authenticatorId: string;
}

/** @param hasSuggestions whether the browser suggests passkeys; the virtual authenticator chooses one at once */
async function openPage(path: string, cookie: string, hasSuggestions = false): Promise<PasskeyPage> {
  const { page, errors } = await watchPage(setup.browser, origin, signedInOptions(origin, cookie));
  if (!hasSuggestions) await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = undefined');
  const client = await page.context().newCDPSession(page);
  await client.send('WebAuthn.enable', { enableUI: false });
  const { authenticatorId } = await client.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
      isUserVerified: true,
    },
  });
  await page.goto(path);
  return { page, errors, client, authenticatorId };
}

const createAccount = async () => createOperator(setup.platform.db, { passwordHash: await passwordHash });

/** Adds a passkey on the profile. */
async function register({ page }: PasskeyPage, name: string): Promise<void> {
  const section = page.locator('section', { has: page.getByRole('heading', { name: 'Passkeys' }) });
  await section.getByLabel('Name of the passkey').fill(name);
  await section.getByLabel('Current password').fill(password);
  await section.getByRole('button', { name: 'Add a passkey' }).click();
  await section.getByRole('listitem').filter({ hasText: name }).waitFor();
}

/** Opens a page with an operator who has a passkey. */
async function openRegistered() {
  const account = await createAccount();
  const opened = await openPage('/profile', account.cookie);
  await register(opened, 'Laptop');
  return { ...account, ...opened };
}

interface Assertion {
  readonly id: string;
  readonly response: Readonly<Record<'authenticatorData' | 'clientDataJSON' | 'signature' | 'userHandle', string>>;
}

/** Builds the body of a sign-in. */
const bodyOf = ({ id, response: { authenticatorData, clientDataJSON, signature, userHandle } }: Assertion) => ({
  ...{ id, authenticatorData, clientDataJSON, signature, userHandle },
});

const anonymous = () => createApiClient(origin, { origin });
const requestOptions = async () => (await anonymous().post('/v1/x/session/passkey/options')).body;

/** Signs the challenge of a sign-in with the authenticator of a page. */
async function sign(page: Page, options?: object): Promise<Assertion> {
  const json = JSON.stringify(options ?? (await requestOptions()));
  return page.evaluate(`navigator.credentials
    .get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${json}) })
    .then((credential) => credential.toJSON())`);
}

const signIn = (body: object) => anonymous().post('/v1/x/session/passkey', body);

describe.skipIf(!hasBrowser)('a passkey', () => {
  beforeAll(async () => {
    setup = await startConsole({ SECOND_FACTOR_ROLE: 'viewer' });
    origin = setup.platform.httpUrl.replace('127.0.0.1', 'localhost');
  });
  afterAll(() => setup?.stop());

  it('is added on the profile, satisfies the role that requires a second factor, and signs in without a password', async () => {
    const { name, cookie } = await createAccount();
    const opened = await openPage('/vehicles', cookie);
    const { page, errors } = opened;
    await page.getByText('Your role requires a second factor or a passkey.').waitFor();
    await register(opened, 'Laptop');
    expect(await findAllBarriers(page)).toEqual([]);
    expect((await createBrowser(origin, cookie).get('/v1/x/admin/applications')).status).toBe(200);

    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    // Exact, because the profile has fields with longer labels.
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('Sign in to this account with its passkey.').waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL((url) => url.pathname === '/map');
    await page.goto('/profile');
    await page.getByRole('list', { name: 'Your sessions' }).getByText('passkey').waitFor();
    expect(errors).toEqual([]);
    const actions = (await setup.admin.get('/v1/x/admin/audit?limit=100')).body;
    expect(JSON.stringify(actions)).toContain('operator.passkey.add');
    await page.context().close();
  });

  it('signs in as a suggestion for the name', async () => {
    const { name, cookie } = await createAccount();
    const opened = await openPage('/profile', cookie, true);
    await register(opened, 'Laptop');
    const { page } = opened;
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.waitForURL((url) => url.pathname === '/map');
    await page.goto('/profile');
    expect(await page.getByRole('heading', { level: 2 }).first().innerText()).toBe(name);
    await page.context().close();
  });

  it('of another operator, or with an altered signature, is refused', async () => {
    const [own, other] = [await openRegistered(), await openRegistered()];
    const [mine, theirs] = [bodyOf(await sign(own.page)), bodyOf(await sign(other.page))];
    expect((await signIn({ ...mine, userHandle: theirs.userHandle })).body.error).toBe('INVALID_CREDENTIALS');
    const another = bodyOf(await sign(own.page));
    const mixed = { ...another, id: theirs.id, userHandle: theirs.userHandle };
    expect((await signIn(mixed)).body.error).toBe('INVALID_CREDENTIALS');
    const { name } = (await signIn(bodyOf(await sign(own.page)))).body;
    expect(name).toBe(own.name);
    const { passkeys } = (await createBrowser(origin, other.cookie).get('/v1/x/session/passkeys')).body;
    const foreign = createBrowser(origin, own.cookie);
    const removal = await foreign.delete(`/v1/x/session/passkeys/${passkeys[0].id}`, { currentPassword: password });
    expect(removal.body.error).toBe('NOT_FOUND');
    for (const { page } of [own, other]) await page.context().close();
  });

  it('signs a challenge once', async () => {
    const { page } = await openRegistered();
    const options = await requestOptions();
    const [first, second] = [bodyOf(await sign(page, options)), bodyOf(await sign(page, options))];
    const unknown = bodyOf(await sign(page, { ...options, challenge: 'A'.repeat(43) }));
    expect((await signIn(first)).status).toBe(200);
    for (const body of [first, second, unknown]) {
      expect((await signIn(body)).body.error).toBe('INVALID_CREDENTIALS');
    }
    await page.context().close();
  });

  it('is refused for a page of another origin', async () => {
    const { page } = await openRegistered();
    const server = createServer((_request, response) => response.end('<!doctype html>'));
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
    const body = bodyOf(await sign(page));
    expect((await signIn(body)).body.error).toBe('INVALID_CREDENTIALS');
    const foreign = createApiClient(origin, { origin: new URL(page.url()).origin });
    expect((await foreign.post('/v1/x/session/passkey', body)).body.error).toBe('UNAUTHORIZED');
    await page.context().close();
    server.close();
  });

  it('is refused without verification of the person', async () => {
    const { page, client, authenticatorId } = await openRegistered();
    await client.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    const assertion = await sign(page, { ...(await requestOptions()), userVerification: 'discouraged' });
    expect((await signIn(bodyOf(assertion))).body.error).toBe('INVALID_CREDENTIALS');
    await page.context().close();
  });

  it('whose signature counter has not grown is refused, and recorded in the audit; one that has grown far is accepted', async () => {
    const { page, client, authenticatorId } = await openRegistered();
    expect((await signIn(bodyOf(await sign(page)))).status).toBe(200);
    const { credentials } = await client.send('WebAuthn.getCredentials', { authenticatorId });
    const [credential] = credentials;
    if (!credential) throw new Error('the authenticator has no credential');
    await client.send('WebAuthn.removeCredential', { authenticatorId, credentialId: credential.credentialId });
    const copy = { ...credential, signCount: 0 };
    await client.send('WebAuthn.addCredential', { authenticatorId, credential: copy });
    expect((await signIn(bodyOf(await sign(page)))).body.error).toBe('INVALID_CREDENTIALS');
    const audit = (await setup.admin.get('/v1/x/admin/audit?limit=100')).body;
    expect(JSON.stringify(audit)).toContain('operator.passkey.refuse');
    await client.send('WebAuthn.removeCredential', { authenticatorId, credentialId: credential.credentialId });
    const late = { ...credential, signCount: 2 ** 31 - 1 };
    await client.send('WebAuthn.addCredential', { authenticatorId, credential: late });
    expect((await signIn(bodyOf(await sign(page)))).status).toBe(200);
    await page.context().close();
  });

  it('is refused once it is removed, also by an administrator', async () => {
    const { page, name } = await openRegistered();
    const body = bodyOf(await sign(page));
    const section = page.locator('section', { has: page.getByRole('heading', { name: 'Passkeys' }) });
    await section.getByRole('button', { name: 'Delete: Laptop' }).click();
    await section.getByLabel('Current password').fill(password);
    await section.getByRole('button', { name: 'Delete Laptop' }).click();
    await section.getByRole('listitem').waitFor({ state: 'detached' });
    expect((await signIn(body)).body.error).toBe('INVALID_CREDENTIALS');

    const again = await openRegistered();
    const signed = bodyOf(await sign(again.page));
    await setup.admin.delete(`/v1/x/admin/operators/${again.name}/second-factor`);
    expect((await signIn(signed)).body.error).toBe('INVALID_CREDENTIALS');
    expect((await createBrowser(origin, again.cookie).get('/v1/x/session')).body.error).toBe('INVALID_TOKEN');
    const listed = (await setup.admin.get('/v1/x/admin/operators')).body.operators;
    const found = listed.filter((one: { name: string }) => [name, again.name].includes(one.name));
    expect(found.map((one: { hasSecondFactor: boolean }) => one.hasSecondFactor)).toEqual([false, false]);
    for (const one of [page, again.page]) await one.context().close();
  });
});
