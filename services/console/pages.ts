import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import staticFiles from '@fastify/static';
import type { Http } from '@odograph/http/http';
import { servePages } from '@odograph/http/page-policy';
import { platformVersion } from '@odograph/runtime/platform-version';

/** The outputs of scripts/build. */
const built = fileURLToPath(new URL('../../apps/console/dist/', import.meta.url));
const clients = fileURLToPath(new URL('../../clients/dist/', import.meta.url));

/** pip reads the name, the version and the kind of a wheel from its address. */
const wheel = `odograph-${platformVersion()}-py3-none-any.whl`;

/** The addresses of the console's screens. All of them answer the same page, which shows the screen of its address. */
const screens = [
  '/',
  '/sign-in',
  '/map',
  '/map/settings',
  '/vehicles',
  '/vehicles/*',
  '/devices',
  '/devices/*',
  '/exports',
  '/replay',
  '/accounts',
  '/accounts/*',
  '/integrations',
  '/integrations/*',
  '/alarms',
  '/alarms/*',
  '/bookings',
  '/bookings/*',
  '/pipeline',
  '/audit',
  '/profile',
];

/** Files by which a browser installs the console as an application. */
const installation = ['manifest.webmanifest', 'service-worker.js', 'icon.png'];

/** Has browsers that open an unknown or forbidden address show the console, which says so. */
export async function showFailures(http: Http): Promise<void> {
  http.failurePage = await readFile(`${built}index.html`, 'utf8');
}

/**
 * Serves the web console (apps/console): its page and the files that it loads; and the clients of the interface. None of them
 * holds data, so they need no session.
 * @param mapOrigin the site of the map's tiles, which browsers may then load data and images from
 */
export async function consolePages(http: Http, mapOrigin: string | undefined): Promise<void> {
  servePages(http, mapOrigin);
  await http.register(staticFiles, {
    root: `${built}assets`,
    prefix: '/assets/',
    preCompressed: true,
    index: false,
    // The names of the files hold hashes of their content.
    maxAge: '365d',
    immutable: true,
  });
  const serve = (path: string, file: string, folder: string) =>
    http.get(path, { schema: { hide: true } }, async (_request, reply) =>
      reply.header('cache-control', 'no-cache').sendFile(file, folder, { cacheControl: false }),
    );
  for (const screen of screens) serve(screen, 'index.html', built);
  for (const file of installation) serve(`/${file}`, file, built);
  serve('/licenses', 'licenses.txt', built);
  serve('/client.tgz', 'client.tgz', clients);
  serve(`/${wheel}`, wheel, clients);
  http.get('/client.whl', { schema: { hide: true } }, async (_request, reply) => reply.redirect(`/${wheel}`));
}
