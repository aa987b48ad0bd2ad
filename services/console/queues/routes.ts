import { createBullBoard } from '@bull-board/api';
import type { BoardHooks } from '@bull-board/api/typings/app';
import { FastifyAdapter } from '@bull-board/fastify';
import { Failure } from '@odograph/contracts/failures';
import type { QueueName } from '@odograph/contracts/queues';
import type { RoutePlugin } from '@odograph/http/authentication';
import { servePages } from '@odograph/http/page-policy';
import type { TypedQueue } from '@odograph/queue/queues';
import { RedactedAdapter } from './redacted-adapter.ts';

/** The only changes allowed, on queues that are not read-only: run a job again, or at once. */
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

/** Links of bull-board's page to fonts of another server. The policy blocks them; the browser should not even try. */
const foreignLinks = /<link [^>]*href="https?:[^>]*>/g;

/** The queue page (bull-board) at /queues; to be registered with operator authentication. */
export function queuePage(queues: AdaptedQueues): RoutePlugin {
  return async (http) => {
    servePages(http);
    http.addHook('onSend', async (_request, reply, payload) => {
      const isPage = String(reply.getHeader('content-type')).startsWith('text/html');
      return isPage && typeof payload === 'string' ? payload.replaceAll(foreignLinks, '') : payload;
    });
    await http.register(createBoard(queues).registerPlugin(), { prefix: '/queues' });
  };
}

function createBoard(queues: AdaptedQueues): FastifyAdapter {
  const serverAdapter = new FastifyAdapter();
  serverAdapter.setBasePath('/queues');
  createBullBoard({
    queues: [
      new RedactedAdapter('uploads', queues.uploads),
      new RedactedAdapter('late-uploads', queues['late-uploads']),
      new RedactedAdapter('acknowledgements', queues.acknowledgements),
      new RedactedAdapter('maintenance', queues.maintenance),
    ],
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Odograph queues', hideDocsLink: true }, handlerHooks: { before: guard } },
  });
  // The default handler would answer a missing token with 500 and expose error messages.
  serverAdapter.setErrorHandler((error) => {
    const failure = error instanceof Failure ? error : new Failure('INTERNAL_ERROR');
    return { status: failure.status as 500, body: { error: failure.message } };
  });
  return serverAdapter;
}
