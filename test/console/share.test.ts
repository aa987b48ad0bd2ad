import { createApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createVehicle } from '@odograph/testkit/fixtures';
import { browserPath } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findOverflow, watchLoads, watchPage } from './browser.fixture.ts';
import { type ConsoleSetup, findAllBarriers, startConsole } from './console.fixture.ts';

let setup: ConsoleSetup;

beforeAll(async () => {
  setup = await startConsole();
}, 120_000);
afterAll(() => setup?.stop());

const phone = { viewport: { width: 390, height: 844 } };
const maxPageBytes = 50_000;

/** Stores a position of a vehicle that drives east. */
async function report(vehicleId: string, longitude: number): Promise<void> {
  const location = JSON.stringify({ latitude: 48.85661, longitude, speed: 43, angle: 90 });
  await sql`with stored as (insert into reading (time, application_id, vehicle_id, latitude, longitude, device_id, received_at)
      values (clock_timestamp(), ${setup.application.id}, ${Number(vehicleId)}, 48.85661, ${longitude}, '', now())
      returning vehicle_id, time)
    insert into vehicle_latest (vehicle_id, time, location, location_time, received_at)
    select vehicle_id, time, ${location}::jsonb, time, now() from stored on conflict (vehicle_id)
      do update set time = excluded.time, location = excluded.location, location_time = excluded.location_time`.execute(
    setup.platform.db,
  );
}

async function createShare(): Promise<{ vehicleId: string; id: string; url: string }> {
  const { platform, application } = setup;
  const { id: vehicleId } = await createVehicle(platform.db, application);
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const { body } = await platform.as(application.token).post('/v1/x/shares', { vehicleId, until });
  for (const step of [0, 1, 2, 3]) await report(vehicleId, 2.352 + step * 0.002);
  return { vehicleId, id: body.id, url: body.url };
}

describe.skipIf(browserPath === undefined)('the page of a share', () => {
  it('follows the vehicle, loads at most 50 kB from its own origin only, and ends when the share is revoked', async () => {
    const { vehicleId, id, url } = await createShare();
    const { page, errors, foreignRequests } = await watchPage(setup.browser, setup.platform.httpUrl, phone);
    const loads = watchLoads(page);
    const answer = await page.goto(url);
    expect(answer?.headers()).toMatchObject({ 'referrer-policy': 'no-referrer' });
    await page.getByText('48.85661, 2.35800').waitFor();
    await page.getByText('43 km/h').waitFor();
    await page.getByRole('heading', { name: 'Renault Zoe' }).waitFor();
    expect(await page.getByRole('link', { name: /map/ }).getAttribute('href')).toBe(
      'geo:48.85661,2.358?q=48.85661,2.358',
    );
    const bytes = await loads.total();
    expect(bytes).toBeGreaterThan(1000);
    expect(bytes).toBeLessThanOrEqual(maxPageBytes);
    expect(loads.paths).not.toContain(expect.stringContaining('/assets/'));
    expect(await findAllBarriers(page)).toEqual([]);
    expect(await findOverflow(page)).toEqual([]);

    await report(vehicleId, 2.37);
    await page.getByText('48.85661, 2.37000').waitFor();
    const french = await watchPage(setup.browser, setup.platform.httpUrl, { ...phone, locale: 'fr-FR' });
    await french.page.goto(url);
    await french.page.getByText('En direct').waitFor();
    const polish = await watchPage(setup.browser, setup.platform.httpUrl, { ...phone, locale: 'pl-PL' });
    await polish.page.goto(url);
    await polish.page.getByText('Na żywo do').waitFor();
    await polish.page.close();
    const { body } = await setup.admin.get(`/v1/x/shares?vehicleId=${vehicleId}`);
    expect(body.shares[0]).toMatchObject({ id, views: 3 });

    await createApiClient(setup.platform.httpUrl, { 'x-service-token': setup.application.token }).delete(
      `/v1/x/shares/${id}`,
    );
    for (const [one, text] of [
      [page, 'This link is unknown or has ended.'],
      [french.page, 'Ce lien est inconnu ou n’est plus valable.'],
    ] as const) {
      await one.getByText(text).waitFor();
      expect(await one.getByText('48.85661').count()).toBe(0);
    }
    expect([...errors, ...french.errors, ...foreignRequests, ...french.foreignRequests]).toEqual([]);
  });

  it('can be created, is shown once, and can be listed and revoked in the console', async () => {
    const { vehicleId, url } = await createShare();
    const operator = await setup.accountOf('operator');
    const { page, errors } = await setup.open(`/vehicles/${vehicleId}/access`, operator);
    await page.getByRole('cell', { name: 'active' }).waitFor();
    await page.getByLabel('Ends after').selectOption('4');
    await page.getByText('Approximate area only').click();
    await page.getByRole('button', { name: 'Share' }).click();
    const shown = page.getByText(/\/share#/);
    await shown.waitFor();
    expect(await shown.textContent()).not.toBe(url);
    await page.getByRole('row', { name: `operator:${operator}` }).waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Revoke' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('cell', { name: 'ended' }).waitFor();
    const { body } = await setup.admin.get(`/v1/x/shares?vehicleId=${vehicleId}`);
    expect(body.shares.map(({ gridMetres }: { gridMetres?: number }) => gridMetres ?? 0).sort()).toEqual([0, 500]);
    expect(errors).toEqual([]);
  });

  it('hides the position while location privacy is on', async () => {
    const { vehicleId, url } = await createShare();
    const { page } = await watchPage(setup.browser, setup.platform.httpUrl, phone);
    await page.goto(url);
    await page.getByText('48.85661, 2.35800').waitFor();
    await setup.platform.as(setup.application.token).post('/v1/vehicle/privacy/on', { vehicleId });
    await page.getByText('The position is private').waitFor();
    await eventually(async () => expect(await page.locator('svg').isVisible()).toBe(false));
  });
});
