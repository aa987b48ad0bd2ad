import { setTimeout as delay } from 'node:timers/promises';
import type { QueueJobs, QueueName } from '@odograph/contracts/queues';
import { backOffMs } from '@odograph/runtime/clock';
import { createRedisClient, isCluster, type Redis, redisBackOffMs, type Server } from '@odograph/runtime/redis';
import { currentTracer, inSpan } from '@odograph/runtime/tracing';
import {
  createIORedisClient,
  type Job,
  type JobsOptions,
  Queue,
  QueueEvents,
  RedisConnection,
  type RedisOptions,
  UnrecoverableError,
  Worker,
  type WorkerOptions,
} from 'bullmq';

/** A BullMQ queue whose jobs have the data of contracts/queues.ts. */
export type TypedQueue<Name extends QueueName> = Queue<
  QueueJobs[Name],
  unknown,
  string,
  QueueJobs[Name],
  unknown,
  string
>;
export type TypedJob<Name extends QueueName> = Job<QueueJobs[Name], unknown, string>;

const jobOptions: JobsOptions = {
  removeOnComplete: true,
  removeOnFail: { count: 1000 },
  // openWorker decides when to give up; a job that a closing worker returns is taken up again at once.
  attempts: Number.MAX_SAFE_INTEGER,
};

/** Silence after which a connection counts as cut; requests without an answer are sent again. */
const socketTimeoutMs = 5000;
/** A worker waits this long for its next job on an open request, or twice as long for a planned one. */
const defaultIdleSeconds = 5;

/** Events of a queue that Redis keeps; a reader that misses one adds its job again. */
const keptEvents = 1000;

/** RESP3 begins with HELLO, which proxies and access rules may refuse. */
const protocol = 2;

type ConnectionOptions = RedisOptions & { url: string; onClient?(client: Redis): void };

// BullMQ cannot parse addresses of clusters and Sentinels. It closes clients from a factory like its own.
RedisConnection.clientFactory = (given) => {
  const { url, onClient, ...options } = given as ConnectionOptions;
  const client = createRedisClient(url, options);
  onClient?.(client);
  return createIORedisClient(client);
};

export interface QueueConnection {
  /** As REDIS_URL; only the first address is used. */
  redisUrl: string;
  prefix: string;
  /** For upload queues only (shards.ts). Default: the first shard. */
  shard?: number;
}

/** Returns the name of a queue in Redis. Shards after the first use a hash tag, so a cluster can spread them over nodes. */
export const queueNameOf = (name: QueueName, shard = 0): string => (shard === 0 ? name : `{${name}-${shard}}`);

/** Opens a queue to add jobs to; the caller closes it. Adding fails at once while Redis is unavailable. */
export function openQueue<Name extends QueueName>(name: Name, connection: QueueConnection): TypedQueue<Name> {
  return openQueueWithClient(name, connection).queue;
}

function openQueueWithClient<Name extends QueueName>(
  name: Name,
  { redisUrl, prefix, shard }: QueueConnection,
): { queue: TypedQueue<Name>; client: Redis } {
  let client: Redis | undefined;
  const connection: ConnectionOptions = {
    url: redisUrl,
    protocol,
    enableOfflineQueue: false,
    // A queue that is closed while Redis is unavailable would connect for ever.
    retryStrategy: (attempt: number) => (queue.closing ? null : redisBackOffMs(attempt)),
    socketTimeout: socketTimeoutMs,
    onClient(created) {
      client = created;
    },
  };
  const options = { connection, prefix, defaultJobOptions: jobOptions, streams: { events: { maxLen: keptEvents } } };
  const queue: TypedQueue<Name> = new Queue<QueueJobs[Name], unknown, string, QueueJobs[Name], unknown, string>(
    queueNameOf(name, shard),
    options,
  );
  // Without a listener a lost connection would end the process; each call that fails reports it to its caller.
  queue.on('error', () => undefined);
  if (currentTracer() !== undefined) traceJobs(queue);
  // BullMQ calls the factory in its constructor.
  if (client === undefined) throw new Error('BullMQ created no client');
  return { queue, client };
}

const attributesOf = (queue: string) => ({ 'messaging.system': 'bullmq', 'messaging.destination.name': queue });

/** Makes a span of each job that is added, and gives the job its traceparent. */
function traceJobs<Name extends QueueName>(queue: TypedQueue<Name>): void {
  const add = queue.add.bind(queue);
  queue.add = (name, data, options) =>
    inSpan({ name: `send ${queue.name}`, kind: 'producer', attributes: attributesOf(queue.name) }, () => {
      const metadata = currentTracer()?.traceparent;
      return add(name, data, { ...options, ...(metadata !== undefined && { telemetry: { metadata } }) });
    });
}

/** Adds a job under an id of the caller's choice and resolves once the job would survive a crash of every process. */
export type DurableAdd<Name extends QueueName> = (
  data: QueueJobs[Name],
  options: JobsOptions & { jobId: string },
) => Promise<void>;

/** Settings that define what a PUBACK guarantees. */
export interface Durability {
  readonly REDIS_IS_DURABLE: boolean;
  /** Replicas that must have a job, besides the disk of its primary. */
  readonly REDIS_REPLICAS: number;
}

/** Opens a queue with the function whose success is what an acknowledgement promises; the caller closes both. */
export function openDurableQueue<Name extends QueueName>(
  name: Name,
  connection: QueueConnection,
  { REDIS_IS_DURABLE, REDIS_REPLICAS }: Durability,
): { queue: TypedQueue<Name>; add: DurableAdd<Name>; close(): Promise<void> } {
  const { queue, client } = openQueueWithClient(name, connection);
  if (REDIS_IS_DURABLE) {
    const add: DurableAdd<Name> = async (data, options) => void (await queue.add(name, data, options));
    const close = () => queue.close();
    if (REDIS_REPLICAS === 0) return { queue, add, close };
    return { queue, add: awaitReplicas(client, queue.toKey('meta'), REDIS_REPLICAS, add), close };
  }
  const volatileQueue = openVolatileQueue(queue, connection);
  const close = async () => {
    await volatileQueue.close();
    await queue.close();
  };
  return { queue, add: volatileQueue.add, close };
}

/** WAIT blocks its connection: an unavailable replica delays each attempt by this. */
const replicationTimeoutMs = 1000;

/** Finds the server that a client writes a key to. */
async function locatePrimary(client: Redis, key: string): Promise<() => Server | undefined> {
  if (!isCluster(client)) return () => client;
  const slot = Number(await client.call('CLUSTER', 'KEYSLOT', key));
  return () => {
    const address = client.slots[slot]?.[0];
    return client.nodes('master').find(({ options }) => `${options.host}:${options.port}` === address);
  };
}

/**
 * Makes `add` resolve only once `replicas` replicas have the job (WAIT). It rejects after 1 s, or if the connection or the
 * primary changed: WAIT covers the writes of its own connection only, and a new primary may lack the job. Retries with the
 * same job id are idempotent.
 */
function awaitReplicas<Name extends QueueName>(
  client: Redis,
  key: string,
  replicas: number,
  add: DurableAdd<Name>,
): DurableAdd<Name> {
  let changes = 0;
  const changed = (): void => {
    changes += 1;
  };
  client.on('close', changed).on('-node', changed);
  let located: ReturnType<typeof locatePrimary> | undefined;
  return async (data, options) => {
    located ??= locatePrimary(client, key);
    const findPrimary = await located.catch((error: unknown) => {
      located = undefined;
      throw error;
    });
    const [before, primary] = [changes, findPrimary()];
    await add(data, options);
    const count = (await primary?.wait(replicas, replicationTimeoutMs)) ?? 0;
    if (before !== changes || primary !== findPrimary()) throw new Error('the primary of Redis changed');
    if (count < replicas) throw new Error(`${count} of ${replicas} replicas have the job (REDIS_REPLICAS)`);
  };
}

const processedTimeoutMs = 10_000;

/**
 * Adds jobs to a queue in a Redis that keeps nothing on disk: a job is durable only once a worker has processed it and
 * committed its effect, so that is what `add` waits for.
 *
 * `add` rejects if a worker gives the job up, and if it takes more than 10 s, as after a restart of Redis, which forgets
 * the job. Repeating it with the same job id is harmless.
 */
export function openVolatileQueue<Name extends QueueName>(
  queue: TypedQueue<Name>,
  { redisUrl, prefix }: QueueConnection,
): { add: DurableAdd<Name>; close(): Promise<void> } {
  const events = new QueueEvents(queue.name, {
    connection: { url: redisUrl, protocol, maxRetriesPerRequest: null, retryStrategy: redisBackOffMs },
    prefix,
  });
  events.on('error', () => undefined);
  const waiting = new Map<string, (failure?: Error) => void>();
  events.on('completed', ({ jobId }) => waiting.get(jobId)?.());
  events.on('failed', ({ jobId, failedReason }) => waiting.get(jobId)?.(new Error(failedReason)));
  return {
    async add(data, options) {
      await events.waitUntilReady();
      const timeout = new AbortController();
      const processed = new Promise<void>((resolve, reject) => {
        waiting.set(options.jobId, (failure) => (failure ? reject(failure) : resolve()));
      });
      processed.catch(() => undefined);
      try {
        await queue.add(queue.name, data, options);
        const late = delay(processedTimeoutMs, undefined, { signal: timeout.signal, ref: false }).then(() => {
          throw new Error(`a job of the queue ${queue.name} was not processed within ${processedTimeoutMs} ms`);
        });
        await Promise.race([processed, late]);
      } finally {
        timeout.abort();
        waiting.delete(options.jobId);
      }
    },
    close: () => events.close(),
  };
}

/** Counts the jobs that are not done: waiting, active, or delayed. */
export function countUnfinishedJobs(queue: Pick<Queue, 'getJobCountByTypes'>): Promise<number> {
  return queue.getJobCountByTypes('wait', 'prioritized', 'active', 'delayed');
}

const minRetryMs = 300;

export interface WorkOptions<Name extends QueueName> extends QueueConnection {
  name: Name;
  concurrency: number;
  /** Attempts until a job is given up and kept among the failed ones; unlimited when left out. */
  maximumAttempts?: number;
  /** Longest pause before a failed job is tried again; 15 s when left out. */
  maxRetryMs?: number;
  /** How long a request for the next job stays open; a connection counts as cut after three times as long. */
  idleSeconds?: number;
  process(job: TypedJob<Name>): Promise<unknown>;
  /** Called for each failed attempt, and without a job id when Redis is unavailable. */
  onFailure(error: Error, jobId: string | undefined): void;
}

/**
 * Works through a queue, each job at least once; `close()` waits for the jobs under way.
 *
 * A failed job is tried again by the same worker, after a back-off measured by the monotonic clock: BullMQ's own delays
 * are wall-clock times, and a job that failed while a clock was an hour ahead would wait for that hour.
 */
export function openWorker<Name extends QueueName>(options: WorkOptions<Name>): Worker {
  const { name, redisUrl, prefix, shard, concurrency, idleSeconds = defaultIdleSeconds, onFailure } = options;
  const [closing, closed] = [new AbortController(), new AbortController()];
  const settings: WorkerOptions = {
    connection: {
      url: redisUrl,
      protocol,
      maxRetriesPerRequest: null,
      retryStrategy: (attempt: number) => (closed.signal.aborted ? null : redisBackOffMs(attempt)),
      socketTimeout: 3000 * idleSeconds,
    },
    prefix,
    drainDelay: idleSeconds,
    concurrency,
    // A killed worker leaves its jobs stalled, which says nothing against the jobs.
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    // Jobs of a killed worker continue after the first check behind the end of their locks.
    stalledInterval: 2500,
    lockDuration: 10_000,
  };
  const inProgress = new Set<Promise<void>>();
  const process = (job: TypedJob<Name>): Promise<void> => {
    const done = attemptUntilDone(options, job, closing.signal).finally(() => inProgress.delete(done));
    inProgress.add(done);
    return done;
  };
  const worker = new Worker<QueueJobs[Name]>(queueNameOf(name, shard), process, settings);
  worker.on('error', (error) => onFailure(error, undefined));
  worker.on('closing', () => closing.abort());
  boundClose(worker, inProgress, closed);
  return worker;
}

const closeTimeoutMs = 5000;

/**
 * Resolves `close()` at most 5 s after the last job, which may then be repeated. BullMQ waits until Redis knows that the
 * job is done, although Redis may be unavailable; after a fail-over of a cluster, it may wait forever for a blocking
 * command that ioredis has lost. A closing worker takes no further jobs.
 */
function boundClose(worker: Worker, inProgress: ReadonlySet<Promise<void>>, closed: AbortController): void {
  const close = worker.close.bind(worker);
  worker.close = (force) => {
    const bound = Promise.allSettled(inProgress).then(() => delay(closeTimeoutMs, undefined, { ref: false }));
    return Promise.race([close(force), bound]).finally(() => closed.abort());
  };
}

async function attemptUntilDone<Name extends QueueName>(
  { process, maximumAttempts = Number.POSITIVE_INFINITY, maxRetryMs = 15_000, onFailure }: WorkOptions<Name>,
  job: TypedJob<Name>,
  closing: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await inSpan(
        {
          name: `process ${job.queueName}`,
          kind: 'consumer',
          attributes: attributesOf(job.queueName),
          parent: job.opts.telemetry?.metadata,
        },
        () => process(job),
      );
      return;
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      onFailure(error, job.id);
      if (attempt >= maximumAttempts) throw new UnrecoverableError(error.message);
      const pauseMs = backOffMs(attempt, { minMs: minRetryMs, maxMs: maxRetryMs });
      await delay(pauseMs, undefined, { signal: closing }).catch(() => undefined);
      if (closing.aborted) throw error;
    }
  }
}
