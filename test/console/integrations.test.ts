import { createEventService } from '@odograph/events/service';
import { endCommands, startReceiver, type TestReceiver, verify } from '@odograph/events/webhooks.fixture';
import { clientWithToken } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createGroup, createVehicle } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { settingsFor } from '../flows/gbfs.fixture.ts';
import { type ConsoleSetup, findAllBarriers, startConsole } from './console.fixture.ts';

const day = 86_400_000;
const waitMs = 60_000;
/** How far the clock of the events service is ahead of the wall clock. */
let aheadMs = 0;
let setup: ConsoleSetup;
const receivers: TestReceiver[] = [];

const secretShown = (page: Page) => page.getByRole('region', { name: 'Shown once' }).locator('dd code').nth(1);
const openAs = async (role: 'viewer' | 'administrator', path: string) => setup.open(path, await setup.accountOf(role));

describe.skipIf(!hasBrowser)('the screen Integrations', () => {
  beforeAll(async () => {
    const events = createEventService({ clock: () => new Date(Date.now() + aheadMs) });
    const mail = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'Odograph <fleet@odograph.example>' };
    setup = await startConsole({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', ...mail }, [events]);
  });
  afterEach(async () => {
    for (const receiver of receivers.splice(0)) await receiver.close();
  });
  afterAll(() => setup?.stop());

  it('creates a webhook, and lists a test delivery that its secret, shown once, verifies', async () => {
    const receiver = await startReceiver();
    receivers.push(receiver);
    const groupId = await createGroup(setup.platform.db, setup.application);
    const { page, errors } = await openAs('administrator', '/integrations');
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('Address').fill(receiver.url);
    await page.getByLabel('Group').selectOption(groupId);
    await page.getByLabel('Alarms', { exact: true }).check();
    await page.getByLabel('finished').check();
    await page.getByRole('button', { name: 'Save' }).click();
    const secret = await secretShown(page).innerText();
    await page.getByRole('link', { name: receiver.url }).click();
    await page.getByText('Alarms, Trips: finished').waitFor();
    expect(await page.getByText(secret).count()).toBe(0);
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByText(/^The receiver answered 204/).waitFor();
    const [received] = receiver.accepted;
    if (!received) throw new Error('nothing was received');
    verify(secret, received);
    const api = clientWithToken(setup.platform.httpUrl, setup.application.token);
    const { webhooks } = (await api.get('/v1/x/webhooks')).body;
    expect(webhooks).toMatchObject([{ groupId, types: ['alarm.*', 'trip.finished'] }]);
    const log = page.getByRole('list', { name: 'Deliveries of the last three days' });
    await log.getByText('Webhook: test').waitFor();
    await log.getByText('answered 204').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('shows and keeps the group of a webhook that is paused', async () => {
    const groupId = await createGroup(setup.platform.db, setup.application);
    const api = clientWithToken(setup.platform.httpUrl, setup.application.token);
    const { id } = (await api.post('/v1/x/webhooks', { url: 'https://127.0.0.1/', types: ['*'], groupId })).body;
    const { page } = await openAs('administrator', `/integrations?webhook=${id}`);
    await page.getByText('1 group').first().waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    expect((await api.get(`/v1/x/webhooks/${id}`)).body).toMatchObject({ groupId, state: 'disabled' });
    await page.context().close();
  });

  it('pausing a webhook or a notification keeps the changes of another person', async () => {
    const api = clientWithToken(setup.platform.httpUrl, setup.application.token);
    const webhook = { url: 'https://127.0.0.1/before', types: ['*'] };
    const { id: webhookId } = (await api.post('/v1/x/webhooks', webhook)).body;
    const notification = { name: 'Before', events: ['alarm.*'], email: 'ann@example.com' };
    const { id: notificationId } = (await api.post('/v1/x/notifications', notification)).body;
    const { page } = await openAs('administrator', `/integrations?webhook=${webhookId}`);
    const pause = async () => {
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByRole('button', { name: 'Resume' }).waitFor();
    };
    await page.getByRole('heading', { name: webhook.url }).waitFor();
    const changed = { url: 'https://127.0.0.1/after', types: ['alarm.*'] };
    expect((await api.put(`/v1/x/webhooks/${webhookId}`, { ...changed, enabled: true })).status).toBe(200);
    await pause();
    expect((await api.get(`/v1/x/webhooks/${webhookId}`)).body).toMatchObject({ ...changed, state: 'disabled' });
    await page.goto(`/integrations/notifications?notification=${notificationId}`);
    await page.getByRole('heading', { name: 'Before' }).waitFor();
    const after = { name: 'After', events: ['trip.finished'], enabled: true };
    const put = await api.put(`/v1/x/notifications/${notificationId}`, after);
    expect([put.status, put.body.message]).toEqual([200, undefined]);
    await pause();
    const { name, events, state } = (await api.get(`/v1/x/notifications/${notificationId}`)).body;
    expect({ name, events, state }).toEqual({ name: 'After', events: ['trip.finished'], state: 'disabled' });
    await page.context().close();
  });

  it('a change of a webhook or a notification does not resume one that another person has paused', async () => {
    const api = clientWithToken(setup.platform.httpUrl, setup.application.token);
    const webhook = { url: 'https://127.0.0.1/paused', types: ['*'] };
    const { id: webhookId } = (await api.post('/v1/x/webhooks', webhook)).body;
    const notification = { name: 'Night', events: ['alarm.*'], email: 'ann@example.com' };
    const { id: notificationId } = (await api.post('/v1/x/notifications', notification)).body;
    const { page } = await openAs('administrator', `/integrations?webhook=${webhookId}`);
    await page.getByRole('button', { name: 'Change' }).click();
    expect((await api.put(`/v1/x/webhooks/${webhookId}`, { ...webhook, enabled: false })).status).toBe(200);
    await page.getByLabel('Address').fill('https://127.0.0.1/changed');
    // The notice must compare with the version that the form was opened with, not with one that the page has loaded since.
    await page.waitForResponse((answer) => new URL(answer.url()).pathname === '/v1/x/webhooks');
    await page.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('alert')
      .filter({ hasText: /Active → Paused/ })
      .waitFor();
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Change' }).waitFor();
    expect((await api.get(`/v1/x/webhooks/${webhookId}`)).body).toMatchObject({
      ...{ url: 'https://127.0.0.1/changed', state: 'disabled' },
    });
    await page.goto(`/integrations/notifications?notification=${notificationId}`);
    await page.getByRole('button', { name: 'Change' }).click();
    const { email: _email, ...kept } = notification;
    expect((await api.put(`/v1/x/notifications/${notificationId}`, { ...kept, enabled: false })).status).toBe(200);
    await page.getByLabel('Name').fill('Late night');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Late night' }).waitFor();
    expect((await api.get(`/v1/x/notifications/${notificationId}`)).body.state).toBe('disabled');
    await page.context().close();
  });

  it('lists a dead letter, and sends it again', { timeout: 2 * waitMs }, async () => {
    let isRefused = true;
    const receiver = await startReceiver((_received, response) => {
      if (isRefused) response.statusCode = 400;
    });
    receivers.push(receiver);
    const vehicle = await createVehicle(setup.platform.db, setup.application);
    const api = clientWithToken(setup.platform.httpUrl, setup.application.token);
    const { id } = (await api.post('/v1/x/webhooks', { url: receiver.url, types: ['command.ended'] })).body;
    await endCommands(setup.platform.db, vehicle, 1);
    // The failure must be recorded before the clock jumps: three days count from there.
    await eventually(async () => {
      expect((await api.get(`/v1/x/webhooks/${id}`)).body.lastError).toBe('answered 400');
    }, waitMs);
    // The next attempts are due after pauses that grow.
    aheadMs = 3 * day;
    await eventually(async () => {
      aheadMs += 60_000;
      expect((await api.get(`/v1/x/webhooks/${id}`)).body.deadLetters).toBe(1);
    }, waitMs);
    const { page } = await openAs('administrator', `/integrations?webhook=${id}`);
    isRefused = false;
    const deadLetters = page.getByRole('region', { name: 'Dead letters' });
    await deadLetters.getByText('answered 400').waitFor();
    await deadLetters.getByRole('button', { name: 'Send again' }).click();
    await deadLetters.getByText('1 event is being sent again.').waitFor();
    await eventually(async () => {
      aheadMs += 60_000;
      expect(receiver.accepted).toHaveLength(1);
    }, waitMs);
    await page.reload();
    await deadLetters.getByText(/^None\./).waitFor();
    await page.context().close();
  });

  it('creates a source with a secret shown once, and stores readings sent to the shown address', async () => {
    const vehicle = await createVehicle(setup.platform.db, setup.application, { model: 'osmand' });
    const { page, errors } = await openAs('administrator', '/integrations/sources');
    await page.getByRole('button', { name: 'New source' }).click();
    await page.getByLabel('System or app').selectOption('osmand');
    await page.getByRole('button', { name: 'New source' }).click();
    const source = page.getByRole('region', { name: 'Settings for Traccar Client and OsmAnd' });
    await source.getByLabel('Device id of the phone').fill(vehicle.deviceId);
    await source.getByRole('img', { name: 'QR code of the settings for Traccar Client' }).waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    const [secret = '', address = ''] = await source.locator('dd code').allInnerTexts();
    expect(address).toBe(`${setup.platform.httpUrl}/in/osmand/${vehicle.deviceId}?secret=${secret}`);
    const seconds = Math.floor(Date.now() / 1000);
    const { status } = await fetch(`${address}&lat=48.85&lon=2.35&timestamp=${seconds}`);
    expect(status).toBe(200);
    await eventually(async () => {
      const { rows } = await sql`select from reading where vehicle_id = ${Number(vehicle.id)}`.execute(
        setup.platform.db,
      );
      expect(rows).toHaveLength(1);
    }, waitMs);
    await source.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Show settings' }).click();
    await source.getByText('SECRET stands for it here').waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('publishes an application as GBFS, shows a fault at its field, and keeps members without a field', async () => {
    const { page } = await openAs('administrator', '/integrations/gbfs');
    const settings = page.getByRole('form', { name: 'Settings' });
    await settings.getByText('Settings as a file').click();
    const file = JSON.stringify({ system: { start_date: '2026-03-02', feed_contact_email: 'data@share.example' } });
    await settings
      .getByLabel('Open a file')
      .setInputFiles({ name: 'gbfs.json', mimeType: 'application/json', buffer: Buffer.from(file) });
    await settings.getByText('system.start_date').waitFor();
    await settings.getByLabel('Time zone').fill('Mars/Base');
    await page.getByRole('button', { name: 'Publish' }).click();
    const zone = settings.locator('.field', { has: page.getByLabel('Time zone') });
    await zone.getByRole('alert').filter({ hasText: 'must be UTC, GMT or an IANA time zone' }).waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    await settings.getByLabel('Time zone').fill('Europe/Paris');
    await settings.getByLabel('Price per minute').waitFor({ state: 'detached' });
    await settings.getByRole('button', { name: 'Add a vehicle type' }).click();
    const added = settings.getByRole('region', { name: 'Vehicle type 2' });
    await added.getByLabel('Type id').fill('bike');
    await added.getByLabel('Form').selectOption('bicycle');
    await added.getByLabel('Propulsion').selectOption('human');
    await page.getByRole('button', { name: 'Publish' }).click();
    const published = page.getByRole('region', { name: 'Published' });
    const address = await published.locator('dd code').innerText();
    expect((await fetch(address)).status).toBe(200);
    expect(await findAllBarriers(page)).toEqual([]);
    const { appId } = setup.application;
    expect((await setup.admin.get(`/v1/x/admin/gbfs/${appId}`)).body.settings).toMatchObject({
      system: { start_date: '2026-03-02', timezone: 'Europe/Paris' },
      vehicleTypes: [{ vehicle_type_id: 'car' }, { vehicle_type_id: 'bike', propulsion_type: 'human' }],
    });
    await page.getByRole('button', { name: 'Stop publishing' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop publishing' }).click();
    await page.getByText('This application is not published').waitFor();
    expect((await setup.admin.get(`/v1/x/admin/gbfs/${appId}`)).body.error).toBe('NOT_FOUND');
    await page.context().close();
  });

  it('keeps texts and later prices of GBFS settings while their languages and first price are typed again', async () => {
    const { appId } = setup.application;
    const path = `/v1/x/admin/gbfs/${appId}`;
    const settings = settingsFor(`kept-${appId}`);
    const operator = ['en', 'fr'].map((language) => ({ text: `Operator ${language}`, language }));
    const [plan] = settings.pricingPlans;
    const later = { start: 60, rate: 0.1, interval: 1 };
    const own = {
      system: {
        ...settings.system,
        languages: ['en'],
        operator: operator.slice(0, 1),
        short_name: operator.slice(0, 1),
      },
      pricingPlans: [{ ...plan, per_min_pricing: [...plan.per_min_pricing, later] }],
    };
    expect((await setup.admin.put(path, { ...settings, ...own, appId })).status).toBe(200);
    const { page } = await openAs('administrator', '/integrations/gbfs');
    const form = page.getByRole('form', { name: 'Settings' });
    const languages = form.getByLabel('Languages');
    await languages.fill('e');
    await languages.fill('en');
    await form.getByLabel('Price per minute').fill('');
    await form.getByLabel('Price per minute').fill('0.25');
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await form.getByText('Saved.').waitFor();
    const saved = (await setup.admin.get(path)).body.settings;
    expect(saved.system).toEqual(own.system);
    expect(saved.pricingPlans[0].per_min_pricing).toEqual([{ start: 0, rate: 0.25, interval: 1 }, later]);
    await form.getByText('Settings as a file').click();
    const buffer = Buffer.from(
      JSON.stringify({ ...saved, system: { ...saved.system, languages: ['en', 'fr'], operator } }),
    );
    await form.getByLabel('Open a file').setInputFiles({ name: 'gbfs.json', mimeType: 'application/json', buffer });
    await form.getByLabel('Operator (fr)').waitFor();
    expect(await languages.inputValue()).toBe('en fr');
    await languages.fill('en');
    await form.getByLabel('Price per minute').fill('');
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await form.getByText('Saved.').waitFor();
    const changed = (await setup.admin.get(path)).body.settings;
    expect(changed.system).toEqual(own.system);
    expect(changed.pricingPlans[0]).not.toHaveProperty('per_min_pricing');
    await setup.admin.delete(path);
    await page.context().close();
  });

  it('does not overwrite GBFS settings that another person has changed, nor publish again what another has ended', async () => {
    const { appId } = setup.application;
    const path = `/v1/x/admin/gbfs/${appId}`;
    const settings = settingsFor(`two-${appId}`);
    const store = async (changes: object) => {
      const { status } = await setup.admin.put(path, {
        ...settings,
        system: { ...settings.system, ...changes },
        appId,
      });
      expect(status).toBe(200);
    };
    const stored = async () => (await setup.admin.get(path)).body.settings.system;
    await store({});
    const { page } = await openAs('administrator', '/integrations/gbfs');
    const form = page.getByRole('form', { name: 'Settings' });
    const save = () => form.getByRole('button', { name: 'Save', exact: true }).click();
    const notice = form.getByRole('alert').filter({ hasText: 'Someone else has' });
    await form.getByLabel('Phone number').fill('+33123456789');
    await store({ opening_hours: 'Mo-Fr 08:00-18:00' });
    await save();
    await notice.filter({ hasText: /system\.opening_hours.*Mo-Fr 08:00-18:00/ }).waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    expect(await stored()).not.toHaveProperty('phone_number', '+33123456789');
    await notice.getByRole('button', { name: 'Show their version' }).click();
    await form.getByLabel('Phone number').fill('+33123456789');
    await save();
    await form.getByText('Saved.').waitFor();
    expect(await stored()).toMatchObject({ opening_hours: 'Mo-Fr 08:00-18:00', phone_number: '+33123456789' });
    await form.getByLabel('Phone number').fill('+33123456780');
    await save();
    await expect.poll(async () => (await stored()).phone_number).toBe('+33123456780');
    await form.getByText('Saved.').waitFor();
    expect((await setup.admin.delete(path)).status).toBe(200);
    await save();
    await notice.filter({ hasText: 'Nothing was saved' }).waitFor();
    expect((await setup.admin.get(path)).body.error).toBe('NOT_FOUND');
    await page.context().close();
  });

  it('lets a viewer only read', async () => {
    const { page } = await openAs('viewer', '/integrations');
    await page
      .getByRole('link', { name: /in-the-query/ })
      .first()
      .click();
    await page.getByRole('region', { name: 'Dead letters' }).waitFor();
    expect(await page.getByRole('main').getByRole('button').allInnerTexts()).toEqual(['All webhooks']);
    await page.getByRole('link', { name: 'Sources' }).click();
    await page.getByRole('button', { name: 'Show settings' }).waitFor();
    expect(await page.getByRole('main').getByRole('button').allInnerTexts()).toEqual(['Show settings']);
    await page.context().close();
  });
});
