import { readFile } from 'node:fs/promises';
import type { QueueName, queueNames } from '@odograph/contracts/queues';
import { accountsIn } from '@odograph/database/accounts';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { operatorRoutes } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { servePages } from '@odograph/http/page-policy';
import { openQueue } from '@odograph/queue/queues';
import { openSealer } from '@odograph/runtime/sealing';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import { quarantineRoutes } from './quarantine/routes.ts';
import { queuePage } from './queues/routes.ts';

const databaseConnections = 2;

function openConsoleQueue<Name extends QueueName>(host: ServiceHost<Http>, name: Name) {
  const queue = openQueue(name, { redisUrl: host.config.REDIS_URL, prefix: host.config.QUEUE_PREFIX });
  host.onStop(`console queue ${name}`, () => queue.close());
  return queue;
}

/** The start page at /, with links to the other pages. */
async function startPage(http: Http): Promise<void> {
  servePages(http);
  const html = await readFile(new URL('./start-page.html', import.meta.url), 'utf8');
  http.get('/', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(html),
  );
}

/** Pages for operators, and the routes for quarantined uploads. */
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
    } satisfies Record<(typeof queueNames)[number], unknown>;
    const replayTarget = {
      queue: queues.uploads,
      sealer: await openSealer(config, 'quarantine'),
      maximumBacklogJobs: config.UPLOAD_BACKLOG_JOBS,
    };
    await operatorRoutes(http, { accounts: accountsIn(db), adminToken }, [
      startPage,
      quarantineRoutes(db, replayTarget),
      queuePage(queues),
    ]);

    return {
      async health() {
        await pingDatabase(db);
        return { ok: true, state: 'running' };
      },
    };
  },
};
