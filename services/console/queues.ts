import { readFileSync } from 'node:fs';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { BoardHooks, QueueJobJson } from '@bull-board/api/typings/app';
import { FastifyAdapter } from '@bull-board/fastify';
import { Failure } from '@odograph/contracts/failures';
import type { QueueJobs } from '@odograph/contracts/queues';
import type { RoutePlugin } from '@odograph/http/authentication';
import { isOutage } from '@odograph/http/outage';
import { servePages } from '@odograph/http/page-policy';
import type { TypedQueue } from '@odograph/queue/queues';
import type { ShardQueues } from '@odograph/queue/shards';
import type { Queue } from 'bullmq';

/** The queues of the page, with the parts of a job's data that it shows; payloads contain positions of people. */
const describeData = {
  uploads: describeUploads,
  'late-uploads': describeUploads,
  acknowledgements: ({ deviceId }: QueueJobs['acknowledgements']) => ({ deviceId }),
  maintenance: ({ task }: QueueJobs['maintenance']) => ({ task }),
};
type ShownQueue = keyof typeof describeData;

function describeUploads({ uploads, devices, bytes }: QueueJobs['uploads']): object {
  return { uploads: uploads.length, devices, bytes };
}

/** Lists the members to show rather than those to hide: error messages and return values may quote a payload. */
function redact(json: QueueJobJson, describe: (data: never) => object): QueueJobJson {
  const { id, name, attemptsMade, finishedOn, processedOn, delay, timestamp } = json;
  return {
    id: id ?? null,
    name,
    attemptsMade,
    finishedOn: finishedOn ?? null,
    processedOn: processedOn ?? null,
    timestamp,
    ...(delay === undefined ? {} : { delay }),
    progress: 0,
    data: describe(json.data as never),
    returnvalue: null,
    failedReason: json.failedReason ? 'see the log for the reason' : '',
    stacktrace: [],
    opts: {},
  };
}

type Adapted<Method extends 'getJob' | 'getJobs'> = ReturnType<BullMQAdapter[Method]>;

/**
 * Shows a queue as counts and jobs without payloads. Uploads and acknowledgements are read-only: devices have their
 * acknowledgement already, so a removed, paused or edited job would lose data silently.
 */
class RedactedAdapter<Name extends ShownQueue> extends BullMQAdapter {
  readonly #describe: (data: never) => object;

  constructor(name: Name, queue: TypedQueue<Name>) {
    super(queue as unknown as Queue, { readOnlyMode: name !== 'maintenance' });
    this.#describe = describeData[name];
  }

  override async getJob(id: string): Adapted<'getJob'> {
    const job = await super.getJob(id);
    return job && this.#redacted(job);
  }

  override async getJobs(...range: Parameters<BullMQAdapter['getJobs']>): Adapted<'getJobs'> {
    const jobs = await super.getJobs(...range);
    return jobs.map((job) => this.#redacted(job));
  }

  override async getJobLogs(): Promise<string[]> {
    return [];
  }

  /** Job trees would bypass the redaction in getJob. */
  override async getFlowProducer(): Promise<null> {
    return null;
  }

  #redacted<Job extends { toJSON(): QueueJobJson }>(job: Job): Job {
    const json = job.toJSON();
    return Object.assign(job, { toJSON: () => redact(json, this.#describe) });
  }
}

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

interface ShownQueues {
  readonly shards: readonly Pick<ShardQueues, 'uploads' | 'lateUploads'>[];
  readonly acknowledgements: TypedQueue<'acknowledgements'>;
  readonly maintenance: TypedQueue<'maintenance'>;
}

/** Links of bull-board's page to fonts of another server. The policy blocks them; the browser should not even try. */
const foreignLinks = /<link [^>]*href="https?:[^>]*>/g;

const script = readFileSync(new URL('./queue-page.js', import.meta.url), 'utf8');
const scriptTag = '<script defer src="/queues/queue-page.js"></script>';

/** The queue page (bull-board) at /queues; to be registered with operator authentication. */
export function queuePage(queues: ShownQueues): RoutePlugin {
  return async (http) => {
    servePages(http);
    http.addHook('onSend', async (_request, reply, payload) => {
      const isPage = String(reply.getHeader('content-type')).startsWith('text/html');
      if (!isPage || typeof payload !== 'string') return payload;
      return payload.replaceAll(foreignLinks, '').replace('</body>', `${scriptTag}</body>`);
    });
    http.get('/queues/queue-page.js', { schema: { hide: true } }, async (_request, reply) =>
      reply.type('text/javascript; charset=utf-8').send(script),
    );
    await http.register(createBoard(queues).registerPlugin(), { prefix: '/queues' });
  };
}

function createBoard(queues: ShownQueues): FastifyAdapter {
  const serverAdapter = new FastifyAdapter();
  serverAdapter.setBasePath('/queues');
  createBullBoard({
    queues: [
      ...queues.shards.flatMap(({ uploads, lateUploads }) => [
        new RedactedAdapter('uploads', uploads),
        new RedactedAdapter('late-uploads', lateUploads),
      ]),
      new RedactedAdapter('acknowledgements', queues.acknowledgements),
      new RedactedAdapter('maintenance', queues.maintenance),
    ],
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Odograph queues', hideDocsLink: true }, handlerHooks: { before: guard } },
  });
  // The default handler would answer a missing token with 500 and expose error messages.
  serverAdapter.setErrorHandler((error) => {
    const failure = error instanceof Failure ? error : new Failure(isOutage(error) ? 'OVERLOADED' : 'INTERNAL_ERROR');
    return { status: failure.status as 500, body: { error: failure.message } };
  });
  return serverAdapter;
}
