import type { FailureReports } from '@odograph/runtime/background-failures';
import { within } from '@odograph/runtime/clock';
import type { Limits } from '@odograph/runtime/limits';
import type { Gauge } from '@odograph/runtime/metrics';
import { askPrimaries, isCluster, type Redis } from '@odograph/runtime/redis';
import { countShardJobs } from './shards.ts';

const pollMs = 500;
/** After a fail-over of a cluster, ioredis may lose a command and never settle its promise. */
const answerTimeoutMs = 5000;
/** Redis memory that uploads may fill without `maxmemory`. */
const defaultMaxBytes = 2 * 1024 ** 3;
/**
 * Part of Redis's `maxmemory` that uploads may fill. The rest is for what arrives between two measurements, and for ingest,
 * whose requests Redis would refuse too (OOM) once it is full.
 */
const usableMemory = 0.75;

/** The backlog in the Redis of a shard, as last measured. */
export interface Backlog {
  /** More upload jobs than `maxBacklogJobs`, or no memory: uploads are held. */
  readonly isFull: boolean;
  /** More than half of either is used: late uploads are held, so that live ones have room. */
  readonly isLateFull: boolean;
  /** Redis uses more than three quarters of its maxmemory; without one, more than 2 GiB. All uploads are held. */
  readonly isMemoryFull: boolean;
  /** Reason why uploads are held, with the remedy. */
  readonly fault: string | undefined;
}

type Countable = Parameters<typeof countShardJobs>[0] & { readonly shard: number };

export interface BacklogOptions {
  /** The shards on one server. Late uploads that ingest has set aside count too. */
  readonly shards: readonly Countable[];
  readonly redis: Redis;
  readonly limits: Pick<Limits, 'maxBacklogJobs'>;
  readonly metrics: { readonly backlogJobs: Gauge<'shard'>; readonly backlogBytes: Gauge<'server'> };
  /** Index of the server in REDIS_URL. */
  readonly server?: number;
  readonly failures: FailureReports<'backlog'>;
}

interface Memory {
  readonly bytes: number;
  readonly maxBytes: number;
  readonly isLogWritten: boolean;
}

/** Reads the memory of a server, or of the fullest primary of a cluster. @throws when none answers */
async function readMemory(redis: Redis): Promise<Memory> {
  const servers = await askPrimaries(redis, async (server) => {
    const [info, persistence] = await Promise.all([server.info('memory'), server.info('persistence')]);
    const maxBytes = usableMemory * maximumMemory(info) || defaultMaxBytes;
    return { bytes: usedMemory(info), maxBytes, isLogWritten: !/^aof_last_write_status:err/m.test(persistence) };
  });
  return servers.reduce((fullest, one) => ({
    ...(one.bytes / one.maxBytes > fullest.bytes / fullest.maxBytes ? one : fullest),
    isLogWritten: one.isLogWritten && fullest.isLogWritten,
  }));
}

/**
 * Measures the backlog of a server twice a second. A failed measurement keeps the last value and is reported.
 * @returns the backlog of each shard: all share the limits of their server
 */
export async function watchBacklog(options: BacklogOptions): Promise<{ backlogs: Backlog[]; stop(): void }> {
  const { shards, redis, limits, metrics, failures, server = 0 } = options;
  const jobsOf = new Map<number, number>();
  /** Shards of a cluster whose primary does not answer; the client itself is ready while any node is. */
  const unreachable = new Set<number>();
  let jobs = 0;
  let { bytes, maxBytes, isLogWritten }: Memory = { bytes: 0, maxBytes: defaultMaxBytes, isLogWritten: true };
  let isMeasuring = false;

  const measureJobs = async (one: Countable): Promise<void> => {
    const { shard } = one;
    try {
      jobsOf.set(shard, await within(answerTimeoutMs, countShardJobs(one)));
      unreachable.delete(shard);
    } catch (error) {
      if (!isCluster(redis)) throw error;
      unreachable.add(shard);
    }
    jobs = [...jobsOf.values()].reduce((total, count) => total + count, 0);
    metrics.backlogJobs.set({ shard }, jobsOf.get(shard) ?? 0);
  };
  const measureMemory = async (): Promise<void> => {
    ({ bytes, maxBytes, isLogWritten } = await within(answerTimeoutMs, readMemory(redis)));
    metrics.backlogBytes.set({ server }, bytes);
  };
  const measure = async (): Promise<void> => {
    if (isMeasuring || redis.status !== 'ready') return;
    isMeasuring = true;
    const results = await Promise.allSettled([...shards.map(measureJobs), measureMemory()]);
    isMeasuring = false;
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) failures.failed('backlog', failure.reason);
    else failures.succeeded('backlog');
  };

  // Memory that Redis uses without any job is no backlog: holding uploads would never free it.
  const exceeds = (limitBytes: number): boolean => jobs > 0 && bytes > limitBytes;
  const exceedsJobs = (): boolean => jobs > limits.maxBacklogJobs;
  const describeFault = (shard: number): string | undefined => {
    if (redis.status !== 'ready' || unreachable.has(shard)) return faults.unreachable;
    if (!isLogWritten) return faults.logNotWritten;
    if (exceeds(maxBytes)) return faults.exceedsMemory(bytes);
    return exceedsJobs() ? faults.exceedsJobs(limits) : undefined;
  };

  await measure();
  const timer = setInterval(() => void measure(), pollMs);
  const backlogs = shards.map(
    ({ shard }): Backlog => ({
      get isFull() {
        return exceedsJobs() || exceeds(maxBytes);
      },
      get isLateFull() {
        return jobs > limits.maxBacklogJobs / 2 || exceeds(maxBytes / 2);
      },
      get isMemoryFull() {
        return exceeds(maxBytes);
      },
      get fault() {
        return describeFault(shard);
      },
    }),
  );
  return { backlogs, stop: () => clearInterval(timer) };
}

const faults = {
  unreachable: 'Redis is unreachable; if it exited, see its log (a full disk ends it)',
  logNotWritten: 'Redis cannot write its log: free space on its disk',
  exceedsMemory(bytes: number): string {
    const used = `${Math.round(bytes / 1024 ** 2)} MiB used`;
    return `the backlog exceeds its limit of memory in Redis (${used}): check that ingest is running`;
  },
  exceedsJobs: ({ maxBacklogJobs }: BacklogOptions['limits']): string =>
    `the backlog exceeds its limit of ${maxBacklogJobs} jobs`,
};

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
