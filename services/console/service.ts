import { join } from 'node:path';
import type { QueueName } from '@odograph/contracts/queues';
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
import { mapOrigin, mapRoutes, settingOf } from './map/routes.ts';
import { mapUploadRoutes } from './map/upload.ts';
import { consolePages, showFailures } from './pages.ts';
import { pipelineRoutes } from './pipeline.ts';
import { quarantineRoutes } from './quarantine/routes.ts';
import { queuePage } from './queues.ts';

const databaseConnections = 2;

/** Opens the file of the map, and logs when it cannot be used: the console then shows the outlines of countries. */
function openMapFile({ config, logger }: ServiceHost<Http>): PmtilesFile {
  const { MAP_TILES: path = join(config.DATA_DIR, 'map.pmtiles') } = config;
  return new PmtilesFile(path, config.MAP_TILES === undefined, (state) => {
    if (state === undefined) return;
    if (state.fault === undefined) logger.info({ file: path }, 'map in use');
    else logger.error({ file: path }, `the map ${path} ${state.fault}; the console shows outlines of countries only`);
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
    const queues = {
      uploads: open('uploads'),
      'late-uploads': open('late-uploads'),
      acknowledgements: open('acknowledgements'),
      maintenance: open('maintenance'),
    };
    const replayTarget = {
      queue: queues.uploads,
      sealer: await openSealer(config, 'quarantine'),
      maximumBacklogJobs: host.limits.maxBacklogJobs,
    };
    const durable = openDurableQueue('late-uploads', redis, config.REDIS_IS_DURABLE);
    host.onStop('console queue of imports', durable.close);
    await showFailures(http);
    await http.register(async (scope: Http) => consolePages(scope, mapOrigin(config)));
    const guard = { accounts: accountsIn(db), adminToken };
    await referencePage(http, guard);
    const tlsPort = config.MQTT_TLS_CERTIFICATE === undefined ? undefined : config.MQTTS_PORT;
    await deviceReference(http, guard, { port: config.MQTT_PORT, tlsPort });
    await operatorPages(http, guard, [queuePage(queues)]);
    const mapFile = openMapFile(host);
    await operatorRoutes(http, guard, [
      mapUploadRoutes(db, mapFile, settingOf(config)),
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
        return { ok: true, state: fault === undefined ? 'running' : `running; the map ${mapFile.path} ${fault}` };
      },
    };
  },
};
