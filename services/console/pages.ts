import { fileURLToPath } from 'node:url';
import staticFiles from '@fastify/static';
import type { Http } from '@odograph/http/http';
import { servePages } from '@odograph/http/page-policy';

/** What apps/console/build.ts makes. */
const built = fileURLToPath(new URL('../../apps/console/dist/', import.meta.url));

/** The addresses of the console's screens. All of them answer the same page, which shows the screen of its address. */
const screens = [
  '/',
  '/sign-in',
  '/map',
  '/vehicles',
  '/vehicles/*',
  '/devices',
  '/devices/*',
  '/replay',
  '/accounts',
  '/accounts/*',
  '/alarms',
  '/alarms/*',
  '/bookings',
  '/bookings/*',
  '/pipeline',
  '/audit',
  '/profile',
];

/**
 * Serves the web console (apps/console): its page and the files that it loads. They hold no data, so they need no session.
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
  for (const screen of screens) {
    http.get(screen, { schema: { hide: true } }, async (_request, reply) =>
      reply.header('cache-control', 'no-cache').sendFile('index.html', built, { cacheControl: false }),
    );
  }
}
