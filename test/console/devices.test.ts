import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectDevice } from '@odograph/simulator/device-connection';
import { TeltonikaDevice } from '@odograph/simulator/teltonika-device';
import { createDevice, createImei, createUser, createVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasBrowser } from '@odograph/testkit/programs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../services/fleet/accounts/passwords.ts';
import { watchPage } from './browser.fixture.ts';
import { type ConsoleSetup, findAllBarriers, startConsole, uniqueName } from './console.fixture.ts';
import { password, reading } from './fleet.fixture.ts';

let setup: ConsoleSetup;
let teltonikaPort: number;

/** Reports as Traccar Client does with the settings shown. */
async function reportOverHttp(deviceId: string, [address = '']: readonly string[]): Promise<void> {
  const { status } = await fetch(`${address}&lat=48.85&lon=2.35&timestamp=${Math.floor(Date.now() / 1000)}`);
  expect([new URL(address).pathname, status]).toEqual([`/in/osmand/${deviceId}`, 200]);
}

/** Signs in as OwnTracks does with the settings shown. */
async function reportOverMqtt(deviceId: string, shown: readonly string[]): Promise<void> {
  const [mode, host, port, , clientId, username, secret = ''] = shown;
  expect([mode, clientId, username]).toEqual(['MQTT', deviceId, deviceId]);
  await (await connectDevice(`mqtt://${host}:${port}`, { deviceId, secret })).close();
}

describe.skipIf(!hasBrowser)('the screen Devices', () => {
  beforeAll(async () => {
    teltonikaPort = await freePort();
    setup = await startConsole({ TELTONIKA_PORT: String(teltonikaPort) });
  });
  afterAll(() => setup?.stop());

  it('provisions a device in one form; what it shows once lets the device connect', async () => {
    const plate = uniqueName('DV');
    const vehicleId = await setup.createNamedVehicle(plate);
    const { page, errors } = await setup.open('/devices', await setup.accountOf('operator'));
    await page.getByRole('link', { name: 'Devices' }).waitFor();
    await page.getByRole('link', { name: 'Add a device' }).click();
    const deviceId = uniqueName('unit');
    await page.getByRole('textbox', { name: 'Device' }).fill(deviceId);
    await page.getByLabel('Model').selectOption('generic');
    await page.getByLabel('Vehicle').fill(plate.toLowerCase().replace('-', ' '));
    await page.getByRole('button', { name: 'Create device' }).click();
    await page.getByRole('heading', { name: `${deviceId} is created` }).waitFor();
    await page.getByRole('img', { name: 'QR code of the settings' }).waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    const shown = page.getByRole('region', { name: 'Settings of the device' });
    const fields = await shown.locator('dd code').allInnerTexts();
    const [host, port, , , username, secret = ''] = fields;
    expect([username, fields[6]]).toEqual([deviceId, `v1/devices/${deviceId}/telemetry`]);
    const device = await connectDevice(`mqtt://${host}:${port}`, { deviceId, secret });
    await device.upload([reading({ ago: 5 })]);
    await page.getByRole('link', { name: 'Open device' }).click();
    await page.getByRole('heading', { name: deviceId }).waitFor();
    expect(await page.getByText(secret).count()).toBe(0);
    await page.getByRole('cell', { name: plate }).waitFor();
    await page.getByText('Connected', { exact: true }).waitFor();
    await device.close();
    await page.getByText(/Disconnected since \d\d:\d\d/).waitFor();
    const link = setup.platform.db.selectFrom('device_link').select('vehicle_id').where('device_id', '=', deviceId);
    expect(await link.execute()).toEqual([{ vehicle_id: Number(vehicleId) }]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('provisions a Teltonika device by its IMEI; the address that it shows lets the device connect', async () => {
    const { page, errors } = await setup.open('/devices?add=one', await setup.accountOf('operator'));
    await page.getByLabel('Model').selectOption('teltonika-can-control');
    const field = page.getByRole('textbox', { name: 'Device' });
    await field.fill('unit-1');
    await page.getByRole('button', { name: 'Create device' }).click();
    await page.locator('input[name=id]:invalid').waitFor();
    const imei = createImei();
    await field.fill(imei);
    await page.getByRole('button', { name: 'Create device' }).click();
    const shown = page.getByRole('region', { name: 'Settings of the device' });
    await shown.getByText('A Teltonika device signs in with its IMEI').waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    const [host = '', port, protocol, , shownImei] = await shown.locator('dd code').allInnerTexts();
    expect([port, protocol, shownImei]).toEqual([String(teltonikaPort), 'TCP', imei]);
    const device = new TeltonikaDevice({ host, port: Number(port), imei });
    expect(await device.connect()).toBe(true);
    await page.getByRole('link', { name: 'Open device' }).click();
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByText('A Teltonika device signs in with its IMEI.').waitFor();
    expect(await page.getByRole('button', { name: 'New secret' }).count()).toBe(0);
    expect(await findAllBarriers(page)).toEqual([]);
    await device.close();
    await page.getByText(/Disconnected since/).waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says where the settings of a device behind another system are', async () => {
    const { page, errors } = await setup.open('/devices?add=one', await setup.accountOf('operator'));
    await page.getByLabel('Model').selectOption('flespi');
    await page.getByRole('textbox', { name: 'Device' }).fill(uniqueName('tracker'));
    await page.getByRole('button', { name: 'Create device' }).click();
    await page.getByText('Devices of this model report through another system.').waitFor();
    expect(await page.getByRole('img', { name: 'QR code of the settings' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Open device' }).click();
    await page.getByText('Through another system').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it.each([
    ['osmand', 'Traccar Client', reportOverHttp],
    ['owntracks', 'OwnTracks', reportOverMqtt],
  ])(
    'shows the settings of a phone with %s, which has its own secret, as a QR code for %s',
    async (model, app, report) => {
      const { page, errors } = await setup.open('/devices?add=one', await setup.accountOf('operator'));
      const deviceId = uniqueName('phone');
      await page.getByLabel('Model').selectOption(model);
      await page.getByRole('textbox', { name: 'Device' }).fill(deviceId);
      await page.getByRole('button', { name: 'Create device' }).click();
      await page.getByRole('img', { name: `QR code of the settings for ${app}` }).waitFor();
      expect(await findAllBarriers(page)).toEqual([]);
      await page.getByRole('link', { name: 'Open device' }).click();
      await page.getByRole('button', { name: 'New secret' }).click();
      await page.getByRole('button', { name: 'Create the secret' }).click();
      await page.getByRole('img', { name: `QR code of the settings for ${app}` }).waitFor();
      const shown = await page
        .getByRole('region', { name: 'Settings of the device' })
        .locator('dd code')
        .allInnerTexts();
      await report(deviceId, shown);
      expect(errors).toEqual([]);
      await page.context().close();
    },
  );

  it('names every fault of a CSV file before anything is written, and downloads the credentials of a good one', async () => {
    const { page, errors } = await setup.open('/devices?add=file', await setup.accountOf('operator'));
    const [first, second] = [uniqueName('a'), uniqueName('b')];
    const file = async (name: string, ...lines: string[]) => {
      const path = join(setup.directory, name);
      await writeFile(path, ['id,model,appId', ...lines].join('\n'));
      return path;
    };
    const { appId } = setup.application;
    const bad = await file(
      'bad.csv',
      `${first},generic,${appId}`,
      `${second},no model,${appId}`,
      `no id?,generic,${appId}`,
    );
    await page.getByLabel('CSV file').setInputFiles(bad);
    await page.getByText('2 of 3 lines have a fault.').waitFor();
    await page.getByRole('row', { name: /3 model must be a device model/ }).waitFor();
    await page.getByRole('row', { name: /^4 id / }).waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    const good = await file('good.csv', `${first},generic,${appId}`, `${second},obd,${appId}`);
    await page.getByLabel('CSV file').setInputFiles(good);
    await page.getByText('good.csv: 2 devices, no faults. Nothing is saved yet.').waitFor();
    const stored = () =>
      setup.platform.db.selectFrom('device').select('id').where('id', 'in', [first, second]).execute();
    expect(await stored()).toEqual([]);
    await page.getByRole('button', { name: 'Create 2 devices' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the credentials' }).click(),
    ]);
    const [, line = ''] = (await readFile((await download.path()) ?? '', 'utf8')).split('\r\n');
    const [url = '', clientId, , secret = ''] = line.split(',');
    expect([clientId, (await stored()).length]).toEqual([first, 2]);
    const device = await connectDevice(url, { deviceId: first, secret });
    await device.close();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('shows the settings of imported devices by the way in which their models report', async () => {
    const { page, errors } = await setup.open('/devices?add=file', await setup.accountOf('operator'));
    const [imei, other, tracker] = [createImei(), createImei(), uniqueName('tracker')];
    const path = join(setup.directory, 'mixed.csv');
    const { appId } = setup.application;
    const lines = [`${imei},teltonika,${appId}`, `${other},teltonika-outputs,${appId}`, `${tracker},flespi,${appId}`];
    await writeFile(path, ['id,model,appId', ...lines].join('\n'));
    await page.getByLabel('CSV file').setInputFiles(path);
    await page.getByRole('button', { name: 'Create 3 devices' }).click();
    const teltonika = page.getByRole('region', { name: 'Teltonika devices: 2' });
    await teltonika.getByText('A Teltonika device signs in with its IMEI').waitFor();
    const [host = '', port, protocol] = await teltonika.locator('dd code').allInnerTexts();
    expect([port, protocol]).toEqual([String(teltonikaPort), 'TCP']);
    expect(await page.getByRole('region', { name: /MQTT/ }).count()).toBe(0);
    expect(await findAllBarriers(page)).toEqual([]);
    const fileOf = async (name: string) => {
      const button = page.getByRole('button', { name });
      const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
      const text = await readFile((await download.path()) ?? '', 'utf8');
      return text.split('\r\n').map((line) => line.split(','));
    };
    const imeis = await fileOf('Download the list of IMEIs');
    expect(imeis.slice(0, 2)).toEqual([
      ['imei', 'claimCode'],
      [imei, ''],
    ]);
    const [head, secrets] = await fileOf('Download the credentials');
    expect(head).toEqual(['deviceId', 'password', 'claimCode']);
    expect(secrets).toEqual([tracker, expect.stringMatching(/^[\w-]{20,}$/), '']);
    const device = new TeltonikaDevice({ host, port: Number(port), imei });
    expect(await device.connect()).toBe(true);
    await device.close();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('searches and filters by the platform, and rotates a secret', async () => {
    const [one, other] = [
      await createVehicle(setup.platform.db, setup.application),
      await createVehicle(setup.platform.db, setup.application),
    ];
    const device = await connectDevice(setup.platform.mqttUrl, one);
    const { page } = await setup.open('/devices', await setup.accountOf('operator'));
    await page.getByRole('cell', { name: other.deviceId }).waitFor();
    await page.getByText('Connected', { exact: true }).first().click();
    await page.waitForURL(/show=connected/);
    await page.getByRole('cell', { name: other.deviceId }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: one.deviceId }).click();
    await page.getByRole('button', { name: 'New secret' }).click();
    await page.getByLabel('The former secret stays valid').selectOption({ label: 'not at all: the session ends now' });
    await page.getByRole('button', { name: 'Create the secret' }).click();
    const shown = page.getByRole('region', { name: 'Settings of the device' });
    await shown.waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    const secret = (await shown.locator('dd code').allInnerTexts())[5] ?? '';
    await page.getByText(/Disconnected since/).waitFor();
    await device.close('cut');
    const again = await connectDevice(setup.platform.mqttUrl, { deviceId: one.deviceId, secret });
    await again.close();
    await page.context().close();
  });

  it('links, moves and unlinks in time, and overwrites no change of another person', async () => {
    const plates = ['LA', 'LB', 'LC'].map((letters) => uniqueName(letters));
    const [first = '', second = '', third = ''] = await Promise.all(
      plates.map((plate) => setup.createNamedVehicle(plate)),
    );
    const { deviceId } = await createDevice(setup.platform.db, { applicationId: setup.application.id });
    const { page } = await setup.open(`/devices/${deviceId}`, await setup.accountOf('operator'));
    await page.getByLabel('Link to a vehicle').fill(plates[0] ?? '');
    await page.getByRole('button', { name: 'Link', exact: true }).click();
    await page.getByRole('row', { name: new RegExp(`${plates[0]}.*now`) }).waitFor();
    // Another person moves it, unseen by this page until then.
    await page.getByLabel('Move to another vehicle').fill(plates[1] ?? '');
    const link = `/v1/x/admin/devices/${deviceId}/link`;
    expect((await setup.admin.put(link, { vehicleId: third, fromVehicleId: first })).status).toBe(200);
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByText('Another person has changed the link in the meantime.').waitFor();
    await page.getByRole('row', { name: new RegExp(`${plates[2]}.*now`) }).waitFor();
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByRole('row', { name: new RegExp(`${plates[1]}.*now`) }).waitFor();
    await page.getByRole('button', { name: 'Unlink' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click();
    await page.getByLabel('Link to a vehicle').waitFor();
    const links = setup.platform.db.selectFrom('device_link').select('vehicle_id').where('device_id', '=', deviceId);
    const linked = (await links.execute()).map(({ vehicle_id }) => String(vehicle_id)).sort();
    expect(linked).toEqual([first, second, third].sort());
    await page.context().close();
  });

  it('does not link a vehicle whose plate differs from the typed one in a letter that is not in ASCII', async () => {
    const number = uniqueName('').slice(1);
    await setup.createNamedVehicle(`F-${number}`);
    const { deviceId } = await createDevice(setup.platform.db, { applicationId: setup.application.id });
    const { page } = await setup.open(`/devices/${deviceId}`, await setup.accountOf('operator'));
    await page.getByLabel('Link to a vehicle').fill(`FÜ-${number}`);
    await page.getByRole('button', { name: 'Link', exact: true }).click();
    await page.getByText('No vehicle, or more than one, has this plate.').waitFor();
    const vehicleId = await setup.createNamedVehicle(`FÜ-${number}`);
    // As copied from a file name of macOS, in which ü is two characters.
    await page.getByLabel('Link to a vehicle').fill(`fü ${number}`.normalize('NFD'));
    await page.getByRole('button', { name: 'Link', exact: true }).click();
    await page.getByRole('row', { name: new RegExp(`FÜ-${number}.*now`) }).waitFor();
    const links = setup.platform.db.selectFrom('device_link').select('vehicle_id').where('device_id', '=', deviceId);
    expect(await links.execute()).toEqual([{ vehicle_id: Number(vehicleId) }]);
    await page.context().close();
  });

  it('shows a user of an application the devices of its vehicles, and no change', async () => {
    const [mine, other] = [
      await createVehicle(setup.platform.db, setup.application),
      await createVehicle(setup.platform.db, setup.application),
    ];
    const user = await createUser(setup.platform.db, setup.application, {
      ...{ vehicleIds: [mine.id], role: 'viewer', passwordHash: await hashPassword(password) },
    });
    const { page } = await watchPage(setup.browser, setup.platform.httpUrl);
    await page.goto('/devices');
    await page.getByText('Application user').click();
    await page.getByLabel('Application', { exact: true }).fill(setup.application.appId);
    await page.getByLabel('User name').fill(user.username);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('cell', { name: mine.deviceId }).waitFor();
    expect(await page.getByRole('cell', { name: other.deviceId }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Add a device' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Accounts' }).count()).toBe(0);
    await page.getByRole('link', { name: mine.deviceId }).click();
    await page.getByRole('heading', { name: 'Links' }).waitFor();
    expect(await page.getByRole('button', { name: /Unlink|secret|Delete/ }).count()).toBe(0);
    await page.context().close();
  });
});
