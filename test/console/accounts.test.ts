import { readFile } from 'node:fs/promises';
import { createApiClient } from '@odograph/testkit/api-client';
import { createUser } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { watchPage } from './browser.fixture.ts';
import { type ConsoleSetup, findAllBarriers, startConsole, uniqueName } from './console.fixture.ts';
import { createAccount, password } from './fleet.fixture.ts';

let setup: ConsoleSetup;

describe.skipIf(!hasBrowser)('the screen Accounts', () => {
  beforeAll(async () => {
    setup = await startConsole();
  });
  afterAll(() => setup?.stop());

  const passwordShown = async (page: Page): Promise<string> => {
    const codes = page.getByRole('region', { name: 'Shown once' }).locator('dd code');
    await codes.nth(1).waitFor();
    return (await codes.allInnerTexts())[1] ?? '';
  };

  it('creates a user with a grant, who signs in with the password that is shown once', async () => {
    const plate = uniqueName('US');
    await setup.createNamedVehicle(plate);
    const { page, errors } = await setup.open('/accounts/users', await setup.accountOf('administrator'));
    const username = uniqueName('user');
    await page.getByLabel('User name of a new user').fill(username);
    await page.getByRole('button', { name: 'Create' }).click();
    const shown = await passwordShown(page);
    await page.locator('summary', { hasText: username }).click();
    const user = page.getByRole('listitem').filter({ hasText: username });
    await user.getByLabel('Grant a vehicle').fill(plate);
    await user.getByRole('button', { name: 'Grant', exact: true }).click();
    await user.getByLabel(`Role on ${plate}`).selectOption('manager');
    await expect
      .poll(async () =>
        (await setup.platform.db.selectFrom('vehicle_grant').select('role').execute()).map(({ role }) => role),
      )
      .toContain('manager');
    expect(await findAllBarriers(page)).toEqual([]);
    const client = createApiClient(setup.platform.httpUrl, { origin: setup.platform.httpUrl });
    const signIn = () => client.post('/v1/x/session', { appId: setup.application.appId, username, password: shown });
    expect((await signIn()).body).toMatchObject({ username, mustChangePassword: true });
    await user.getByRole('button', { name: 'Delete user' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Delete user' }).isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill(username);
    await dialog.getByRole('button', { name: 'Delete user' }).click();
    await user.waitFor({ state: 'detached' });
    expect((await signIn()).body.error).toBe('INVALID_CREDENTIALS');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('lists the Bluetooth keys of a driver, and revokes one', async () => {
    const { db } = setup.platform;
    const plate = uniqueName('KEY');
    const vehicleId = await setup.createNamedVehicle(plate);
    const { username } = await createUser(db, setup.application, { vehicleIds: [vehicleId], role: 'driver' });
    await sql`insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from, valid_until)
      values (${vehicleId}::integer, ${username}, 'DRIVE', now(), now() + interval '1 day')`.execute(db);
    const { page, errors } = await setup.open('/accounts/users', await setup.accountOf('operator'));
    await page.locator('summary', { hasText: username }).click();
    const keys = page.getByRole('region', { name: `Bluetooth keys: ${username}` });
    await keys.getByRole('row', { name: plate }).getByRole('button', { name: 'Revoke' }).click();
    expect(await findAllBarriers(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await keys.getByText('No current or scheduled key').waitFor();
    const authorization = db
      .selectFrom('bluetooth_authorization')
      .select('revoked_at')
      .where('driver_id', '=', username);
    expect(await authorization.execute()).toEqual([{ revoked_at: expect.any(Date) }]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('creates an operator, and overwrites the change of another person only when confirmed', async () => {
    const account = await createAccount(setup.platform, undefined, 'administrator');
    const { page } = await setup.open('/accounts/operators', account);
    const name = uniqueName('op');
    await page.getByText('New operator').click();
    await page.getByRole('textbox', { name: 'Name' }).fill(name);
    await page.getByRole('button', { name: 'Create' }).click();
    const shown = await passwordShown(page);
    const operator = page.getByRole('listitem').filter({ hasText: name });
    await operator.locator('summary').click();
    await operator.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: `Change ${name}` });
    await dialog.getByLabel('Role').selectOption('operator');
    expect((await setup.admin.put(`/v1/x/admin/operators/${name}`, { role: 'administrator' })).status).toBe(200);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText(/Another person has changed this in the meantime \(now: Administrator/).waitFor();
    const roles = setup.platform.db.selectFrom('operator').select('role').where('name', '=', name);
    expect(await roles.execute()).toEqual([{ role: 'administrator' }]);
    expect(await findAllBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await roles.execute()).toEqual([{ role: 'operator' }]);
    // The password was chosen by someone else: the new operator gets nowhere before it is changed.
    const { page: first } = await watchPage(setup.browser, setup.platform.httpUrl);
    await first.goto('/devices');
    await first.getByLabel('Name').fill(name);
    await first.getByLabel('Password').fill(shown);
    await first.getByRole('button', { name: 'Sign in' }).click();
    await first.getByText('Choose a password of your own before you continue.').waitFor();
    await first.getByLabel('Current password').fill(shown);
    await first.getByLabel('New password').fill(password);
    await first.getByRole('button', { name: 'Change password' }).click();
    await first.getByRole('heading', { name: 'Devices' }).waitFor();
    await first.context().close();
    await page.context().close();
  });

  it('keeps the limit of an operator to a deleted application until someone removes it', async () => {
    const { admin, platform } = setup;
    const { appId } = (await admin.post('/v1/x/admin/applications', { name: uniqueName('Fleet') })).body;
    const name = uniqueName('op');
    await admin.post('/v1/x/admin/operators', { name, role: 'viewer', appIds: [appId] });
    await admin.delete(`/v1/x/admin/applications/${appId}`);
    const account = await createAccount(platform, undefined, 'administrator');
    const { page } = await setup.open('/accounts/operators', account);
    const operator = page.getByRole('listitem').filter({ hasText: name });
    await operator.locator('summary').click();
    const edit = operator.getByRole('button', { name: 'Edit' });
    const dialog = page.getByRole('dialog', { name: `Change ${name}` });
    const save = async () => {
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
      const { operators } = (await admin.get('/v1/x/admin/operators')).body;
      return operators.find((one: { name: string }) => one.name === name);
    };
    await edit.click();
    await dialog.getByLabel('Role').selectOption('operator');
    await dialog.getByLabel(setup.application.appId).check();
    await dialog.getByLabel(setup.application.appId).uncheck();
    expect(await save()).toMatchObject({ role: 'operator', appIds: [appId] });
    await edit.click();
    await dialog.getByLabel(appId).click();
    await dialog.getByLabel(setup.application.appId).check();
    expect(await save()).toMatchObject({ role: 'operator', appIds: [setup.application.appId] });
    await page.context().close();
  });

  it('creates an application, changes its settings, and keeps the input when another person was faster', async () => {
    const account = await createAccount(setup.platform, undefined, 'administrator');
    const { page, errors } = await setup.open('/accounts', account);
    const name = uniqueName('Fleet');
    await page.getByLabel('Name of a new application').fill(name);
    await page.getByRole('button', { name: 'Create' }).click();
    const appKey = await passwordShown(page);
    await page.getByRole('link', { name }).click();
    await page.waitForURL(/\/accounts\/applications\/./);
    await page.getByLabel('Tariff per kilometre').fill('0,35');
    const appId = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1) ?? '');
    expect((await setup.admin.put(`/v1/x/admin/applications/${appId}`, { tariffPerMinute: 2 })).status).toBe(200);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('now: Tariff per minute: 0 → 2').waitFor();
    expect(await page.getByLabel('Tariff per kilometre').inputValue()).toBe('0,35');
    await page.getByLabel('Tariff per minute').fill('2');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect((await setup.admin.get(`/v1/x/admin/applications/${appId}`)).body).toMatchObject({
      ...{ tariffPerKm: 0.35, tariffPerMinute: 2 },
    });
    const rate = page.getByLabel('Bytes per second of a device');
    await rate.fill('100,000');
    await page.getByRole('button', { name: 'Save' }).click();
    expect(await rate.evaluate((input) => Reflect.get(input, 'validationMessage'))).toContain(
      'without separators of thousands',
    );
    await page.getByRole('button', { name: 'New appKey' }).click();
    await page.getByLabel('The former appKey stays valid').selectOption('0');
    await page.getByRole('dialog').getByRole('button', { name: 'New appKey' }).click();
    const region = page.getByRole('region', { name: 'Shown once' });
    await region.waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    const signIn = async (key: string) =>
      (await createApiClient(setup.platform.httpUrl).post('/v1/login', { appId, appKey: key })).status;
    expect([await signIn(appKey), await signIn(await region.locator('code').innerText())]).toEqual([401, 200]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('exports and erases a person and a vehicle, once their names are typed', async () => {
    const plate = uniqueName('ER');
    const vehicleId = await setup.createNamedVehicle(plate);
    const user = await createUser(setup.platform.db, setup.application, { vehicleIds: [vehicleId] });
    const { page } = await setup.open('/accounts/data', await setup.accountOf('administrator'));
    await page.getByLabel('Driver, user name or user id').fill(user.username);
    await page.getByRole('button', { name: 'Find' }).first().click();
    const person = page.getByRole('region', { name: user.username });
    const download = async (click: Promise<void>) => {
      const [file] = await Promise.all([page.waitForEvent('download'), click]);
      return readFile((await file.path()) ?? '', 'utf8');
    };
    const exported = JSON.parse(await download(person.getByRole('button', { name: 'Download' }).click()));
    expect(exported.account).toMatchObject([{ username: user.username }]);
    await page.getByLabel('Plate').fill(plate);
    await page.getByRole('button', { name: 'Find' }).last().click();
    const vehicle = page.getByRole('region', { name: plate });
    expect(await download(vehicle.getByRole('link', { name: 'Download' }).click())).toContain(`"plate":"${plate}"`);
    expect(await findAllBarriers(page)).toEqual([]);
    const erase = async (of: typeof person, typed: string) => {
      await of.getByRole('button', { name: 'Erase' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('textbox').fill(`${typed}x`);
      expect(await dialog.getByRole('button', { name: 'Erase' }).isDisabled()).toBe(true);
      await dialog.getByRole('textbox').fill(typed);
      await dialog.getByRole('button', { name: 'Erase' }).click();
      await of.waitFor({ state: 'detached' });
    };
    await erase(vehicle, plate);
    await erase(person, user.username);
    await page.getByText(/The person is erased. The remaining records name erased-/).waitFor();
    const stored = setup.platform.db.selectFrom('vehicle').select('deleted_at').where('id', '=', Number(vehicleId));
    expect((await stored.executeTakeFirstOrThrow()).deleted_at).not.toBeNull();
    await page.context().close();
  });

  it('shows each role what it may do', async () => {
    const { page } = await setup.open('/accounts', await setup.accountOf('viewer'));
    await page.getByRole('link', { name: setup.application.appId }).click();
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    expect(await page.getByRole('button', { name: /Save|appKey|Delete/ }).count()).toBe(0);
    expect(await page.getByLabel('Time zone').isDisabled()).toBe(true);
    const tabs = page.getByRole('navigation', { name: 'Accounts' }).getByRole('link');
    expect(await tabs.allInnerTexts()).toEqual(['Applications', 'Users']);
    await page.goto('/accounts/operators');
    await page.getByText('Your account cannot open this page').waitFor();
    await page.context().close();
    // An administrator of one application has no operators.
    const { page: limited } = await setup.open('/accounts', await setup.accountOf('administrator'));
    await limited.getByRole('link', { name: 'Personal data' }).waitFor();
    expect(await limited.getByRole('link', { name: 'Operators' }).count()).toBe(0);
    expect(await limited.getByLabel('Name of a new application').count()).toBe(0);
    expect(await findAllBarriers(limited)).toEqual([]);
    await limited.context().close();
  });
});
