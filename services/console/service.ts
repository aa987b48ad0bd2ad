import type { QueueName, queueNames } from '@odograph/contracts/queues';
import { accountsIn } from '@odograph/database/accounts';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { operatorPages, operatorRoutes, referencePage, viewerRoutes } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { openDurableQueue, openQueue } from '@odograph/queue/queues';
import { openSealer } from '@odograph/runtime/sealing';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import { deviceReference } from './device-reference/page.ts';
import { importRoutes } from './imports.ts';
import { PmtilesFile } from './map/pmtiles-file.ts';
import { mapOrigin, mapRoutes } from './map/routes.ts';
import { consolePages } from './pages.ts';
import { pipelineRoutes } from './pipeline.ts';
import { quarantineRoutes } from './quarantine/routes.ts';
import { queuePage } from './queues.ts';

const databaseConnections = 2;

function openConsoleQueue<Name extends QueueName>(host: ServiceHost<Http>, name: Name) {
  const queue = openQueue(name, { redisUrl: host.config.REDIS_URL, prefix: host.config.QUEUE_PREFIX });
  host.onStop(`console queue ${name}`, () => queue.close());
  return queue;
}

/** Opens the file of MAP_TILES, and logs when it cannot be used: the console then shows the outlines of countries. */
function openMapFile({ config, logger }: ServiceHost<Http>): PmtilesFile | undefined {
  const path = config.MAP_TILES;
  if (path === undefined) return undefined;
  return new PmtilesFile(path, ({ fault }) => {
    if (fault === undefined) logger.info({ file: path }, 'MAP_TILES in use');
    else logger.error({ file: path }, `MAP_TILES: ${path} ${fault}; the map shows outlines of countries only`);
  });
}

/** The web console, the pages of the queues, and the routes for quarantined uploads. */
export const consoleService: Service<Http> = {
  name: 'console',
  async start(host) {
    const { config, http, adminToken } = host;
    const db = openDatabase({ url: config.DATABASE_URL, name: 'console', size: databaseConnections });
    host.onStop('console database', () => db.destroy());
    const queues = {
      uploads: openConsoleQueue(host, 'uploads'),
      'late-uploads': openConsoleQueue(host, 'late-uploads'),
      acknowledgements: openConsoleQueue(host, 'acknowledgements'),
      maintenance: openConsoleQueue(host, 'maintenance'),
      trips: openConsoleQueue(host, 'trips'),
      alarms: openConsoleQueue(host, 'alarms'),
      exports: openConsoleQueue(host, 'exports'),
    } satisfies Record<(typeof queueNames)[number], unknown>;
    const replayTarget = {
      queue: queues.uploads,
      sealer: await openSealer(config, 'quarantine'),
      maximumBacklogJobs: config.UPLOAD_BACKLOG_JOBS,
    };
    const durable = openDurableQueue(
      'late-uploads',
      { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX },
      config.REDIS_IS_DURABLE,
    );
    host.onStop('console queue of imports', durable.close);
    await http.register(async (scope: Http) => consolePages(scope, mapOrigin(config)));
    const guard = { accounts: accountsIn(db), adminToken };
    await referencePage(http, guard);
    const tlsPort = config.MQTT_TLS_CERTIFICATE === undefined ? undefined : config.MQTTS_PORT;
    await deviceReference(http, guard, { port: config.MQTT_PORT, tlsPort });
    await operatorPages(http, guard, [queuePage(queues)]);
    await operatorRoutes(http, guard, [
      quarantineRoutes(db, replayTarget),
      importRoutes(db, durable),
      pipelineRoutes(db),
    ]);
    const mapFile = openMapFile(host);
    await viewerRoutes(http, guard, [mapRoutes(config, mapFile)]);
    await mapFile?.check();

    return {
      async health() {
        await pingDatabase(db);
        const map = await mapFile?.check();
        return {
          ok: true,
          state: map?.fault === undefined ? 'running' : `running; the file of MAP_TILES ${map.fault}`,
        };
      },
    };
  },
};
