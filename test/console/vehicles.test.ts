import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createDevice, createUser } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../services/fleet/accounts/passwords.ts';
import { watchPage } from './browser.fixture.ts';
import { type ConsoleSetup, findAllBarriers, startConsole, uniqueName } from './console.fixture.ts';
import { createAccount, password, reading } from './fleet.fixture.ts';

let setup: ConsoleSetup;

const findVehicles = (...plates: string[]) =>
  setup.platform.db
    .selectFrom('vehicle')
    .select(['plate', 'brand', 'archived_at', 'deleted_at'])
    .where('plate', 'in', plates)
    .execute();

/** Creates a vehicle, and announces it to open pages. @returns its id */
async function createVehicle(plate: string): Promise<string> {
  return (await setup.admin.post('/v1/x/admin/vehicles', { appId: setup.application.appId, plate })).body.id;
}

/** Reads the host, the port and the secret, which the page shows once. */
async function readSettings(page: Page) {
  const shown = page.getByRole('region', { name: 'Settings of the device' });
  await shown.waitFor();
  const [host, port, , , , secret = ''] = await shown.locator('dd code').allInnerTexts();
  return { url: `mqtt://${host}:${port}`, secret, command: await shown.locator('.device-command').innerText() };
}

describe.skipIf(!hasBrowser)('vehicles in the console', () => {
  beforeAll(async () => {
    setup = await startConsole();
  });
  afterAll(() => setup?.stop());

  it('leads from a fleet without vehicles to the first reading on the map', async () => {
    const { platform } = setup;
    const application = await createApplication(platform.db);
    const { page, errors } = await setup.open('/map', await createAccount(platform, { application }));
    const [plate, deviceId] = [uniqueName('GU'), uniqueName('unit')];
    await page.getByRole('link', { name: 'Add the first vehicle' }).click();
    await page.getByLabel('Plate').fill(plate);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('textbox', { name: 'Device' }).fill(deviceId);
    await page.getByRole('button', { name: 'Create device' }).click();
    await page.getByText('Waiting for its first reading…').waitFor();
    const { url, secret, command } = await readSettings(page);
    expect(command).toMatch(new RegExp(`^mosquitto_pub -h .* -u ${deviceId} -P ${secret} -t v1/devices/${deviceId}/`));
    const device = await connectDevice(url, { deviceId, secret });
    await page.getByText('The device is connected.').waitFor();
    await device.upload([reading()]);
    await page.getByRole('heading', { name: `${plate} is reporting` }).waitFor();
    await page.getByRole('link', { name: 'Show on the map' }).click();
    await page.getByRole('button', { name: new RegExp(`${plate} Parked`) }).waitFor();
    await device.close();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('tells a viewer, and a user without vehicles, who can help', async () => {
    const { platform, browser } = setup;
    const application = await createApplication(platform.db);
    const viewer = await setup.open('/vehicles', await createAccount(platform, { application }, 'viewer'));
    await viewer.page.getByText('An operator or administrator of the platform adds vehicles.').waitFor();
    expect(await viewer.page.getByRole('link', { name: /Add/ }).count()).toBe(0);
    await viewer.page.context().close();
    const user = await createUser(platform.db, application, { passwordHash: await hashPassword(password) });
    const { page } = await watchPage(browser, platform.httpUrl);
    await page.goto('/vehicles');
    await page.getByText('Application user').click();
    await page.getByLabel('Application', { exact: true }).fill(application.appId);
    await page.getByLabel('User name').fill(user.username);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const help = page.getByText('Ask its administrator for access to a vehicle.');
    await help.waitFor();
    expect(await help.isVisible()).toBe(true);
    await page.context().close();
  });

  it('creates groups as a tree with vehicles, renames and moves one, and says why another cannot be deleted', async () => {
    const application = await createApplication(setup.platform.db);
    const plate = uniqueName('GR');
    await setup.admin.post('/v1/x/admin/vehicles', { appId: application.appId, plate });
    const account = await createAccount(setup.platform, { application }, 'administrator');
    const { page, errors } = await setup.open('/vehicles', account);
    await page.getByRole('link', { name: 'Groups' }).click();
    const create = async (name: string, parent: string) => {
      await page.getByRole('button', { name: 'New group' }).click();
      await page.getByLabel('Name').fill(name);
      await page.getByLabel('Parent group').selectOption({ label: parent });
      await page.getByRole('searchbox').fill(plate);
      await page.getByRole('button', { name: plate, exact: true }).click();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('link', { name, exact: true }).waitFor();
    };
    await create('North', 'None (top level)');
    await create('Vans', 'North');
    await page.getByRole('button', { name: 'Delete: North' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('is below it').waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Change: Vans' }).click();
    await page.getByLabel('Name').fill('Cars');
    await page.getByLabel('Parent group').selectOption('');
    await page.getByRole('button', { name: `Remove ${plate}` }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Cars' }).waitFor();
    const { groups } = (await setup.platform.as(application.token).get('/v1/x/groups')).body;
    expect(groups).toEqual([
      expect.objectContaining({ name: 'Cars', depth: 0, vehicleCount: 0 }),
      expect.objectContaining({ name: 'North', depth: 0, vehicleCount: 1 }),
    ]);
    await page.getByRole('button', { name: 'Delete: North' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('link', { name: 'North' }).waitFor({ state: 'detached' });
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('names the fault of a line of a CSV file, and imports a good file as a whole', async () => {
    const { page, errors } = await setup.open('/vehicles?add=file', await setup.accountOf('operator'));
    const [first, second] = [uniqueName('IA'), uniqueName('IB')];
    const choose = async (name: string, ...lines: string[]) => {
      const path = join(setup.directory, name);
      await writeFile(path, ['plate,brand,seats', ...lines].join('\n'));
      await page.getByLabel('CSV file').setInputFiles(path);
    };
    await writeFile(join(setup.directory, 'windows.csv'), Buffer.from('plate\nMÜ-1', 'latin1'));
    await page.getByLabel('CSV file').setInputFiles(join(setup.directory, 'windows.csv'));
    await page.getByText('windows.csv is not UTF-8 text.').waitFor();
    await choose('bad.csv', `${first},Renault,5`, `${second},Renault,many`);
    await page.getByText('1 of 2 lines has a fault.').waitFor();
    await page.getByRole('row', { name: '3 seats must be a whole number' }).waitFor();
    await choose('good.csv', `${first},Renault,5`, `${second},Tesla,`);
    await page.getByText('good.csv: 2 vehicles, no faults. Nothing is saved yet.').waitFor();
    expect(await findVehicles(first, second)).toEqual([]);
    await page.getByRole('button', { name: 'Create 2 vehicles' }).click();
    await page.getByText('2 vehicles are created').waitFor();
    expect((await findVehicles(first, second)).map(({ brand }) => brand)).toEqual(['Renault', 'Tesla']);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('changes a vehicle, with faults shown at their fields, and archives, reactivates and deletes it', async () => {
    const [plate, taken, renamed] = [uniqueName('CH'), uniqueName('CT'), uniqueName('CR')];
    const id = await createVehicle(plate);
    await createVehicle(taken);
    const { page, errors } = await setup.open(`/vehicles/${id}/details`, await setup.accountOf('operator'));
    await page.getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('Plate').fill(taken.toLowerCase());
    await page.getByRole('button', { name: 'Save' }).click();
    const plateField = page.locator('.field', { has: page.getByLabel('Plate') });
    await plateField.getByText('the application has a vehicle with these letters').waitFor();
    await page.getByLabel('Plate').fill(renamed);
    await page.getByLabel('Seats').fill('4');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: renamed }).waitFor();

    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click();
    await page.getByText('This vehicle is archived.').waitFor();
    expect(await page.getByRole('button', { name: 'Change' }).count()).toBe(0);
    await page.goto('/vehicles');
    await page.getByText('Archived', { exact: true }).click();
    await page.getByRole('link', { name: renamed }).click();
    await page.getByRole('button', { name: 'Reactivate' }).click();
    await page.getByRole('link', { name: 'Details' }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill(renamed);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL('/vehicles');
    const [vehicle] = await findVehicles(renamed);
    expect(vehicle).toMatchObject({ archived_at: null, deleted_at: expect.any(Date) });
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('creates a vehicle for a device in quarantine; once confirmed, links the device and replays all its uploads', async () => {
    const { platform, application } = setup;
    const credentials = await createDevice(platform.db, { applicationId: application.id });
    const device = await connectDevice(platform.mqttUrl, credentials);
    await device.upload([reading()]);
    await device.close();
    const uploads = platform.db.selectFrom('quarantine').select('id').where('device_id', '=', credentials.deviceId);
    await eventually(async () => expect(await uploads.execute()).toHaveLength(1));
    await sql`insert into quarantine (device_id, received_at, format, sealed_payload, payload_bytes, payload_fingerprint, faults)
      select device_id, received_at, format, sealed_payload, payload_bytes, int4send(copy), faults
      from quarantine, generate_series(1, 1000) as copy where device_id = ${credentials.deviceId}`.execute(platform.db);
    const { page, errors } = await setup.open('/pipeline', await createAccount(platform, undefined));
    const list = page.getByRole('list', { name: 'Quarantine' });
    const upload = list.getByRole('listitem').filter({ hasText: credentials.deviceId }).first();
    await upload.locator('summary').click();
    await upload.getByRole('button', { name: 'Create a vehicle' }).click();
    const plate = uniqueName('QV');
    await page.getByRole('dialog').getByLabel('Plate').fill(plate);
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    const question = page.getByRole('dialog', { name: `Link ${credentials.deviceId} to ${plate}?` });
    await question.getByRole('button', { name: 'Link and replay' }).click();
    await page.getByText('Stored.').waitFor();
    const links = platform.db.selectFrom('device_link').innerJoin('vehicle', 'vehicle.id', 'vehicle_id');
    const linked = links.select(['plate', 'application_id']).where('device_id', '=', credentials.deviceId);
    expect(await linked.execute()).toEqual([{ plate, application_id: application.id }]);
    await eventually(async () => {
      expect(await uploads.where('resolved_at', 'is', null).execute()).toEqual([]);
    }, 30_000);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
