// Caches the shell of the console: an installed console opens without a network and says that the platform does not
// answer. Never caches data, so the console shows only answers of the platform.

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
    event.waitUntil(keepShell().catch(() => undefined));
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
