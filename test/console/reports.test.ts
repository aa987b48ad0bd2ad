import { readFile } from 'node:fs/promises';
import { startMailServer, type TestMailServer } from '@odograph/mail/mail-server.fixture';
import { type ApiClient, clientWithToken } from '@odograph/testkit/api-client';
import { hasBrowser } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeTrip } from '../../services/query/reads/trips.fixture.ts';
import { type ConsoleSetup, findAllBarriers, startConsole } from './console.fixture.ts';

let server: TestMailServer;
let setup: ConsoleSetup;
let api: ApiClient;
let van: string;
const march = 'interval=own&from=2026-03-01&to=2026-03-31';

const trip = (vehicleId: string, startedAt: string, km: number) =>
  storeTrip(setup.platform.db, vehicleId, {
    ...{ started_at: startedAt, ended_at: new Date(Date.parse(startedAt) + 1_800_000).toISOString(), distance_km: km },
  });
const cellsOf = async (page: Page) => {
  await page.getByRole('table').waitFor();
  const rows = await page.getByRole('table').locator('tr:not(.spare)').all();
  return Promise.all(rows.map(async (row) => (await row.locator('th, td').allInnerTexts()).map((cell) => cell.trim())));
};

describe.skipIf(!hasBrowser)('the screen Reports', () => {
  beforeAll(async () => {
    server = await startMailServer();
    setup = await startConsole({ SMTP_URL: server.url, MAIL_FROM: 'Odograph <fleet@odograph.example>' });
    const { platform, application } = setup;
    api = clientWithToken(platform.httpUrl, application.token);
    // The application and the browser, which is in Paris, have different dates for one hour.
    await sql`update application set time_zone = 'Europe/London' where id = ${application.id}`.execute(platform.db);
    van = await setup.createNamedVehicle('VN-100-AA');
    const car = await setup.createNamedVehicle('CR-200-BB');
    await trip(van, '2026-03-02T08:00:00Z', 12.345);
    await trip(van, '2026-03-30T23:30:00Z', 1.5);
    await trip(car, '2026-03-03T08:00:00Z', 1250);
    await trip(car, '2026-04-02T08:00:00Z', 7);
  });
  afterAll(async () => {
    await setup?.stop();
    await server?.close();
  });

  it('shows the tables that the interface answers, in the time zone of the application', async () => {
    const { page, errors } = await setup.open(`/reports?${march}`, await setup.accountOf('viewer'));
    const { body } = await api.get('/v1/x/reports/trips?from=2026-03-01&until=2026-04-01');
    expect((await cellsOf(page)).slice(1).map((cells) => [cells[0], cells[2], cells[6]])).toEqual([
      ['CR-200-BB', '03/03/2026, 08:00', '1,250.00'],
      ['VN-100-AA', '02/03/2026, 08:00', '12.35'],
      ['VN-100-AA', '31/03/2026, 00:30', '1.50'],
    ]);
    await page.getByText('1 Mar 2026 – 31 Mar 2026, time zone Europe/London').waitFor();
    await page.getByRole('link', { name: 'By day' }).click();
    const days = (await cellsOf(page)).slice(1).map((cells) => [Number(cells[1]), Number(cells[2])]);
    // The table draws only the visible rows, below the first ones.
    const expected = body.days.map(({ dayHours, trips }: Record<string, number>) => [dayHours, trips]);
    expect(days.length).toBeGreaterThan(5);
    expect(days).toEqual(expected.slice(0, days.length));
    await page.getByRole('img', { name: 'Distance (km)' }).waitFor();
    await page.getByRole('link', { name: 'By vehicle' }).click();
    for (const order of ['ascending', 'descending'] as const) {
      await page.getByRole('button', { name: 'Distance (km)' }).click();
      await page.locator(`th[aria-sort=${order}]`).waitFor();
    }
    expect((await cellsOf(page)).slice(1).map(([plate]) => plate)).toEqual(['CR-200-BB', 'VN-100-AA']);
    expect(await findAllBarriers(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('keeps kind, interval and vehicles in the address', async () => {
    const { page } = await setup.open('/reports', await setup.accountOf('viewer'));
    await page.getByRole('combobox', { name: 'Report' }).selectOption('Stops');
    await page.getByLabel('Interval').selectOption('Other…');
    await page.getByLabel('First day').fill('2026-03-01');
    await page.getByLabel('Last day').fill('2026-03-31');
    await page.getByLabel('Search for a vehicle').fill('VN-100');
    await page.getByRole('button', { name: 'VN-100-AA' }).click();
    await page.waitForURL(new RegExp(`kind=stops.*vehicles=${van}`));
    await page.reload();
    await expect
      .poll(async () => (await cellsOf(page)).slice(1).map(([plate]) => plate))
      .toEqual(['VN-100-AA', 'VN-100-AA']);
    await page.getByLabel('Interval').selectOption('Last month');
    const london = new Date(new Date().toLocaleDateString('sv', { timeZone: 'Europe/London' }));
    const last = new Date(Date.UTC(london.getUTCFullYear(), london.getUTCMonth(), 0));
    const shown = last.toLocaleDateString('en-GB', {
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      timeZone: 'UTC',
    });
    await page.getByText(`– ${shown}, time zone`).waitFor();
    await page.context().close();
  });

  it('downloads the report as XLSX and PDF in the language of the console, and says why a file is refused', async () => {
    const { page } = await setup.open('/profile', await setup.accountOf('viewer'));
    await page.getByLabel('Language').selectOption('Français');
    await page.goto(`/reports?kind=mileage&${march}`);
    for (const format of ['XLSX', 'PDF']) {
      const [download, request] = await Promise.all([
        page.waitForEvent('download'),
        page.waitForRequest(/format=/),
        page.getByRole('button', { name: `Télécharger ${format}` }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(`mileage-2026-03-01-2026-03-31.${format.toLowerCase()}`);
      const content = await readFile(await download.path());
      expect(content.subarray(0, 4).toString()).toBe(format === 'PDF' ? '%PDF' : 'PK\x03\x04');
      expect(new URL(request.url()).searchParams.get('language')).toBe('fr');
    }
    const overloaded = { status: 503, json: { error: 'OVERLOADED', message: 'too many reports are being written' } };
    await page.route('**/v1/x/reports/mileage*', (route) => route.fulfill(overloaded));
    await page.getByRole('button', { name: 'Télécharger PDF' }).click();
    await page.getByRole('alert').getByText('too many reports are being written').waitFor();
    await page.context().close();
  });

  it('enters a trip into the mileage log, shows the entry as locked, and replaces it from the page of the vehicle', async () => {
    const start = new Date(Date.now() - 7_200_000).toISOString();
    const tripId = await trip(van, start, 21);
    const entered = async () => (await api.get(`/v1/x/vehicle/${van}/trips/${tripId}/mileage`)).body.entries;
    const { page, errors } = await setup.open(
      `/reports?kind=mileage&interval=thisWeek&vehicles=${van}`,
      await setup.accountOf('operator'),
    );
    await page.getByRole('button', { name: 'Enter: not entered' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: /^Mileage log: VN-100-AA, / }).waitFor();
    await dialog.getByLabel('Purpose').fill('Delivery of spare parts');
    await dialog.getByLabel('Business partner').fill('Dupont SARL, Lyon');
    expect(await findAllBarriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Enter' }).click();
    await page.getByRole('button', { name: 'Replace the entry: business' }).getByText('locked').waitFor();
    await page.getByRole('cell', { name: 'Delivery of spare parts' }).waitFor();
    expect(await entered()).toMatchObject([{ class: 'business', partner: 'Dupont SARL, Lyon', version: 1 }]);

    await page.goto(`/vehicles/${van}/trips?trip=${tripId}`);
    await page.getByRole('button', { name: 'Mileage log' }).click();
    await dialog.getByText('Entries are locked').waitFor();
    await dialog.getByText('private').click();
    expect(await dialog.getByLabel('Purpose').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Replace the entry' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Mileage log' }).click();
    const entries = dialog.getByRole('list', { name: 'Entries' }).getByRole('listitem');
    await entries.nth(1).waitFor();
    expect(await entries.allInnerTexts()).toEqual([
      expect.stringMatching(/^private\s+valid · entered by operator:/),
      expect.stringMatching(/^business · Delivery of spare parts\s+replaced · entered by/),
    ]);
    expect(await entered()).toHaveLength(2);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('creates, changes and deletes a schedule, and shows what late data has changed in a sent report', async () => {
    const { page, errors } = await setup.open('/reports/schedules', await setup.accountOf('administrator'));
    await page.getByText('No schedules yet').waitFor();
    await page.getByRole('button', { name: 'New schedule' }).click();
    await page.getByRole('combobox', { name: 'Report' }).selectOption('Fuel and energy');
    await page.getByLabel('Recipients').fill('ann@example.com, bob');
    expect(await findAllBarriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: 'recipients' }).waitFor();
    await page.getByLabel('Recipients').fill('ann@example.com\nbob@example.com');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Fuel and energy · every month · PDF' }).click();
    await page.getByText('Nothing has been sent yet.').waitFor();
    const [{ id }] = (await api.get('/v1/x/report-schedules')).body.schedules;
    await sql`with report as (insert into sent_report (application_id, schedule_id, due_at, from_at, until_at, state, accepted,
          attempts, sent_at, outdated_at)
        values (${setup.application.id}, ${id}, '2026-04-01T05:00Z', '2026-03-01T00:00Z', '2026-03-31T23:00Z', 'sent',
          '{ann@example.com}', 1, '2026-04-01T05:00Z', '2026-04-02T05:00Z') returning *)
      insert into sent_report_vehicle (application_id, schedule_id, due_at, vehicle_id, totals, changes)
      select application_id, schedule_id, due_at, ${van}::integer, '{"distanceKm": 13.845}', '{"distanceKm": [13.845, 20]}'
      from report`.execute(setup.platform.db);

    await page.getByRole('button', { name: 'Change' }).click();
    expect(await page.getByRole('combobox', { name: 'Report' }).isDisabled()).toBe(true);
    await page.getByText('every week').click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Fuel and energy · every week · PDF' }).waitFor();
    const sent = page.getByRole('list', { name: 'Sent reports' });
    await sent.getByText('1 Mar 2026 – 31 Mar 2026 · sent').waitFor();
    await sent.getByText('Outdated: late data has changed these totals.').waitFor();
    expect(await cellsOf(page)).toEqual([
      ['Vehicle', 'Total', 'As sent', 'Now'],
      ['VN-100-AA', 'Distance (km)', '13.85', '20'],
    ]);
    expect(await findAllBarriers(page)).toEqual([]);

    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No schedules yet').waitFor();
    expect((await api.get('/v1/x/report-schedules')).body.schedules).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('offers no schedules and no entries to a viewer', async () => {
    const { page } = await setup.open('/reports/schedules', await setup.accountOf('viewer'));
    await page.getByText('No schedules yet').waitFor();
    expect(await page.getByRole('button', { name: 'New schedule' }).count()).toBe(0);
    await page.goto(`/reports?kind=mileage&${march}`);
    await page.getByRole('cell', { name: 'not entered' }).first().waitFor();
    expect(await page.getByRole('button', { name: /^Enter/ }).count()).toBe(0);
    await page.context().close();
  });
});
