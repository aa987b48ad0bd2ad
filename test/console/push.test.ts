import { createECDH } from 'node:crypto';
import { clientWithToken } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { watchPage } from './browser.fixture.ts';
import { type ConsoleSetup, findAllBarriers, startConsole } from './console.fixture.ts';
import { createAccount, openAs } from './fleet.fixture.ts';

const path = '/v1/x/notifications';
const screen = '/integrations/notifications';
const waitMs = 30_000;
let setup: ConsoleSetup;

/** Opens the notifications in a browser that runs the service worker. */
async function openNotifications() {
  const { browser, platform } = setup;
  const watched = await watchPage(browser, platform.httpUrl, {
    serviceWorkers: 'allow',
    permissions: ['notifications'],
  });
  const context = watched.page.context();
  const started = context.waitForEvent('serviceworker');
  await openAs(platform, watched, screen, await setup.accountOf('administrator'));
  await watched.page.evaluate('navigator.serviceWorker.ready.then(() => true)');
  return { ...watched, worker: await started };
}

/** Finds the service worker for the debugger, which delivers messages as the push service of the browser does. */
async function attachPushService(page: Page): Promise<(message: object) => Promise<void>> {
  const client: CDPSession = await page.context().newCDPSession(page);
  const found = new Promise<string>((resolve) => {
    client.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: [first] }) => {
      if (first) resolve(first.registrationId);
    });
  });
  await client.send('ServiceWorker.enable');
  const registrationId = await found;
  const origin = setup.platform.httpUrl;
  return async (message) => {
    await client.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data: JSON.stringify(message) });
  };
}

interface Shown {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  readonly data: { readonly url: string };
}

/** The headless shell of Chromium has no notifications; full Chromium does. */
const keepShown = `if (Notification.permission !== 'granted') {
  const shown = [];
  ServiceWorkerRegistration.prototype.showNotification = async (title, options) => shown.push({ title, ...options });
  ServiceWorkerRegistration.prototype.getNotifications = async () => shown;
}`;
const readShown = `registration.getNotifications()
  .then((shown) => shown.map(({ title, body, tag, data }) => ({ title, body, tag, data })))`;
const permit = "Object.defineProperty(Notification, 'permission', { value: 'granted' })";

/** Builds a script that replaces the browser vendor's push service with a subscription. */
function subscriptionScript(endpoint: string): string {
  const subscription = {
    endpoint,
    expirationTime: null,
    keys: { p256dh: createECDH('prime256v1').generateKeys('base64url'), auth: 'A'.repeat(22) },
  };
  return `{
    const subscription = { ...${JSON.stringify(subscription)},
      unsubscribe: async () => { globalThis.isUnsubscribed = true; } };
    Object.defineProperty(subscription, 'toJSON', { value: () => (${JSON.stringify(subscription)}) });
    PushManager.prototype.subscribe = async () => subscription;
    PushManager.prototype.getSubscription = async () => subscription;
  }`;
}

describe.skipIf(!hasBrowser)('push messages', () => {
  beforeAll(async () => {
    setup = await startConsole();
  });
  afterAll(() => setup?.stop());

  it('are shown by the service worker with their tag, and link only to the console', async () => {
    const { page, errors, worker } = await openNotifications();
    const deliver = await attachPushService(page);
    const origin = setup.platform.httpUrl;
    const message = { title: 'AB-123-CD: towing', body: 'Time: 10:00', tag: '0', url: `${origin}/alarms` };
    await worker.evaluate(keepShown);
    const foreign = ['https://evil.example/alarms', 'javascript:alert(1)', undefined];
    for (const [tag, url] of [message.url, ...foreign].entries()) await deliver({ ...message, tag: String(tag), url });
    const shown = await eventually(async () => {
      const found = (await worker.evaluate(readShown)) as Shown[];
      expect(found).toHaveLength(4);
      return found.sort((one, other) => one.tag.localeCompare(other.tag));
    }, waitMs);
    const { url, ...text } = message;
    expect(shown[0]).toEqual({ ...text, data: { url } });
    const links = shown.slice(1).map(({ data }) => new URL(data.url).href);
    expect(links).toEqual(foreign.map(() => `${origin}/`));
    // Only a user click may open a window.
    const opened = await worker.evaluate(`(async () => {
      const opened = [];
      clients.openWindow = async (url) => opened.push(url);
      await openLink(${JSON.stringify(message.url)});
      return opened;
    })()`);
    expect(opened).toEqual([message.url]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('start and stop by a button, and follow the browser to a new subscription', async () => {
    const api = clientWithToken(setup.platform.httpUrl, setup.application.token);
    const { page, errors, worker } = await openNotifications();
    await page.addInitScript(`${permit}; ${subscriptionScript('https://push.example/1')}`);
    await page.reload();
    await page.getByRole('button', { name: 'Notify this browser' }).click();
    const form = page.getByRole('form', { name: 'New notification' });
    await form.getByLabel('Name').fill('Office');
    expect(await form.getByLabel('Sent by').inputValue()).toBe('push');
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Stop notifying this browser' }).waitFor();
    const created = (await api.get(path)).body.notifications;
    expect(created).toMatchObject([{ name: 'Office', channel: 'push', target: 'push.example', events: ['alarm.*'] }]);
    expect(await findAllBarriers(page)).toEqual([]);

    await worker.evaluate(subscriptionScript('https://other.example/2'));
    await page.reload();
    await eventually(async () => {
      expect((await api.get(path)).body.notifications).toMatchObject([{ name: 'Office', target: 'other.example' }]);
    }, waitMs);

    await page.getByRole('button', { name: 'Stop notifying this browser' }).click();
    await page.getByRole('dialog').getByText('Office').waitFor();
    await page.getByRole('dialog').getByRole('button').last().click();
    await page.getByRole('button', { name: 'Notify this browser' }).waitFor();
    expect((await api.get(path)).body.notifications).toEqual([]);
    expect(await page.evaluate('globalThis.isUnsubscribed')).toBe(true);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('replace a subscription to a former key of the installation', async () => {
    const api = clientWithToken(setup.platform.httpUrl, setup.application.token);
    const { page } = await openNotifications();
    const former = `{ const { subscribe } = PushManager.prototype;
      PushManager.prototype.subscribe = async (options) => {
        if (!globalThis.isUnsubscribed) throw new DOMException('another key', 'InvalidStateError');
        return subscribe(options);
      }; }`;
    await page.addInitScript(`${permit}; ${subscriptionScript('https://push.example/1')} ${former}`);
    await page.reload();
    await page.getByRole('button', { name: 'Notify this browser' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Stop notifying this browser' }).waitFor();
    const [{ id, channel }] = (await api.get(path)).body.notifications;
    expect(channel).toBe('push');
    await api.delete(`${path}/${id}`);
    await page.context().close();
  });

  it('follow the browser although an administrator of another application opens the console first', async () => {
    const api = clientWithToken(setup.platform.httpUrl, setup.application.token);
    const watched = await openNotifications();
    const { page, worker } = watched;
    await page.addInitScript(`${permit}; ${subscriptionScript('https://push.example/1')}`);
    await page.reload();
    await page.getByRole('button', { name: 'Notify this browser' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Stop notifying this browser' }).waitFor();
    const [{ id }] = (await api.get(path)).body.notifications;
    await worker.evaluate(subscriptionScript('https://other.example/2'));
    const other = { application: await createApplication(setup.platform.db) };
    const stranger = await createAccount(setup.platform, other, 'administrator');
    await openAs(setup.platform, watched, '/profile', stranger);
    await worker.evaluate('renewSubscription()');
    expect((await api.get(path)).body.notifications).toMatchObject([{ id, target: 'push.example' }]);
    await openAs(setup.platform, watched, '/profile', await setup.accountOf('administrator'));
    await worker.evaluate('renewSubscription()');
    expect((await api.get(path)).body.notifications).toMatchObject([{ id, target: 'other.example' }]);
    await api.delete(`${path}/${id}`);
    await page.context().close();
  });

  it('go to the new subscription even if the application of another notification is deleted', async () => {
    const api = clientWithToken(setup.platform.httpUrl, setup.application.token);
    const { page, worker } = await openNotifications();
    await page.addInitScript(`${permit}; ${subscriptionScript('https://push.example/1')}`);
    await page.reload();
    await page.getByRole('button', { name: 'Notify this browser' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Stop notifying this browser' }).waitFor();
    await worker.evaluate(subscriptionScript('https://other.example/2'));
    await worker.evaluate(`(async () => {
      PushManager.prototype.getSubscription = async () => null;
      const cache = await caches.open('push');
      const { notifications } = await (await cache.match('/subscription')).json();
      const deleted = { id: crypto.randomUUID(), appId: 'deleted', endpoint: notifications[0].endpoint };
      await cache.put('/subscription', Response.json({ notifications: [deleted, ...notifications] }));
      await renewSubscription();
    })()`);
    const { notifications } = (await api.get(path)).body;
    expect(notifications).toMatchObject([{ target: 'other.example' }]);
    await api.delete(`${path}/${notifications[0].id}`);
    await page.context().close();
  });

  it('follow the browser although a later notification has its new subscription already', async () => {
    const api = clientWithToken(setup.platform.httpUrl, setup.application.token);
    const { page, worker } = await openNotifications();
    await page.addInitScript(`${permit}; ${subscriptionScript('https://push.example/1')}`);
    await page.reload();
    await page.getByRole('button', { name: 'Notify this browser' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Stop notifying this browser' }).waitFor();
    await page.evaluate(subscriptionScript('https://other.example/2'));
    await page.getByRole('button', { name: 'New notification' }).click();
    await page.getByLabel('Sent by').selectOption('push');
    await page.getByRole('button', { name: 'Save' }).click();
    const list = async (): Promise<{ id: string; target: string }[]> => (await api.get(path)).body.notifications;
    await expect.poll(async () => (await list()).length).toBe(2);
    await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
    await worker.evaluate(subscriptionScript('https://other.example/2'));
    await worker.evaluate('renewSubscription()');
    const notifications = await list();
    expect(notifications.map(({ target }) => target)).toEqual(['other.example', 'other.example']);
    for (const { id } of notifications) await api.delete(`${path}/${id}`);
    await page.context().close();
  });

  it('are not offered in a browser that blocks them; the screen says so', async () => {
    const { page } = await openNotifications();
    await page.addInitScript("Object.defineProperty(Notification, 'permission', { value: 'denied' })");
    await page.reload();
    await page.getByText('This browser blocks notifications from this page.').waitFor();
    expect(await page.getByRole('button', { name: 'Notify this browser' }).count()).toBe(0);
    await page.context().close();
  });
});
