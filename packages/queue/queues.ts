import type { QueueJobs, QueueName } from '@odograph/contracts/queues';
import { type Job, type JobsOptions, Queue, Worker, type WorkerOptions } from 'bullmq';
import { recallDelayed } from './clock-steps.ts';

/** A BullMQ queue whose jobs carry what contracts/queues.ts says. */
export type TypedQueue<Name extends QueueName> = Queue<QueueJobs[Name], unknown, string>;
export type TypedJob<Name extends QueueName> = Job<QueueJobs[Name], unknown, string>;

const keptJobs: JobsOptions = {
  removeOnComplete: true,
  removeOnFail: false,
  // A job fails for reasons outside itself (the database is away): it is tried until it succeeds.
  attempts: Number.MAX_SAFE_INTEGER,
  backoff: { type: 'custom' },
};

export interface QueueConnection {
  redisUrl: string;
  prefix: string;
}

/** Opens a queue to add jobs to; the caller closes it. Adding fails at once while Redis is away. */
export function openQueue<Name extends QueueName>(name: Name, { redisUrl, prefix }: QueueConnection): TypedQueue<Name> {
  const connection = {
    url: redisUrl,
    enableOfflineQueue: false,
    retryStrategy: reconnectDelayMs,
    // A connection that was cut without a word is given up, and what it still owed an answer is sent again.
    socketTimeout: silenceMs,
  };
  const queue = new Queue(name, { connection, prefix, defaultJobOptions: keptJobs });
  queue.on('error', () => undefined);
  return queue as unknown as TypedQueue<Name>;
}

const longestRetryDelayMs = 15_000;

/** 200 ms after the first failure, doubling to 15 s. */
export function retryDelayMs(attempt: number): number {
  return Math.min(200 * 2 ** Math.min(attempt - 1, 10), longestRetryDelayMs);
}

const silenceMs = 5000;
/** A worker waits for its next job on an open request, for 10 s at most; silence beyond that is a broken connection. */
const blockedSilenceMs = 15_000;
const reconnectDelayMs = (attempt: number): number => Math.min(attempt * 50, 1000);

/** How many jobs are not done: those that wait, live and late, are being worked, or are to be tried again. */
export function countUnfinishedJobs(queue: Pick<Queue, 'getJobCountByTypes'>): Promise<number> {
  return queue.getJobCountByTypes('wait', 'prioritized', 'active', 'delayed');
}

export interface WorkOptions<Name extends QueueName> extends QueueConnection {
  name: Name;
  concurrency: number;
  process(job: TypedJob<Name>): Promise<unknown>;
  onFailure(error: Error, jobId: string | undefined): void;
}

/** Works through a queue, at least once for each job; `close()` waits for the jobs under way. */
export function openWorker<Name extends QueueName>(options: WorkOptions<Name>): Worker {
  const { name, redisUrl, prefix, concurrency, process, onFailure } = options;
  const settings: WorkerOptions = {
    connection: {
      url: redisUrl,
      maxRetriesPerRequest: null,
      retryStrategy: reconnectDelayMs,
      socketTimeout: blockedSilenceMs,
    },
    prefix,
    concurrency,
    // A worker that is killed leaves its job stalled; that says nothing against the job.
    maxStalledCount: Number.MAX_SAFE_INTEGER,
    // A killed worker's jobs go on after the first check behind the end of their locks; a lock is renewed at half its time.
    stalledInterval: 2500,
    lockDuration: 10_000,
    settings: { backoffStrategy: retryDelayMs },
  };
  const worker = new Worker(name, (job) => process(job as unknown as TypedJob<Name>), settings);
  worker.on('error', (error) => onFailure(error, undefined));
  worker.on('failed', (job, error) => onFailure(error, job?.id));
  worker.on('closing', recallDelayed(worker, longestRetryDelayMs));
  return worker;
}
