import { setTimeout as delay } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { createPool, isPooled } from '@odograph/database/pool';
import { openWorker, type WorkOptions } from '@odograph/queue/queues';
import { findRetiredShards, listUploadShards, type RetiredShard, type UploadShard } from '@odograph/queue/shards';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { connectRedis, neverRepeated, type Redis } from '@odograph/runtime/redis';
import { redisServers } from '@odograph/runtime/redis-url';
import { maxUploadShards } from '@odograph/runtime/settings';
import type { Pool, PoolClient } from 'pg';

/** Interval of the checks for shards without an ingest process. */
const checkMs = 2000;
/** Idle timeout of the session: PostgreSQL then frees the shards of a process that hangs. */
const silentSessionMs = 10_000;
/** Longer than a transaction: handing over a shard waits for its jobs in progress. */
const maxUncheckedMs = 45_000;
const retiredCheckMs = 10_000;

/** Key of the shared lock that every ingest process holds; the other keys are those of shards. */
const presenceKey = 0;

/** Returns the class of the locks, which separates installations on one database. */
export const lockClassOf = ({ QUEUE_PREFIX }: Pick<ResolvedConfig, 'QUEUE_PREFIX'>): number =>
  crc32(`${QUEUE_PREFIX} upload shards`) >>> 1;

const lockKeyOf = ({ server, shard }: UploadShard): number => server * maxUploadShards + shard + 1;

/**
 * A PostgreSQL session whose advisory locks assign shards to ingest processes. PostgreSQL frees them when the process ends
 * or hangs. A brief overlap of two processes on one shard is harmless: they wait for each other's row locks.
 */
class ShardSession {
  readonly #client: PoolClient;
  readonly #lockClass: number;

  private constructor(client: PoolClient, lockClass: number) {
    this.#client = client;
    this.#lockClass = lockClass;
  }

  static async open(pool: Pool, lockClass: number): Promise<ShardSession> {
    const session = new ShardSession(await pool.connect(), lockClass);
    try {
      await session.#client.query(
        "select set_config('idle_session_timeout', $1, false), pg_advisory_lock_shared($2, $3)",
        [String(silentSessionMs), lockClass, presenceKey],
      );
      return session;
    } catch (error) {
      session.end();
      throw error;
    }
  }

  /** Returns how many of `shards` this process should work: an equal part; the remainder goes to those that hold most. */
  async fairShare(shards: number): Promise<number> {
    const { rows } = await this.#client.query<{ is_own: boolean }>(
      `select pid = pg_backend_pid() as is_own from pg_locks
       where locktype = 'advisory' and classid = $1 and granted
         and database = (select oid from pg_database where datname = current_database())
       group by pid order by count(*) desc, pid`,
      [this.#lockClass],
    );
    const rank = rows.findIndex(({ is_own: isOwn }) => isOwn);
    return Math.floor(shards / rows.length) + (rank < shards % rows.length ? 1 : 0);
  }

  async acquire(shard: UploadShard): Promise<boolean> {
    const { rows } = await this.#client.query<{ acquired: boolean }>(
      'select pg_try_advisory_lock($1, $2) as acquired',
      [this.#lockClass, lockKeyOf(shard)],
    );
    return rows[0]?.acquired === true;
  }

  async release(shard: UploadShard): Promise<void> {
    await this.#client.query('select pg_advisory_unlock($1, $2)', [this.#lockClass, lockKeyOf(shard)]);
  }

  /** Ends the connection, and with it the locks. */
  end(): void {
    this.#client.release(true);
  }
}

type LaneOptions<Name extends 'uploads' | 'late-uploads'> = Pick<
  WorkOptions<Name>,
  'process' | 'concurrency' | 'maxRetryMs'
>;

export interface ShardWorkersOptions {
  readonly config: ResolvedConfig;
  readonly logger: Logger;
  /** Jobs that all shards of this process have in progress together. */
  readonly live: LaneOptions<'uploads'>;
  readonly late: LaneOptions<'late-uploads'>;
  onFailure(error: Error, jobId: string | undefined): void;
  /** Called once this process stops working a queue of live uploads; jobs in progress may be unfinished. */
  onStopped(queue: string): void;
}

/** The workers of one shard. */
interface WorkedShard {
  readonly shard: UploadShard;
  readonly workers: readonly [live: ReturnType<typeof openWorker>, late: ReturnType<typeof openWorker>];
  isLocked: boolean;
}

/**
 * Processes an equal part of the shards; no other process has the same ones. Every 2 s, checks for shards whose process has
 * ended and takes them over.
 */
export class ShardWorkers {
  readonly #options: ShardWorkersOptions;
  readonly #servers: readonly Redis[];
  readonly #pool: Pool;
  readonly #worked = new Map<number, WorkedShard>();
  readonly #end = new AbortController();
  readonly #checks: Promise<void>;
  #session: ShardSession | undefined;
  #checkedAtMs = performance.now();
  #hasFailed = false;
  #retired: RetiredShard[] = [];
  #retiredCheckedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ShardWorkersOptions) {
    this.#options = options;
    const { config, logger } = options;
    // A check that waited until a server is back would leave the shards of the others without one.
    this.#servers = redisServers(config.REDIS_URL).map((url) => connectRedis(url, logger, neverRepeated));
    this.#pool = createPool({ url: config.DATABASE_URL, name: 'ingest-shards', size: 1, silenceMs: silentSessionMs });
    this.#checks = this.#checkRepeatedly();
  }

  /** Describes why shards may be without a process; undefined while this one works its own. */
  get fault(): string | undefined {
    const workers = [...this.#worked.values()].flatMap((worked) => worked.workers);
    if (workers.some((worker) => !worker.isRunning())) return 'not processing uploads';
    const uncheckedMs = performance.now() - this.#checkedAtMs;
    return uncheckedMs < maxUncheckedMs ? undefined : `shards not checked for ${Math.floor(uncheckedMs / 1000)} s`;
  }

  /** Lists the shards that this process works. */
  get shards(): number[] {
    return [...this.#worked.values()].map(({ shard: { shard } }) => shard);
  }

  /** Lists the shards with jobs that the settings no longer name, as found within the last 10 s. */
  get retired(): readonly RetiredShard[] {
    return this.#retired;
  }

  /** Stops after the jobs in progress. */
  async close(): Promise<void> {
    this.#end.abort();
    await this.#checks;
    await Promise.all([...this.#worked.values()].map((worked) => this.#stop(worked)));
    this.#endSession();
    await this.#pool.end();
    for (const redis of this.#servers) redis.disconnect();
  }

  async #checkRepeatedly(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        await this.#check();
        this.#checkedAtMs = performance.now();
        this.#hasFailed = false;
      } catch (err) {
        // Keep the workers: without a database no process could store anything.
        this.#endSession();
        if (!this.#hasFailed) this.#options.logger.warn({ err }, 'shards not checked; retrying');
        this.#hasFailed = true;
      }
      await delay(checkMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #check(): Promise<void> {
    const { config } = this.#options;
    const shards = await this.#findShards();
    if (isPooled(config.DATABASE_URL)) return this.#workAll(shards);
    this.#session ??= await ShardSession.open(this.#pool, lockClassOf(config));
    const session = this.#session;
    await this.#keepLocked(session, new Set(shards.map(lockKeyOf)));
    const share = await session.fairShare(shards.length);
    for (const worked of [...this.#worked.values()].slice(share)) await this.#release(session, worked);
    for (const shard of shards) {
      if (this.#worked.size >= share || this.#end.signal.aborted) break;
      if (this.#worked.has(lockKeyOf(shard)) || !(await session.acquire(shard))) continue;
      this.#work(shard);
    }
    this.#divideConcurrency();
  }

  /** Ends the session; the next one reacquires the locks of this process. */
  #endSession(): void {
    this.#session?.end();
    this.#session = undefined;
    for (const worked of this.#worked.values()) worked.isLocked = false;
  }

  /** Stops shards that are drained, and those that another process took while this one had no session. */
  async #keepLocked(session: ShardSession, listed: ReadonlySet<number>): Promise<void> {
    for (const worked of this.#worked.values()) {
      if (!worked.isLocked) worked.isLocked = await session.acquire(worked.shard);
      if (!worked.isLocked) await this.#stop(worked);
      else if (!listed.has(lockKeyOf(worked.shard))) await this.#release(session, worked);
    }
  }

  /** Processes every shard: a pooler shares sessions between clients, so advisory locks cannot assign shards. */
  async #workAll(shards: readonly UploadShard[]): Promise<void> {
    const listed = new Set(shards.map(lockKeyOf));
    for (const worked of this.#worked.values()) if (!listed.has(lockKeyOf(worked.shard))) await this.#stop(worked);
    for (const shard of shards) {
      if (!this.#worked.has(lockKeyOf(shard))) this.#work(shard);
    }
    this.#divideConcurrency();
  }

  async #findShards(): Promise<UploadShard[]> {
    const { config } = this.#options;
    if (performance.now() - this.#retiredCheckedAtMs >= retiredCheckMs) {
      this.#retired = await findRetiredShards(config, this.#servers);
      // Right after the start, servers may not be connected yet.
      if (this.#servers.every(({ status }) => status === 'ready')) this.#retiredCheckedAtMs = performance.now();
    }
    return [...listUploadShards(config), ...this.#retired];
  }

  #work(shard: UploadShard): void {
    const { live, late, onFailure } = this.#options;
    const workers: WorkedShard['workers'] = [
      openWorker({ ...shard, ...live, onFailure, name: 'uploads' }),
      openWorker({ ...shard, ...late, onFailure, name: 'late-uploads' }),
    ];
    this.#worked.set(lockKeyOf(shard), { shard, workers, isLocked: true });
  }

  /** Bounds the jobs in memory, however many shards this process works. */
  #divideConcurrency(): void {
    const { live, late } = this.#options;
    const part = (jobs: number) => Math.max(1, Math.floor(jobs / this.#worked.size));
    for (const { workers } of this.#worked.values()) {
      workers[0].concurrency = part(live.concurrency);
      workers[1].concurrency = part(late.concurrency);
    }
  }

  async #release(session: ShardSession, worked: WorkedShard): Promise<void> {
    await this.#stop(worked);
    if (worked.isLocked) await session.release(worked.shard);
    worked.isLocked = false;
  }

  async #stop(worked: WorkedShard): Promise<void> {
    this.#worked.delete(lockKeyOf(worked.shard));
    await Promise.all(worked.workers.map((worker) => worker.close()));
    this.#options.onStopped(worked.workers[0].name);
  }
}
