import { clientWithToken } from '@odograph/testkit/api-client';
import { createApplication } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';
import { closePages, findOverflow, startBrowser, type WatchedPage, watchPage } from './browser.fixture.ts';
import { createAccount, createTestFleet, openAs, reading, type TestFleet } from './fleet.fixture.ts';

let platform: TestPlatform;
let browser: Browser;
let fleet: TestFleet;
let name: string;
let api: ReturnType<typeof clientWithToken>;

async function open(path: string, account = name): Promise<WatchedPage> {
  const watched = await watchPage(browser, platform.httpUrl);
  await openAs(platform, watched, path, account);
  return watched;
}

const save = (page: Page) => page.getByRole('button', { name: 'Save' }).click();
const createRule = async (fields: object): Promise<string> =>
  (await api.post('/v1/x/alarm-rules', { parameters: {}, ...fields })).body.id;

describe.skipIf(!hasBrowser)('the screen Alarms', () => {
  beforeAll(async () => {
    [platform, browser] = await Promise.all([startTestPlatform(await loadServices()), startBrowser()]);
    fleet = await createTestFleet(platform);
    name = await createAccount(platform, fleet);
    api = clientWithToken(platform.httpUrl, fleet.application.token);
  });
  afterAll(async () => {
    await closePages(browser);
    await fleet?.stop();
    await platform?.stop();
  });

  it('a rule is created, raises an alarm that appears live on the list and the map, and the alarm is acknowledged', async () => {
    const { page, errors, foreignRequests } = await open('/alarms');
    await page.getByText('No alarms', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Rules' }).click();
    await page.getByRole('button', { name: 'New rule' }).click();
    await page.getByLabel('Name').fill('Motorway');
    await page.getByLabel('Speed above, km/h').fill('110');
    await save(page);
    await page.getByRole('listitem').filter({ hasText: 'the speed is above 110 km/h' }).waitFor();
    await page.getByRole('link', { name: 'Alarms' }).last().click();
    await page.getByText('Live', { exact: true }).waitFor();
    await fleet.moving.device.upload([reading({ speed: 132, driven: 40 })]);
    const row = page.getByRole('listitem').filter({ hasText: 'MV-100-AA' });
    await row.filter({ hasText: /Speed.*132 km\/h · Motorway.*open/ }).waitFor();
    await row.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByRole('dialog').getByLabel('Note').fill('Called the driver');
    await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).click();
    await row.getByText(`Acknowledged by operator:${name}`).waitFor();
    await row.getByText('Called the driver').waitFor();
    await page.getByRole('link', { name: 'Map' }).click();
    await page.getByRole('button', { name: /MV-100-AA Speed/ }).waitFor();
    await fleet.moving.device.upload([reading({ speed: 50, driven: 41 })]);
    await page.getByRole('button', { name: /MV-100-AA Moving/ }).waitFor();
    expect({ errors, foreignRequests }).toEqual({ errors: [], foreignRequests: [] });
    await page.context().close();
  });

  it('an alarm whose reading arrived late is shown as late, and the list is filtered by what its address says', async () => {
    const ruleId = await createRule({ name: 'Tow truck', kind: 'crash', vehicleIds: [fleet.parked.id] });
    await sql`update alarm_rule set active_from = now() - interval '2 hours' where id = ${ruleId}`.execute(platform.db);
    const late = { ...reading({ ago: 3600 }), alarms: { crash: true } };
    await fleet.parked.device.upload([late]);
    const { page } = await open('/alarms?state=open&kind=crash');
    const row = page.getByRole('listitem').filter({ hasText: 'PK-200-BB' });
    await row.getByText(/arrived 1 h 00 late/).waitFor();
    await page.getByLabel('State', { exact: true }).selectOption('Past');
    await page.waitForURL(/state=cleared/);
    await page.getByText('No alarm matches').waitFor();
    await page.getByLabel('State', { exact: true }).selectOption('Open and past');
    await row.waitFor();
    await page.getByText('Time and vehicle').click();
    await page.getByLabel('Search for a vehicle').fill('MV-100');
    await page.getByRole('button', { name: 'MV-100-AA' }).click();
    await page.waitForURL(new RegExp(`vehicle=${fleet.moving.id}`));
    await row.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByText('No alarm matches').isVisible()).toBe(true);
    await page.context().close();
  });

  it('shows the error and keeps the filters when the URL contains an invalid time', async () => {
    const { page, errors } = await open('/alarms?from=text');
    await page.getByText(/from must be/).waitFor();
    await page.getByLabel('From').fill('2026-01-01T00:00');
    await page.getByText(/from must be/).waitFor({ state: 'detached' });
    await page.goto('/alarms?until=%2B275760-09-13T00:00:00Z');
    await page.getByText(/until must be/).waitFor();
    await page.goto(`/replay?vehicles=${fleet.moving.id}&from=1e15&until=1e17`);
    await page.getByLabel('Until').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('the link of an alarm opens the replay of its vehicle at that moment', async () => {
    const ruleId = await createRule({ name: 'Walking pace', kind: 'crash', vehicleIds: [fleet.moving.id] });
    const raisedAt = new Date(Date.now() - 3_420_000);
    await sql`insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, cleared_at)
      values (${fleet.application.id}, ${ruleId}, ${Number(fleet.moving.id)}, 'crash', ${raisedAt}, ${raisedAt})`.execute(
      platform.db,
    );
    const { page } = await open('/alarms?kind=crash&state=cleared');
    await page
      .getByRole('listitem')
      .filter({ hasText: 'Walking pace' })
      .getByRole('link', { name: 'MV-100-AA' })
      .click();
    const slider = page.getByRole('slider');
    await expect.poll(() => slider.inputValue()).toBe(String(Math.floor(raisedAt.getTime() / 1000)));
    await page.context().close();
  });

  it('a time that includes a year does not overlap the rest of its row', async () => {
    const ruleId = await createRule({ name: 'Last year', kind: 'crash', vehicleIds: [fleet.parked.id] });
    await sql`insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, cleared_at)
      select ${fleet.application.id}, ${ruleId}, ${Number(fleet.parked.id)}, 'crash', at, at
      from (select now() - interval '400 days' as at) as one`.execute(platform.db);
    const { page } = await open('/alarms');
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByText('Last year').waitFor();
    expect(await findOverflow(page)).toEqual([]);
    await page.context().close();
  });

  it('a rule of every kind that needs no geofence is created and deleted', async () => {
    const { page } = await open('/alarms/rules');
    for (const [kind, fields, condition] of [
      ['Towing', {}, 'the vehicle is towed or moves with the ignition off'],
      ['Crash', {}, 'the device reports a crash'],
      ['Jamming', {}, 'the device reports jamming of its receivers'],
      ['Silent device', { 'Minutes without contact': '90' }, 'nothing is received for 1 h 30'],
      ['Low battery', { 'Charge below, %': '20' }, 'the charge is below 20 %'],
      ['Unanswered command', {}, 'a command ends without an answer from the device'],
    ] as const) {
      await page.getByRole('button', { name: 'New rule' }).click();
      await page.getByLabel('Name').fill(`Rule ${kind}`);
      await page.getByLabel('Kind').selectOption(kind);
      for (const [label, value] of Object.entries(fields)) await page.getByLabel(label).fill(value);
      await save(page);
      const row = page.getByRole('listitem').filter({ hasText: `Rule ${kind}` });
      await row.filter({ hasText: condition }).waitFor();
      await row.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await row.waitFor({ state: 'detached' });
    }
    await page.getByRole('button', { name: 'New rule' }).click();
    await page.getByLabel('Name').fill('Starter battery');
    await page.getByLabel('Kind').selectOption('Low battery');
    await page.getByText('voltage in the CAN data').click();
    await page.getByLabel('Voltage below, V').fill('11.85');
    await page.getByLabel('Key of the CAN datum').fill('battery_volts');
    await save(page);
    const volts = page.getByRole('listitem').filter({ hasText: 'battery_volts is below 11.85 V' });
    await volts.waitFor();
    expect(await volts.count()).toBe(1);
    await page.context().close();
  });

  /** A point of the map. @param right, down from its middle, CSS pixels */
  async function pointAt(page: Page, right: number, down: number): Promise<{ x: number; y: number }> {
    const canvas = page.getByLabel('Map of the geofences').locator('canvas');
    await canvas.waitFor();
    const { x = 0, y = 0, width = 0, height = 0 } = (await canvas.boundingBox()) ?? {};
    return { x: x + width / 2 + right, y: y + height / 2 + down };
  }
  async function drag(page: Page, from: { x: number; y: number }, to: { x: number; y: number }): Promise<void> {
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 5 });
    await page.mouse.up();
  }
  const numberIn = async (page: Page, label: string) =>
    Number(await page.getByLabel(label, { exact: true }).inputValue());

  it('a circle is drawn by a click, moved and resized by its handles, used in a rule, and stays while a rule uses it', async () => {
    const { page, errors } = await open('/alarms/geofences');
    await page.getByRole('button', { name: 'New circle' }).click();
    await page.getByLabel('Name').fill('Depot');
    const middle = await pointAt(page, 0, 0);
    // The map takes clicks once it has loaded.
    await expect
      .poll(async () => {
        await page.mouse.click(middle.x, middle.y);
        return page.getByLabel('Latitude').inputValue();
      })
      .not.toBe('');
    const [latitude, radius] = [await numberIn(page, 'Latitude'), await numberIn(page, 'Radius, m')];
    const edge = { x: middle.x + 70, y: middle.y };
    await drag(page, edge, { x: edge.x + 30, y: edge.y });
    await expect.poll(() => numberIn(page, 'Radius, m')).toBeGreaterThan(radius);
    await drag(page, middle, { x: middle.x, y: middle.y - 60 });
    await expect.poll(() => numberIn(page, 'Latitude')).toBeGreaterThan(latitude);
    await page.getByLabel('Latitude').fill('48.8566');
    await page.getByLabel('Longitude').fill('2.3522');
    await page.getByLabel('Radius, m').fill('400');
    await save(page);
    const row = page.getByRole('listitem').filter({ hasText: 'Depot' });
    await row.filter({ hasText: 'circle, 400 m' }).waitFor();
    await page.getByRole('link', { name: 'Rules' }).click();
    await page.getByRole('button', { name: 'New rule' }).click();
    await page.getByLabel('Name').fill('Leaves the depot');
    await page.getByLabel('Kind').selectOption('Geofence');
    await page.getByLabel('Geofence').selectOption('Depot');
    await page.getByLabel('Side').selectOption('outside');
    await save(page);
    await page.getByRole('listitem').filter({ hasText: 'the vehicle is outside Depot' }).waitFor();
    await page.getByRole('link', { name: 'Geofences' }).click();
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('the alarm rule "Leaves the depot" uses it').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('a click on the map opens a geofence that was drawn since the map was opened', async () => {
    const { page } = await open('/alarms/geofences');
    await page.getByLabel('Map of the geofences').locator('canvas').waitFor();
    await page.getByRole('button', { name: 'New circle' }).click();
    await page.getByLabel('Name').fill('Region');
    await page.getByLabel('Latitude').fill('48.8566');
    await page.getByLabel('Longitude').fill('2.3522');
    await page.getByLabel('Radius, m').fill('50000');
    await save(page);
    await page.getByRole('listitem').filter({ hasText: 'Region' }).waitFor();
    await expect
      .poll(async () => {
        const { x, y } = await pointAt(page, 60, 60);
        await page.mouse.click(x, y);
        return page.getByRole('form', { name: 'Region' }).count();
      })
      .toBe(1);
    await page.getByLabel('Radius, m').fill('40000');
    await save(page);
    await page.getByRole('listitem').filter({ hasText: 'circle, 40,000 m' }).waitFor();
    await page.context().close();
  });

  it('a polygon is drawn corner by corner, typed, corrected where the platform refuses it, and renamed', async () => {
    const { page, errors } = await open('/alarms/geofences');
    await page.getByRole('button', { name: 'New polygon' }).click();
    await page.getByLabel('Name').fill('Yard');
    const corners = page.getByRole('textbox').or(page.getByRole('spinbutton'));
    const first = await pointAt(page, -80, -80);
    await expect
      .poll(async () => {
        if ((await page.getByLabel(/^Latitude of corner/).count()) === 0) await page.mouse.click(first.x, first.y);
        return page.getByLabel(/^Latitude of corner/).count();
      })
      .toBe(1);
    for (const [index, [right, down]] of [
      [80, 80],
      [80, -80],
      [-80, 80],
    ].entries()) {
      const { x, y } = await pointAt(page, right ?? 0, down ?? 0);
      await page.mouse.click(x, y);
      await page.getByLabel(`Latitude of corner ${index + 2}`).waitFor();
    }
    await save(page);
    await page.getByText('geometry must not touch or cross itself').waitFor();
    const second = await pointAt(page, 80, 80);
    await page.mouse.click(second.x, second.y);
    await page.keyboard.press('Delete');
    await expect.poll(() => page.getByLabel(/^Latitude of corner/).count()).toBe(3);
    const before = await numberIn(page, 'Latitude of corner 2');
    const moved = await pointAt(page, 80, -80);
    await drag(page, moved, { x: moved.x, y: moved.y + 40 });
    await expect.poll(() => numberIn(page, 'Latitude of corner 2')).toBeLessThan(before);
    await page.getByRole('button', { name: 'Delete corner 3' }).click();
    await page.getByRole('button', { name: 'Add a corner' }).click();
    await page.getByLabel('Latitude of corner 3').fill('48.5');
    await page.getByLabel('Longitude of corner 3').fill('2.1');
    await save(page);
    const row = page.getByRole('listitem').filter({ hasText: 'Yard' });
    await row.filter({ hasText: 'polygon, 3 corners' }).waitFor();
    await row.getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('Name').fill('Back yard');
    await save(page);
    await page.getByRole('listitem').filter({ hasText: 'Back yard' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('listitem').filter({ hasText: 'Back yard' }).waitFor({ state: 'detached' });
    expect(errors).toEqual([]);
    expect(await corners.count()).toBe(0);
    await page.context().close();
  });

  it('a change does not overwrite that of another person: the difference is shown, and a person chooses', async () => {
    const id = await createRule({ name: 'City', kind: 'speed', parameters: { limitKmh: 150 } });
    const { page } = await open('/alarms/rules');
    await page.getByRole('button', { name: 'Change: City' }).click();
    await page.getByLabel('Speed above, km/h').fill('160');
    await api.put(`/v1/x/alarm-rules/${id}`, { name: 'Town', kind: 'speed', parameters: { limitKmh: 155 } });
    await save(page);
    const notice = page.getByRole('alert').filter({ hasText: 'Someone else has changed this in the meantime' });
    await notice.filter({ hasText: /City → Town/ }).waitFor();
    await notice.filter({ hasText: /150 km\/h → the speed is above 155 km\/h/ }).waitFor();
    const limitOf = async () => {
      const { rules } = (await api.get('/v1/x/alarm-rules')).body;
      return rules.find((rule: { id: string }) => rule.id === id)?.parameters.limitKmh;
    };
    expect(await limitOf()).toBe(155);
    await notice.getByRole('button', { name: 'Show their version' }).click();
    await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('Town');
    await page.getByLabel('Speed above, km/h').fill('165');
    await save(page);
    await page.getByRole('listitem').filter({ hasText: 'above 165 km/h' }).waitFor();
    expect(await limitOf()).toBe(165);
    await page.context().close();
  });

  it('an operator of several applications chooses one, and one who only reads changes nothing', async () => {
    await createApplication(platform.db);
    const all = await createAccount(platform, undefined, 'viewer');
    const { page } = await open('/alarms/rules', all);
    await page.getByLabel('Application').selectOption(fleet.application.appId);
    await page.waitForURL(new RegExp(`app=${fleet.application.appId}`));
    await page.getByRole('list', { name: 'Rules' }).getByText('Motorway').waitFor();
    expect(await page.getByRole('button', { name: 'New rule' }).count()).toBe(0);
    await page.context().close();
  });
});
