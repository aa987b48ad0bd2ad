import { setTimeout as delay } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { openConnection } from '@odograph/database/database';
import { isPooled } from '@odograph/database/pool';
import { openWorker, type WorkOptions } from '@odograph/queue/queues';
import { findRetiredShards, listUploadShards, type UploadShard } from '@odograph/queue/shards';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { redisServers } from '@odograph/runtime/redis-url';
import { maxUploadShards } from '@odograph/runtime/settings';

type Client = Awaited<ReturnType<typeof openConnection>>['client'];

/** Interval of the checks for shards without an ingest process. */
const checkMs = 2000;
/** PostgreSQL ends the session of a process that does not check for this long, and so frees its shards. */
const silentSession = '10s';
const retiredCheckMs = 10_000;

/** Key of the lock that each ingest process shares; the others are those of shards. */
const presenceKey = 0;

/** Class of the locks: installations of one database have locks of their own. */
export const lockClassOf = ({ QUEUE_PREFIX }: Pick<ResolvedConfig, 'QUEUE_PREFIX'>): number =>
  crc32(`${QUEUE_PREFIX} upload shards`) >>> 1;

const lockKeyOf = ({ server, shard }: UploadShard): number => server * maxUploadShards + shard + 1;

/**
 * A session of PostgreSQL whose advisory locks say which ingest process works which shard. The engine frees them as soon as
 * the process ends or hangs. Two processes that work one shard for a moment would only wait for each other's row locks.
 */
class ShardSession {
  readonly #client: Client;
  readonly #lockClass: number;

  private constructor(client: Client, lockClass: number) {
    this.#client = client;
    this.#lockClass = lockClass;
  }

  static async open(config: ResolvedConfig, onEnd: () => void): Promise<ShardSession> {
    const { client } = await openConnection(config.DATABASE_URL, 'ingest-shards');
    client.on('error', onEnd);
    client.on('end', onEnd);
    const session = new ShardSession(client, lockClassOf(config));
    await client.query(`select set_config('idle_session_timeout', $1, false), pg_advisory_lock_shared($2, $3)`, [
      ...[silentSession, session.#lockClass, presenceKey],
    ]);
    return session;
  }

  /** Returns how many of so many shards this process should work: an equal part, the rest by those that hold more. */
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
      [...[this.#lockClass, lockKeyOf(shard)]],
    );
    return rows[0]?.acquired === true;
  }

  async release(shard: UploadShard): Promise<void> {
    await this.#client.query('select pg_advisory_unlock($1, $2)', [this.#lockClass, lockKeyOf(shard)]);
  }

  async close(): Promise<void> {
    // The embedded database shares its locks among all connections.
    await this.#client.query('select pg_advisory_unlock_shared($1, $2)', [this.#lockClass, presenceKey]);
    await this.#client.end();
  }
}

type LaneOptions<Name extends 'uploads' | 'late-uploads'> = Pick<WorkOptions<Name>, 'process' | 'concurrency'>;

export interface ShardWorkersOptions {
  readonly config: ResolvedConfig;
  readonly logger: Logger;
  /** Jobs that all shards of this process have in progress together. */
  readonly live: LaneOptions<'uploads'>;
  readonly late: LaneOptions<'late-uploads'>;
  onFailure(error: Error, jobId: string | undefined): void;
}

/** The workers of one shard. */
interface WorkedShard {
  readonly shard: UploadShard;
  readonly workers: readonly [live: ReturnType<typeof openWorker>, late: ReturnType<typeof openWorker>];
  isLocked: boolean;
}

/**
 * Works the shards of this process: an equal part of all, each worked by no other process. Shards of a process that ends are
 * taken over at the next check, every two seconds.
 */
export class ShardWorkers {
  readonly #options: ShardWorkersOptions;
  readonly #servers: readonly Redis[];
  readonly #worked = new Map<number, WorkedShard>();
  readonly #end = new AbortController();
  readonly #checks: Promise<void>;
  #session: ShardSession | undefined;
  #retired: UploadShard[] = [];
  #retiredCheckedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ShardWorkersOptions) {
    this.#options = options;
    this.#servers = redisServers(options.config.REDIS_URL).map((url) => connectRedis(url, options.logger));
    this.#checks = this.#checkRepeatedly();
  }

  get isRunning(): boolean {
    return [...this.#worked.values()].every(({ workers }) => workers.every((worker) => worker.isRunning()));
  }

  /** Lists the shards that this process works. */
  get shards(): number[] {
    return [...this.#worked.values()].map(({ shard: { shard } }) => shard);
  }

  /** Waits for the jobs in progress. */
  async close(): Promise<void> {
    this.#end.abort();
    await this.#checks;
    await Promise.all([...this.#worked.values()].map((worked) => this.#stop(worked)));
    await this.#session?.close().catch(() => undefined);
    for (const redis of this.#servers) redis.disconnect();
  }

  async #checkRepeatedly(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      // Without a database, nothing can be stored anyway; workers stay.
      await this.#check().catch((err: unknown) => this.#options.logger.debug({ err }, 'shards not checked'));
      await delay(checkMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #check(): Promise<void> {
    const { config } = this.#options;
    if (isPooled(config.DATABASE_URL)) return this.#workAll();
    const session = this.#session ?? (await this.#openSession());
    const shards = await this.#findShards();
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

  /** Stops shards that are drained, and those that another process took while this one had no session. */
  async #keepLocked(session: ShardSession, listed: ReadonlySet<number>): Promise<void> {
    for (const worked of this.#worked.values()) {
      if (!worked.isLocked) worked.isLocked = await session.acquire(worked.shard);
      if (!worked.isLocked) await this.#stop(worked);
      else if (!listed.has(lockKeyOf(worked.shard))) await this.#release(session, worked);
    }
  }

  async #openSession(): Promise<ShardSession> {
    const session = await ShardSession.open(this.#options.config, () => {
      if (this.#session !== session) return;
      this.#session = undefined;
      for (const worked of this.#worked.values()) worked.isLocked = false;
    });
    this.#session = session;
    return session;
  }

  /** Works every shard, as other processes then do: a pooler shares its sessions, so their locks say nothing. */
  async #workAll(): Promise<void> {
    const shards = await this.#findShards();
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
      this.#retiredCheckedAtMs = performance.now();
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
  }
}
