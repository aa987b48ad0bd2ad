import { readFile } from 'node:fs/promises';
import { eventually } from '@odograph/testkit/eventually';
import { createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeSeries } from '../../services/query/query.fixture.ts';
import { type ConsoleSetup, findAllBarriers, startConsole } from './console.fixture.ts';

let setup: ConsoleSetup;
let vehicle: TestVehicle;
const readings = 40;
const waitMs = 60_000;

describe.skipIf(!hasBrowser)('exports', () => {
  beforeAll(async () => {
    setup = await startConsole();
    const { platform, application } = setup;
    vehicle = await createVehicle(platform.db, application);
    const now = new Date();
    const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 10)).toISOString();
    await storeSeries(platform.db, { applicationId: application.id, vehicleId: vehicle.id, start, count: readings });
    await sql`insert into vehicle_latest (vehicle_id, earliest_time, time, received_at)
      select vehicle_id, min(time), max(time), now() from reading
      where vehicle_id = ${vehicle.id}::integer group by 1`.execute(platform.db);
  });
  afterAll(() => setup?.stop());

  it('give last month of a vehicle as CSV in three clicks from its page, and can be deleted', async () => {
    const { page, errors } = await setup.open(`/vehicles/${vehicle.id}`, await setup.accountOf('operator'));
    await page.getByRole('link', { name: 'Export', exact: true }).click();
    await page.getByRole('button', { name: 'Create export' }).click();
    const file = page.getByRole('link', { name: /^Download: .*Readings · CSV/ });
    await file.waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), file.click()]);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
    expect([lines.length, lines[0]?.startsWith('vehicle,time,')]).toEqual([readings + 1, true]);
    await page.getByRole('button', { name: /^Delete: / }).click();
    await page.getByText('No exports').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('cannot be created by a viewer', async () => {
    const { page } = await setup.open('/exports', await setup.accountOf('viewer'));
    await page.getByRole('heading', { name: 'Files' }).waitFor();
    expect(await page.getByRole('button', { name: 'Create export' }).count()).toBe(0);
    await page.context().close();
  });
});

describe.skipIf(!hasBrowser)('the import of history', () => {
  beforeAll(async () => {
    setup = await startConsole();
    vehicle = await createVehicle(setup.platform.db, setup.application);
  });
  afterAll(() => setup?.stop());

  const countReadings = async () => {
    const query = sql`select from reading where vehicle_id = ${vehicle.id}::integer`;
    return (await query.execute(setup.platform.db)).rows.length;
  };
  const chooseFile = async (page: Page, name: string, lines: readonly string[]) => {
    await page.getByLabel('File').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) });
    await page.getByLabel('Vehicle for all rows').fill(vehicle.id);
  };

  it('stores the rows of a CSV file with mapped columns, and lists faults by line', async () => {
    const { page, errors } = await setup.open('/exports/imports', await setup.accountOf('operator'));
    await chooseFile(page, 'other.csv', [
      'when;latitude;longitude;kmh;driver',
      '2024-05-01T08:00:00Z;48.1;2.1;10;a',
      '2024-05-01T08:00:01Z;98.1;2.1;10;a',
      'yesterday;48.1;2.1;10;a',
    ]);
    await page.getByText('Choose the column that contains the time.').waitFor();
    await page.getByLabel('when').selectOption('time');
    await page.getByLabel('kmh').selectOption('speed');
    expect(await findAllBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByText('The whole file has been read.').waitFor();
    await page.getByText('rows: 3, readings accepted: 2, faults: 2').waitFor();
    const rows = page.getByRole('region', { name: 'Faults by line' }).getByRole('row');
    expect(await rows.allInnerTexts()).toEqual([
      expect.stringContaining('Line'),
      expect.stringMatching(/^3\s+latitude\s+location\.latitude must be at most 90/),
      expect.stringMatching(/^4\s+when\s+must be ISO 8601 or UNIX time/),
    ]);
    for (const width of [390, 820, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
    expect(await findAllBarriers(page)).toEqual([]);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save the faults as CSV' }).click(),
    ]);
    expect((await readFile(await download.path(), 'utf8')).split('\r\n')).toHaveLength(3);
    await eventually(async () => expect(await countReadings()).toBe(2), waitMs);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('waits while the platform is overloaded, and resumes where it was stopped', async () => {
    const { page } = await setup.open('/exports/imports', await setup.accountOf('operator'));
    const overloaded = { status: 503, json: { error: 'OVERLOADED', message: 'late uploads are waiting to be stored' } };
    await page.route('**/v1/x/admin/import', (route) => route.fulfill(overloaded));
    const stored = await countReadings();
    const times = Array.from({ length: 1500 }, (_, row) => JSON.stringify({ timestamp: 1_714_600_000 + row }));
    await chooseFile(page, 'history.ndjson', times);
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByText('late uploads are waiting to be stored').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('rows: 0, readings accepted: 0, faults: 0').waitFor();
    await page.unroute('**/v1/x/admin/import');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('rows: 1,500, readings accepted: 1,500, faults: 0').waitFor();
    await eventually(async () => expect(await countReadings()).toBe(stored + times.length), waitMs);
    await page.context().close();
  });

  it('is not offered to a viewer', async () => {
    const { page } = await setup.open('/exports/imports', await setup.accountOf('viewer'));
    await page.getByRole('heading', { name: 'Files' }).waitFor();
    expect(await page.getByRole('link', { name: 'History import' }).count()).toBe(0);
    await page.context().close();
  });
});
