// Caches the shell of the console: an installed console opens without a network and says that the platform does not
// answer. Never caches data, so the console shows only answers of the platform. Shows push messages.

const cacheName = 'shell';
const shell = '/';

/** Replaces the cached page, and drops the files of a former version. */
async function keepShell() {
  const response = await fetch(shell, { cache: 'no-cache' });
  if (!response.ok) return;
  const kept = await caches.match(shell);
  if ((await kept?.text()) === (await response.clone().text())) return;
  await caches.delete(cacheName);
  await (await caches.open(cacheName)).put(shell, response);
}

async function openPage(event) {
  try {
    const response = await fetch(event.request);
    event.waitUntil(Promise.allSettled([keepShell(), renewSubscription()]));
    return response;
  } catch (error) {
    const kept = await caches.match(shell);
    if (kept === undefined) throw error;
    return kept;
  }
}

/** Answers from the cache first: the name of an asset contains a hash of its content. */
async function openAsset(request) {
  const kept = await caches.match(request);
  if (kept !== undefined) return kept;
  const response = await fetch(request);
  if (response.ok) await (await caches.open(cacheName)).put(request, response.clone());
  return response;
}

/** Shows a push message (services/events/notifications). Its link is kept only if it leads to the console. */
async function showMessage({ title, body, tag, url = '/' }) {
  const link = URL.canParse(url, location.origin) ? new URL(url, location.origin) : undefined;
  const data = { url: link?.origin === location.origin ? link.href : location.origin };
  await registration.showNotification(title, { body, tag, data, icon: '/icon.png' });
}

/** Opens the link of a message; focuses a window that already shows it. */
async function openLink(url) {
  const windows = await clients.matchAll({ type: 'window' });
  const shown = windows.find((one) => one.url === url);
  await (shown ? shown.focus() : clients.openWindow(url));
}

/** Calls the interface with the session of this browser. */
function request(path, appId, push) {
  const headers = { 'content-type': 'application/json', 'x-application': appId };
  return fetch(path, { headers, ...(push && { method: 'PUT', body: JSON.stringify({ push }) }) });
}

/** Stores a subscription in a notification. @returns whether it is stored, or the notification deleted */
async function isStored({ id, appId }, subscription) {
  const response = await request(`/v1/x/notifications/${id}/push`, appId, subscription);
  // Other failures, such as UNKNOWN_APPLICATION, depend on who is signed in.
  return response.ok || (await response.json()).error === 'NOT_FOUND';
}

/** Reads the key that signs push messages; any application returns it to its administrators. */
async function readPushKey(notifications) {
  const failures = [];
  for (const { appId } of notifications) {
    const response = await request('/v1/x/notifications/push-key', appId);
    if (response.ok) return (await response.json()).publicKey;
    failures.push(response.status);
  }
  throw new Error(`no application returned the push key: HTTP ${failures.join(', ')}`);
}

/**
 * Stores the renewed subscription in the notifications of this browser, because the previous one no longer works. Fails
 * without the session of an administrator of their application; retried whenever a page of the console opens.
 */
async function renewSubscription() {
  const cache = await caches.open('push');
  const stored = await (await cache.match('/subscription'))?.json();
  if (stored === undefined) return;
  const { notifications } = stored;
  let subscription = await registration.pushManager.getSubscription();
  if (subscription === null) {
    const applicationServerKey = await readPushKey(notifications);
    subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
  }
  const { endpoint } = subscription;
  if (notifications.every((one) => one.endpoint === endpoint)) return;
  for (const one of notifications) {
    if (one.endpoint !== endpoint && (await isStored(one, subscription))) one.endpoint = endpoint;
  }
  await cache.put('/subscription', Response.json({ notifications }));
}

addEventListener('push', (event) => event.waitUntil(showMessage(event.data.json())));
addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(openLink(event.notification.data.url));
});
addEventListener('pushsubscriptionchange', (event) => event.waitUntil(renewSubscription()));
addEventListener('install', (event) => event.waitUntil(keepShell().then(() => skipWaiting())));
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  // The interface answers data; the shell must not become the content of a download that fails.
  if (request.method !== 'GET' || origin !== location.origin || pathname.startsWith('/v1/')) return;
  if (request.mode === 'navigate') event.respondWith(openPage(event));
  else if (pathname.startsWith('/assets/')) event.respondWith(openAsset(request));
});
