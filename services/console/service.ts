import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import staticFiles from '@fastify/static';
import type { QueueName } from '@odograph/contracts/queues';
import { accountsIn } from '@odograph/database/accounts';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { operatorPages, operatorRoutes, referencePage, viewerRoutes } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { createPolicy, servePages } from '@odograph/http/page-policy';
import { openDurableQueue, openQueue } from '@odograph/queue/queues';
import { openShardQueues } from '@odograph/queue/shards';
import { mapPath, mapSettingOf } from '@odograph/runtime/config';
import { platformVersion } from '@odograph/runtime/platform-version';
import { openSealer } from '@odograph/runtime/sealing';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import { deviceReference } from './device-reference/page.ts';
import { importRoutes } from './imports.ts';
import { PmtilesFile } from './map/pmtiles-file.ts';
import { mapOrigin, mapRoutes, mapUploadRoutes, removeUploads } from './map/routes.ts';
import { pipelineRoutes } from './pipeline.ts';
import { quarantineRoutes } from './quarantine/routes.ts';
import { queuePage } from './queues.ts';

const databaseConnections = 2;
/** Map uploads that receive no part for this long are removed. */
const abandonedAfterMs = 3_600_000;

/** Opens the map file and logs when it is unusable: the console then shows only country outlines. */
function openMapFile({ config, logger }: ServiceHost<Http>): PmtilesFile {
  const { MAP_TILES: path = mapPath(config) } = config;
  return new PmtilesFile(path, config.MAP_TILES === undefined, (state) => {
    if (state === undefined) return;
    if (state.fault === undefined) logger.info({ file: path }, 'map in use');
    else logger.error({ file: path }, `the map ${path} ${state.fault}; the console shows only country outlines`);
  });
}

/** The web console, the pages of the queues, and the routes for quarantined uploads. */
export const consoleService: Service<Http> = {
  name: 'console',
  async start(host) {
    const { config, http, adminToken } = host;
    const db = openDatabase({ url: config.DATABASE_URL, name: 'console', size: databaseConnections });
    host.onStop('console database', () => db.destroy());
    const redis = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
    const open = <Name extends QueueName>(name: Name) => {
      const queue = openQueue(name, redis);
      host.onStop(`console queue ${name}`, () => queue.close());
      return queue;
    };
    const shards = openShardQueues(config);
    host.onStop('console queues of uploads', shards.close);
    const queues = {
      shards: shards.queues,
      acknowledgements: open('acknowledgements'),
      maintenance: open('maintenance'),
    };
    const replayTarget = {
      queue: open('uploads'),
      sealer: await openSealer(config, 'quarantine'),
      maximumBacklogJobs: host.limits.maxBacklogJobs,
    };
    const durable = openDurableQueue('late-uploads', redis, config);
    host.onStop('console queue of imports', durable.close);
    await loadFailurePage(http, mapOrigin(config));
    await http.register(async (scope: Http) => consolePages(scope, mapOrigin(config)));
    const guard = { accounts: accountsIn(db, config), adminToken };
    await referencePage(http, guard);
    const tlsPort = config.MQTT_TLS_CERTIFICATE === undefined ? undefined : config.MQTTS_PORT;
    await deviceReference(http, guard, { port: config.MQTT_PORT, tlsPort });
    await operatorPages(http, guard, [queuePage(queues)]);
    const mapFile = openMapFile(host);
    // Another process with the same DATA_DIR may still be receiving newer ones.
    await removeUploads(mapFile.path, abandonedAfterMs);
    await operatorRoutes(http, guard, [
      mapUploadRoutes(db, mapFile, mapSettingOf(config)),
      quarantineRoutes(db, replayTarget),
      importRoutes(db, durable),
      pipelineRoutes(db),
    ]);
    await viewerRoutes(http, guard, [mapRoutes(config, mapFile)]);
    await mapFile.check();

    return {
      async health() {
        await pingDatabase(db);
        const fault = (await mapFile.check())?.fault;
        // Anyone reads /health: the log has the path of the file.
        return { ok: true, state: fault === undefined ? 'running' : `running; the file of the map ${fault}` };
      },
    };
  },
};

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
  '/exports/*',
  '/reports',
  '/reports/*',
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

/** Files that let a browser install the console as an application. */
const installation = ['manifest.webmanifest', 'service-worker.js', 'icon.png'];

/** Answers browsers at unknown and forbidden addresses with the console, which shows the reason. */
async function loadFailurePage(http: Http, mapOrigin: string | undefined): Promise<void> {
  // index.html does not exist yet when the build generates the interface.
  const html = await readFile(`${built}index.html`, 'utf8').catch(() => undefined);
  if (html !== undefined) http.failurePage = { html, policy: createPolicy(mapOrigin) };
}

/**
 * Serves the web console (apps/console): its page and the files that it loads; and the clients of the interface. None of them
 * holds data, so they need no session.
 * @param mapOrigin the site of the map's tiles, which browsers may then load data and images from
 */
async function consolePages(http: Http, mapOrigin: string | undefined): Promise<void> {
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
