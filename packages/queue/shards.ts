import { once } from 'node:events';
import { crc32 } from 'node:zlib';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { within } from '@odograph/runtime/clock';
import type { Logger } from '@odograph/runtime/logger';
import { connectRedis, neverRepeated, type Redis } from '@odograph/runtime/redis';
import { redisServers } from '@odograph/runtime/redis-url';
import { maxUploadShards } from '@odograph/runtime/settings';
import { countUnfinishedJobs, openQueue, type QueueConnection, queueNameOf, type TypedQueue } from './queues.ts';

export interface ShardSettings {
  readonly REDIS_URL: string;
  readonly QUEUE_PREFIX: string;
  readonly UPLOAD_SHARDS: number;
}

/** The two upload queues of a shard, live and late, on one server of REDIS_URL. */
export interface UploadShard extends QueueConnection {
  readonly shard: number;
  /** Index in REDIS_URL. */
  readonly server: number;
}

/** Returns the shard of a device. It must never change: jobs wait in the shard of their device. */
export const shardOf = (deviceId: string, shards: number): number => (shards === 1 ? 0 : crc32(deviceId) % shards);

function shardAt({ REDIS_URL, QUEUE_PREFIX }: Omit<ShardSettings, 'UPLOAD_SHARDS'>, shard: number, server: number) {
  const redisUrl = redisServers(REDIS_URL)[server] ?? REDIS_URL;
  // Redis uses only the first hash tag of a key; shards after the first have their own in the queue name.
  return { shard, server, redisUrl, prefix: shard === 0 ? QUEUE_PREFIX : QUEUE_PREFIX.replace(/[{}]/g, '') };
}

/** Lists the shards, spread over the servers of REDIS_URL. The first shard has the queues of an unsharded installation. */
export function listUploadShards(settings: ShardSettings): UploadShard[] {
  const servers = redisServers(settings.REDIS_URL).length;
  return Array.from({ length: settings.UPLOAD_SHARDS }, (_, shard) => shardAt(settings, shard, shard % servers));
}

/** A shard that the settings no longer name. */
export interface RetiredShard extends UploadShard {
  /** Its jobs that were not stored when it was found. */
  readonly jobs: number;
}

/**
 * Finds upload queues with jobs that other values of UPLOAD_SHARDS or REDIS_URL left behind.
 * @param servers clients of the servers of REDIS_URL; an unreachable one is left out
 */
export async function findRetiredShards(settings: ShardSettings, servers: readonly Redis[]): Promise<RetiredShard[]> {
  const current = new Set(listUploadShards(settings).map(({ shard, server }) => `${server} ${shard}`));
  const candidates = servers.flatMap((_, server) =>
    Array.from({ length: maxUploadShards }, (_one, shard) => shardAt(settings, shard, server)),
  );
  const retired = candidates.filter(({ shard, server }) => !current.has(`${server} ${shard}`));
  const jobs = await Promise.all(retired.map((shard) => countJobs(shard, servers[shard.server])));
  return retired.map((shard, index) => ({ ...shard, jobs: jobs[index] ?? 0 })).filter((shard) => shard.jobs > 0);
}

async function countJobs({ prefix, shard }: UploadShard, redis: Redis | undefined): Promise<number> {
  if (redis?.status !== 'ready') return 0;
  const lengths = (['uploads', 'late-uploads'] as const).flatMap((name) =>
    ['wait', 'active'].map((state) => redis.llen(`${prefix}:${queueNameOf(name, shard)}:${state}`).catch(() => 0)),
  );
  return (await Promise.all(lengths)).reduce((total, length) => total + length, 0);
}

/**
 * Maximum share of late uploads. They may be held for a long time while live ones are queued, and a waiting gateway
 * request holds their bytes a second time.
 */
const lateShare = 1 / 3;
/** However many shards there are, each can hold the uploads of a request of the largest size, of either lane. */
const maxParts = { all: 8, late: 4 };

/**
 * Counts bytes held for Redis. Each shard has an equal part of the maximum, at least an eighth of it, so an unavailable
 * one cannot use up the others'; late uploads may take a third, so they cannot use up the bytes of live ones.
 */
export class HeldByLane {
  readonly #all: HeldByShard;
  readonly #late: HeldByShard;

  constructor(maximumBytes: number, shards: number) {
    this.#all = new HeldByShard(maximumBytes, shards, maxParts.all);
    this.#late = new HeldByShard(maximumBytes * lateShare, shards, maxParts.late);
  }

  get total(): number {
    return this.#all.total;
  }

  /**
   * @returns false when it would exceed the part of the device's shard or lane, or the whole; then nothing is counted
   */
  reserve(deviceId: string, bytes: number, isLate: boolean): boolean {
    if (!this.#all.reserve(deviceId, bytes)) return false;
    if (!isLate || this.#late.reserve(deviceId, bytes)) return true;
    this.#all.release(deviceId, bytes);
    return false;
  }

  release(deviceId: string, bytes: number, isLate: boolean): void {
    this.#all.release(deviceId, bytes);
    if (isLate) this.#late.release(deviceId, bytes);
  }
}

class HeldByShard {
  readonly #maximum: number;
  readonly #part: number;
  readonly #bytes: number[];

  constructor(maximumBytes: number, shards: number, parts: number) {
    this.#maximum = maximumBytes;
    this.#part = maximumBytes / Math.min(shards, parts);
    this.#bytes = Array.from({ length: shards }, () => 0);
  }

  get total(): number {
    return this.#bytes.reduce((total, bytes) => total + bytes, 0);
  }

  reserve(deviceId: string, bytes: number): boolean {
    const shard = shardOf(deviceId, this.#bytes.length);
    const held = (this.#bytes[shard] ?? 0) + bytes;
    if (held > this.#part || this.total + bytes > this.#maximum) return false;
    this.#bytes[shard] = held;
    return true;
  }

  release(deviceId: string, bytes: number): void {
    const shard = shardOf(deviceId, this.#bytes.length);
    this.#bytes[shard] = (this.#bytes[shard] ?? 0) - bytes;
  }
}

/** The open queues of a shard. */
export interface ShardQueues extends UploadShard {
  readonly uploads: TypedQueue<'uploads'>;
  readonly lateUploads: TypedQueue<'late-uploads'>;
}

/** Opens the queues of every shard, or of those given; the caller closes them. */
export function openShardQueues(
  settings: ShardSettings,
  shards: readonly UploadShard[] = listUploadShards(settings),
): { queues: ShardQueues[]; close(): Promise<void> } {
  const queues = shards.map((shard) => ({
    ...shard,
    uploads: openQueue('uploads', shard),
    lateUploads: openQueue('late-uploads', shard),
  }));
  const close = async () => {
    await Promise.all(queues.flatMap(({ uploads, lateUploads }) => [uploads.close(), lateUploads.close()]));
  };
  return { queues, close };
}

/** Counts the live and late jobs of a shard that are not stored. */
export async function countShardJobs({ uploads, lateUploads }: Pick<ShardQueues, 'uploads' | 'lateUploads'>) {
  const [live, late] = await Promise.all([countUnfinishedJobs(uploads), countUnfinishedJobs(lateUploads)]);
  return live + late;
}

const answerMs = 5000;

/** Reads the queues of all shards, those included that other values of UPLOAD_SHARDS or REDIS_URL left behind. */
async function readAllShards<Result>(
  settings: ShardSettings,
  logger: Logger,
  read: (shard: ShardQueues) => Promise<Result>,
): Promise<Result[]> {
  const servers = redisServers(settings.REDIS_URL).map((url) => connectRedis(url, logger, neverRepeated));
  try {
    await Promise.all(servers.map((redis) => once(redis, 'ready', { signal: AbortSignal.timeout(answerMs) })));
    const shards = [...listUploadShards(settings), ...(await findRetiredShards(settings, servers))];
    const { queues, close } = openShardQueues(settings, shards);
    try {
      return await within(answerMs, Promise.all(queues.map(read)));
    } finally {
      await close();
    }
  } finally {
    for (const redis of servers) redis.disconnect();
  }
}

/**
 * Counts the jobs of all shards that are not stored, also in queues that the settings no longer name.
 * @throws when a server does not answer
 */
export async function countUploadJobs(settings: ShardSettings, logger: Logger): Promise<number> {
  const counts = await readAllShards(settings, logger, countShardJobs);
  return counts.reduce((total, count) => total + count, 0);
}

const jobsPerPage = 100;

/**
 * Tells whether an upload that `isWanted` selects waits to be stored in any shard. A job that is retried at this moment may
 * be missed: ask twice.
 * @throws when a server does not answer
 */
export async function hasUpload(
  settings: ShardSettings,
  logger: Logger,
  isWanted: (upload: QueuedUpload) => boolean,
): Promise<boolean> {
  const find = async (queue: TypedQueue<'uploads'> | TypedQueue<'late-uploads'>): Promise<boolean> => {
    // A job goes from left to right.
    for (const state of ['delayed', 'prioritized', 'wait', 'active'] as const) {
      for (let first = 0, length = jobsPerPage; length === jobsPerPage; first += jobsPerPage) {
        const jobs = await queue.getJobs([state], first, first + jobsPerPage - 1);
        length = jobs.length;
        if (jobs.some((job) => job?.data.uploads.some(isWanted))) return true;
      }
    }
    return false;
  };
  const found = await readAllShards(settings, logger, async ({ uploads, lateUploads }) =>
    [await find(uploads), await find(lateUploads)].includes(true),
  );
  return found.includes(true);
}

/** Names shards in a message: nothing when there is only one. */
export const nameShards = (shards: readonly number[], total: number): string =>
  total === 1 ? '' : `${shards.length === 1 ? 'shard' : 'shards'} ${shards.join(', ')}: `;
