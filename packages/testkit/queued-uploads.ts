import type { QueuedUpload } from '@odograph/contracts/queues';
import { openQueue, type TypedQueue } from '@odograph/queue/queues';
import type { ResolvedConfig } from '@odograph/runtime/config';

/** The queues of live and of late uploads, for tests without ingest. */
export interface UploadQueues {
  readonly live: TypedQueue<'uploads'>;
  readonly late: TypedQueue<'late-uploads'>;
  /** Reads the jobs that wait, oldest first, live ones before late ones. */
  jobs(): Promise<Awaited<ReturnType<TypedQueue<'uploads'>['getJobs']>>>;
  /** Reads the uploads of these jobs. */
  uploads(): Promise<QueuedUpload[]>;
  /** Removes all jobs. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the queues of uploads; the caller closes them. */
export function openUploadQueues({
  REDIS_URL,
  QUEUE_PREFIX,
}: Pick<ResolvedConfig, 'REDIS_URL' | 'QUEUE_PREFIX'>): UploadQueues {
  const connection = { redisUrl: REDIS_URL, prefix: QUEUE_PREFIX };
  const live = openQueue('uploads', connection);
  const late = openQueue('late-uploads', connection);
  const jobs = async () => [
    ...(await live.getJobs(['wait'], 0, -1, true)),
    ...(await late.getJobs(['wait'], 0, -1, true)),
  ];
  return {
    ...{ live, late, jobs },
    uploads: async () => (await jobs()).flatMap(({ data }) => data.uploads),
    drain: async () => void (await Promise.all([live.drain(), late.drain()])),
    close: async () => void (await Promise.all([live.close(), late.close()])),
  };
}
