import { readFile } from 'node:fs/promises';
import { createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeSeries } from '../../services/query/query.fixture.ts';
import { type ConsoleSetup, findAllBarriers, startConsole } from './console.fixture.ts';

let setup: ConsoleSetup;
let vehicle: TestVehicle;
const readings = 40;

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
    for (const width of [390, 820, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
    expect(await findAllBarriers(page)).toEqual([]);
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
