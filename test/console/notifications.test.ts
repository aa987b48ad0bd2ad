import { startMailServer, type TestMailServer } from '@odograph/mail/mail-server.fixture';
import { clientWithToken } from '@odograph/testkit/api-client';
import { hasBrowser } from '@odograph/testkit/programs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConsoleSetup, findAllBarriers, startConsole } from './console.fixture.ts';

const path = '/v1/x/notifications';
let server: TestMailServer;
let setup: ConsoleSetup;

describe.skipIf(!hasBrowser)('notifications on the screen Integrations', () => {
  beforeAll(async () => {
    server = await startMailServer();
    const mail = { SMTP_URL: server.url, MAIL_FROM: 'Odograph <fleet@odograph.example>' };
    setup = await startConsole(mail);
  });
  afterAll(async () => {
    await setup?.stop();
    await server?.close();
  });

  it('creates one whose test message arrives, shows a fault at its field, changes, pauses and deletes it', async () => {
    const api = clientWithToken(setup.platform.httpUrl, setup.application.token);
    const ruleId = (await api.post('/v1/x/alarm-rules', { name: 'Towed', kind: 'towing', parameters: {} })).body.id;
    const other = await api.post(path, { name: 'Boss', events: ['*'], email: 'boss@example.com', ruleIds: [ruleId] });
    const administrator = await setup.accountOf('administrator');
    const { page, errors } = await setup.open('/integrations/notifications', administrator);
    await page.getByRole('button', { name: 'New notification' }).click();
    const form = page.getByRole('form', { name: 'New notification' });
    await form.getByLabel('Name').fill('Night shift');
    await form.getByLabel('E-mail address').fill('ann@example.com');
    await form.getByLabel('silent').check();
    await form.getByLabel('Messages in an hour').fill('5');
    await form.getByLabel('Time zone').fill('Mars/Base');
    await form.getByRole('button', { name: 'Add a time window' }).click();
    await form.getByLabel('Alarms that nobody acknowledges').selectOption('Boss');
    await form.getByLabel('After minutes').fill('30');
    expect(await findAllBarriers(page)).toEqual([]);
    await form.getByRole('button', { name: 'Save' }).click();
    const zone = form.locator('.field', { has: page.getByLabel('Time zone') });
    await zone.getByRole('alert').filter({ hasText: 'must be UTC, GMT or an IANA time zone' }).waitFor();
    await form.getByLabel('Time zone').fill('Europe/Paris');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Night shift' }).click();

    await page.getByRole('button', { name: 'Send a test message' }).click();
    await page.getByText(/^The message was accepted after \d+ ms/).waitFor();
    expect(server.received.map(({ recipients }) => recipients)).toEqual([['ann@example.com']]);
    server.refused.add('ann@example.com');
    await page.getByRole('button', { name: 'Send a test message' }).click();
    await page.getByText(/^Not delivered: .*550/).waitFor();
    const log = page.getByRole('list', { name: 'Deliveries of the last three days' });
    await log.getByText('Notifications: test').nth(1).waitFor();
    await log.getByText('delivered', { exact: true }).waitFor();
    expect(await findAllBarriers(page)).toEqual([]);

    const listed = async () => (await api.get(path)).body.notifications;
    const night = (await listed()).find(({ name }: { name: string }) => name === 'Night shift');
    expect(night).toMatchObject({
      ...{ events: ['alarm.*', 'device.silent'], maxPerHour: 5, language: 'en', timeZone: 'Europe/Paris' },
      duty: [{ weekdays: [1, 2, 3, 4, 5], from: '08:00', until: '18:00' }],
      escalation: { notificationId: other.body.id, afterMinutes: 30 },
    });
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused', { exact: true }).waitFor();
    expect((await listed()).find(({ id }: { id: string }) => id === night.id)).toEqual({
      ...night,
      ...{ state: 'disabled', disabledReason: 'REQUESTED' },
    });
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('link', { name: 'Boss' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    const change = page.getByRole('form', { name: 'Change the notification' });
    await change.getByLabel('Name').fill('The boss');
    await change.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'The boss' }).waitFor();
    expect(await listed()).toMatchObject([{ name: 'The boss', target: 'boss@example.com', ruleIds: [ruleId] }]);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
