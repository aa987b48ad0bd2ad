import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createVehicle } from '@odograph/testkit/fixtures';
import { createPmtiles } from '@odograph/testkit/pmtiles';
import { hasBrowser } from '@odograph/testkit/programs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeLatest } from '../../services/query/query.fixture.ts';
import { type ConsoleSetup, startConsole } from './console.fixture.ts';
import { createAccount } from './fleet.fixture.ts';

let setup: ConsoleSetup;

describe.skipIf(!hasBrowser)('the settings of the map', () => {
  beforeAll(async () => {
    setup = await startConsole();
  });
  afterAll(() => setup?.stop());

  it('lead an administrator to the command for the area of the fleet, and use an uploaded map at once', async () => {
    const { platform, application, directory, open } = setup;
    const vehicle = await createVehicle(platform.db, application);
    await storeLatest(platform.db, vehicle.id, '2025-03-01T08:00:00Z', { location: { latitude: 48, longitude: 2 } });
    // Other tests have vehicles elsewhere.
    const { page, errors } = await open('/map', await createAccount(platform, undefined, 'administrator'));
    await page.getByRole('link', { name: 'Add a street map' }).click();
    const command = await page.getByText(/npx odograph map download --bbox/).innerText();
    const [west = 0, south = 0, east = 0, north = 0] = (/[\d.,-]+$/.exec(command.trim())?.[0] ?? '')
      .split(',')
      .map(Number);
    expect([west <= 1.8, south <= 47.8, east >= 2.2, north >= 48.2]).toEqual([true, true, true, true]);

    const file = join(directory, 'area.pmtiles');
    await writeFile(file, 'no map');
    await page.getByLabel('PMTiles file').setInputFiles(file);
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByRole('alert').getByText('is not a PMTiles file').waitFor();
    await writeFile(file, '');
    await page.getByLabel('PMTiles file').setInputFiles(file);
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByRole('alert').getByText('size').waitFor();
    await writeFile(file, createPmtiles());
    await page.getByLabel('PMTiles file').setInputFiles(file);
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.getByText('The map is in use.').waitFor();
    await page.getByText('Streets from a file on the platform').waitFor();
    await page.getByText('Survey of Testland').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('show other people only the current map', async () => {
    const { page } = await setup.open('/map/settings', await setup.accountOf('administrator'));
    await page.getByText('Only an administrator of the whole platform can change the map.').waitFor();
    expect(await page.getByRole('button', { name: 'Upload' }).count()).toBe(0);
    await page.context().close();
  });
});
