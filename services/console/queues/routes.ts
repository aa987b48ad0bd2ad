import { createBullBoard } from '@bull-board/api';
import type { BoardHooks } from '@bull-board/api/typings/app';
import { FastifyAdapter } from '@bull-board/fastify';
import { Failure } from '@odograph/contracts/failures';
import type { QueueName } from '@odograph/contracts/queues';
import type { Http } from '@odograph/http/http';
import type { TypedQueue } from '@odograph/queue/queues';
import { RedactedAdapter } from './redacted-adapter.ts';

/** The only changes the page may ask for, and only of queues that are not read-only: to run something again, or now. */
const allowedChanges: ReadonlySet<string> = new Set([
  '/api/queues/:queueName/:jobId/retry',
  '/api/queues/:queueName/:jobId/promote',
  '/api/queues/:queueName/retry/:queueStatus',
  '/api/queues/:queueName/job-schedulers/:schedulerId/run',
]);

const guard: NonNullable<BoardHooks['before']> = ({ method, route }) => ({
  allow: method === 'get' || allowedChanges.has(route),
});

type AdaptedQueues = { readonly [Name in QueueName]: TypedQueue<Name> };

/** The queue page, bull-board, at /queues; whoever registers it asks for the admin token first. */
export async function addQueuePage(http: Http, queues: AdaptedQueues): Promise<void> {
  const serverAdapter = new FastifyAdapter();
  serverAdapter.setBasePath('/queues');
  createBullBoard({
    queues: [
      new RedactedAdapter('uploads', queues.uploads),
      new RedactedAdapter('acknowledgements', queues.acknowledgements),
      new RedactedAdapter('maintenance', queues.maintenance),
    ],
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Odograph queues', hideDocsLink: true }, handlerHooks: { before: guard } },
  });
  // The page's own handler would answer a missing token with 500, and tell what an error says.
  serverAdapter.setErrorHandler((error) => {
    const failure = error instanceof Failure ? error : new Failure('INTERNAL_ERROR');
    return { status: failure.status as 500, body: { error: failure.message } };
  });
  await http.register(serverAdapter.registerPlugin(), { prefix: '/queues' });
}
