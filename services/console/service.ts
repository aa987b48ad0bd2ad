import type { QueueName, queueNames } from '@odograph/contracts/queues';
import { accountsIn } from '@odograph/database/accounts';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { operatorPages, operatorRoutes, referencePage } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { openQueue } from '@odograph/queue/queues';
import { openSealer } from '@odograph/runtime/sealing';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import { consolePages } from './pages.ts';
import { pipelineRoutes } from './pipeline/routes.ts';
import { quarantineRoutes } from './quarantine/routes.ts';
import { queuePage } from './queues/routes.ts';

const databaseConnections = 2;

function openConsoleQueue<Name extends QueueName>(host: ServiceHost<Http>, name: Name) {
  const queue = openQueue(name, { redisUrl: host.config.REDIS_URL, prefix: host.config.QUEUE_PREFIX });
  host.onStop(`console queue ${name}`, () => queue.close());
  return queue;
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
    } satisfies Record<(typeof queueNames)[number], unknown>;
    const replayTarget = {
      queue: queues.uploads,
      sealer: await openSealer(config, 'quarantine'),
      maximumBacklogJobs: config.UPLOAD_BACKLOG_JOBS,
    };
    await http.register(async (scope: Http) => consolePages(scope));
    const guard = { accounts: accountsIn(db), adminToken };
    await referencePage(http, guard);
    await operatorPages(http, guard, [queuePage(queues)]);
    await operatorRoutes(http, guard, [quarantineRoutes(db, replayTarget), pipelineRoutes(db)]);

    return {
      async health() {
        await pingDatabase(db);
        return { ok: true, state: 'running' };
      },
    };
  },
};
