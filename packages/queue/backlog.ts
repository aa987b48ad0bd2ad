import type { FailureReports } from '@odograph/runtime/background-failures';
import type { Limits } from '@odograph/runtime/limits';
import type { Gauge } from '@odograph/runtime/metrics';
import type { Redis } from '@odograph/runtime/redis';
import { countUnfinishedJobs, type TypedQueue } from './queues.ts';

const pollMs = 500;
/** Redis memory that uploads may fill without `maxmemory`. */
const defaultMaxBytes = 2 * 1024 ** 3;
/**
 * Part of Redis's `maxmemory` that uploads may fill. The rest is for what arrives between two measurements, and for ingest,
 * whose requests Redis would refuse too (OOM) once it is full.
 */
const usableMemory = 0.75;

/** How much waits in Redis, at the last look. */
export interface Backlog {
  /** More upload jobs than `maxBacklogJobs`, or no memory: uploads are held. */
  readonly isFull: boolean;
  /** More than half of either is used: late uploads are held, so that live ones have room. */
  readonly isLateFull: boolean;
  /** Redis uses more than three quarters of its maxmemory; without one, more than 2 GiB. All uploads are held. */
  readonly isMemoryFull: boolean;
  /** Reason why uploads are held, with the remedy. */
  readonly fault: string | undefined;
  stop(): void;
}

export interface BacklogOptions {
  readonly uploads: TypedQueue<'uploads'>;
  /** Late uploads that ingest has set aside count too. */
  readonly lateUploads: TypedQueue<'late-uploads'>;
  readonly redis: Redis;
  readonly limits: Pick<Limits, 'maxBacklogJobs'>;
  readonly metrics: { readonly backlogJobs: Gauge; readonly backlogBytes: Gauge };
  readonly failures: FailureReports<'backlog'>;
}

/** Measures the backlog twice a second. What cannot be measured keeps its last value, and is reported. */
export async function watchBacklog(options: BacklogOptions): Promise<Backlog> {
  const { uploads, lateUploads, redis, metrics, failures } = options;
  const { maxBacklogJobs } = options.limits;
  let jobs = 0;
  let bytes = 0;
  let maxBytes = defaultMaxBytes;
  let isLogWritten = true;
  let isMeasuring = false;

  const measureJobs = async (): Promise<void> => {
    const [own, late] = await Promise.all([countUnfinishedJobs(uploads), countUnfinishedJobs(lateUploads)]);
    jobs = own + late;
    metrics.backlogJobs.set(jobs);
  };
  const measureMemory = async (): Promise<void> => {
    const [info, persistence] = await Promise.all([redis.info('memory'), redis.info('persistence')]);
    isLogWritten = !/^aof_last_write_status:err/m.test(persistence);
    bytes = usedMemory(info);
    maxBytes = usableMemory * maximumMemory(info) || defaultMaxBytes;
    metrics.backlogBytes.set(bytes);
  };
  const measure = async (): Promise<void> => {
    if (isMeasuring || redis.status !== 'ready') return;
    isMeasuring = true;
    const results = await Promise.allSettled([measureJobs(), measureMemory()]);
    isMeasuring = false;
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) failures.failed('backlog', failure.reason);
    else failures.succeeded('backlog');
  };

  // Memory that Redis uses without any job is no backlog: holding uploads would never free it.
  const exceeds = (limitBytes: number): boolean => jobs > 0 && bytes > limitBytes;
  const exceedsJobs = (): boolean => jobs > maxBacklogJobs;

  await measure();
  const timer = setInterval(() => void measure(), pollMs);
  return {
    get isFull() {
      return exceedsJobs() || exceeds(maxBytes);
    },
    get isLateFull() {
      return jobs > maxBacklogJobs / 2 || exceeds(maxBytes / 2);
    },
    get isMemoryFull() {
      return exceeds(maxBytes);
    },
    get fault() {
      if (redis.status !== 'ready') return 'Redis is unreachable; if it exited, see its log (a full disk ends it)';
      if (!isLogWritten) return 'Redis cannot write its log: free space on its disk';
      if (exceeds(maxBytes)) {
        return `the backlog exceeds its limit of memory in Redis (${mebibytes(bytes)} used): see that ingest stores it`;
      }
      return exceedsJobs() ? `the backlog exceeds its limit of ${maxBacklogJobs} jobs` : undefined;
    },
    stop: () => clearInterval(timer),
  };
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 ** 2)} MiB`;

/** @throws when INFO (section Memory) lacks the value */
function usedMemory(info: string): number {
  const bytes = /^used_memory:(\d+)/m.exec(info)?.[1];
  if (bytes === undefined) throw new Error('INFO of Redis does not contain used_memory');
  return Number(bytes);
}

/** Returns maxmemory of INFO (section Memory); 0 when there is none. */
function maximumMemory(info: string): number {
  return Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0);
}
