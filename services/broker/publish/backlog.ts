import { countUnfinishedJobs, type TypedQueue } from '@odograph/queue/queues';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Redis } from '@odograph/runtime/redis';
import type { BrokerMetrics } from '../metrics.ts';

const pollMs = 500;

/** How much waits in Redis, as far as the last look goes. */
export interface Backlog {
  /** More upload jobs than UPLOAD_BACKLOG_JOBS, or no memory: uploads are held. */
  readonly full: boolean;
  /** More than half of either is used: late uploads are held, so that live ones have room. */
  readonly lateFull: boolean;
  /** Redis uses more than UPLOAD_BACKLOG_BYTES: everything is held. */
  readonly memoryFull: boolean;
  stop(): void;
}

/** Looks twice a second; while Redis does not answer, the last answer stands. */
export async function watchBacklog(
  queue: TypedQueue<'uploads'>,
  redis: Redis,
  config: ResolvedConfig,
  metrics: BrokerMetrics,
): Promise<Backlog> {
  let jobsFull = false;
  let lateFull = false;
  let memoryFull = false;
  let looking = false;

  const look = async (): Promise<void> => {
    const [jobs, memory] = await Promise.all([countUnfinishedJobs(queue), redis.info('memory')]);
    const bytes = usedMemory(memory);
    jobsFull = jobs > config.UPLOAD_BACKLOG_JOBS;
    memoryFull = bytes > config.UPLOAD_BACKLOG_BYTES;
    lateFull = jobs > config.UPLOAD_BACKLOG_JOBS / 2 || bytes > config.UPLOAD_BACKLOG_BYTES / 2;
    metrics.backlogJobs.set(jobs);
    metrics.backlogBytes.set(bytes);
  };
  const lookOnce = async (): Promise<void> => {
    if (looking || redis.status !== 'ready') return;
    looking = true;
    await look().catch(() => undefined);
    looking = false;
  };

  await lookOnce();
  const timer = setInterval(() => void lookOnce(), pollMs);
  return {
    get full() {
      return jobsFull || memoryFull;
    },
    get lateFull() {
      return lateFull;
    },
    get memoryFull() {
      return memoryFull;
    },
    stop: () => clearInterval(timer),
  };
}

/** Redis, INFO, section Memory; 0 for a server that does not tell. */
function usedMemory(info: string): number {
  return Number(/^used_memory:(\d+)/m.exec(info)?.[1] ?? 0);
}
