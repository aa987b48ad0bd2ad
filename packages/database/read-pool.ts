import { setTimeout as delay } from 'node:timers/promises';
import type { LastWrite } from '@odograph/runtime/last-write';
import type { Logger } from '@odograph/runtime/logger';
import { Kysely, PostgresDialect, type PostgresPool } from 'kysely';
import type { Pool } from 'pg';
import { createPool, type PoolOptions } from './pool.ts';
import { openSessions } from './session.ts';
import type { Tables } from './tables.ts';

const pollMs = 1000;
/** Time for a server to answer a poll. */
const timeoutMs = 3000;
/** Number of WAL positions of the primary to keep, for an hour of lags. */
const maxPositions = 3600;

/** One of the databases that reads may go to. */
export interface ReadServer {
  /** Host and port. */
  readonly address: string;
  readonly role: 'primary' | 'standby' | 'away';
  /** Age of the data of the standby, in seconds; undefined while unknown. */
  readonly lagSeconds: number | undefined;
  /** Statements and transactions sent to it. */
  readonly reads: number;
}

interface ReadPoolOptions extends Omit<PoolOptions, 'url'> {
  /** Servers, whose roles may change; the last one counts as the primary while none answers. */
  readonly urls: readonly string[];
  readonly lastWrite: LastWrite;
  readonly logger: Logger;
  /** Standbys with more lag serve no reads. */
  readonly maxLagMs: number;
}

interface Position {
  readonly isStandby: boolean;
  /** Bytes of WAL that were written (primary) or replayed (standby). */
  readonly lsn: bigint;
}

/** A server with its state at the last poll. */
class Server implements ReadServer {
  readonly address: string;
  readonly sessions: PostgresPool;
  role: ReadServer['role'] = 'away';
  lagSeconds: number | undefined;
  reads = 0;
  lsn = 0n;
  /** The last write that the standby is known to have replayed. */
  shownWrite: string | null | undefined;
  /** A dedicated connection, because those of the pool may all be in use. */
  readonly #polls: Pool;

  constructor(url: string, options: Omit<PoolOptions, 'url'>) {
    const { host, hostname } = new URL(url);
    this.address = host || hostname || 'local';
    this.sessions = openSessions(createPool({ ...options, url }), 0);
    const { name } = options;
    this.#polls = createPool({
      url,
      name: `${name}-poll`,
      size: 1,
      statementTimeoutMs: timeoutMs,
      silenceMs: timeoutMs,
    });
  }

  async position(): Promise<Position> {
    const query = this.#polls.query<{ isStandby: boolean; lsn: string }>(
      `select pg_is_in_recovery() as "isStandby", ((case when pg_is_in_recovery() then pg_last_wal_replay_lsn()
        else pg_current_wal_flush_lsn() end) - '0/0')::text as lsn`,
    );
    const timeout = new AbortController();
    try {
      const result = await Promise.race([query, delay(timeoutMs, undefined, { signal: timeout.signal })]);
      const row = result?.rows[0];
      if (row === undefined) throw new Error('no answer');
      return { isStandby: row.isStandby, lsn: BigInt(row.lsn) };
    } finally {
      query.catch(() => undefined);
      timeout.abort();
    }
  }

  async end(): Promise<void> {
    await Promise.all([this.sessions.end(), this.#polls.end()]);
  }
}

/**
 * Distributes reads over a primary and its standbys. A statement or transaction goes to the freshest standby that has
 * every write over HTTP answered before; otherwise to the primary, also while all standbys are unavailable or stale.
 */
export class ReadPool {
  /** Reads from a standby if one is fresh enough. */
  readonly db: Kysely<Tables>;
  /** Reads from the primary, for readers that must see changes as soon as they are announced. */
  readonly primary: Kysely<Tables>;
  readonly #options: ReadPoolOptions;
  readonly #servers: readonly Server[];
  readonly #stopped = new AbortController();
  /** WAL positions of the primary over time, oldest first; the lag of a standby is the age of its replay position. */
  #written: { readonly atMs: number; readonly lsn: bigint }[] = [];
  #freshest: Server | undefined;
  #target: { readonly write: string | null; readonly lsn: Promise<bigint> } | undefined;
  #polling: Promise<void> = Promise.resolve();

  constructor(options: ReadPoolOptions) {
    this.#options = options;
    this.#servers = options.urls.map((url) => new Server(url, options));
    const open = (choose: () => Server | Promise<Server>, end: () => Promise<void>) =>
      new Kysely<Tables>({ dialect: new PostgresDialect({ pool: { connect: () => this.#connect(choose), end } }) });
    this.db = open(
      () => this.#choose(),
      () => this.#end(),
    );
    this.primary = open(
      () => this.#primary(),
      async () => undefined,
    );
  }

  /** Polls the servers now and every second. */
  async start(): Promise<void> {
    await this.#pollAll();
    this.#polling = this.#pollOn();
  }

  get servers(): readonly ReadServer[] {
    return this.#servers;
  }

  /** Ends polling and all connections. */
  async stop(): Promise<void> {
    await this.db.destroy();
  }

  async #end(): Promise<void> {
    this.#stopped.abort();
    await this.#polling;
    await Promise.all(this.#servers.map((server) => server.end()));
  }

  #primary(): Server {
    const primary = this.#servers.find(({ role }) => role === 'primary') ?? this.#servers.at(-1);
    if (primary === undefined) throw new Error('no database is configured');
    return primary;
  }

  async #connect(choose: () => Server | Promise<Server>) {
    const server = await choose();
    try {
      const session = await server.sessions.connect();
      server.reads += 1;
      return session;
    } catch (error) {
      if (server.role !== 'standby') throw error;
      server.role = 'away';
      this.#freshest = undefined;
      return this.#primary().sessions.connect();
    }
  }

  /** Chooses a server that has every write answered until now. */
  async #choose(): Promise<Server> {
    const standby = this.#freshest;
    if (standby === undefined) return this.#primary();
    try {
      const write = await this.#options.lastWrite.read();
      if (standby.shownWrite === write) return standby;
      const lsn = await this.#writtenBy(write);
      if (standby.lsn < lsn) standby.lsn = (await standby.position()).lsn;
      if (standby.lsn < lsn) return this.#primary();
      standby.shownWrite = write;
      return standby;
    } catch {
      // Redis, the primary or the standby is unavailable: only the primary certainly has the write.
      return this.#primary();
    }
  }

  /** Returns a WAL position of the primary that includes a write; queries it once per write. */
  async #writtenBy(write: string | null): Promise<bigint> {
    if (this.#target === undefined || this.#target.write !== write) {
      const lsn = this.#primary()
        .position()
        .then((position) => {
          if (position.isStandby) throw new Error('there is no primary');
          return position.lsn;
        });
      this.#target = { write, lsn };
      lsn.catch(() => {
        this.#target = undefined;
      });
    }
    return this.#target.lsn;
  }

  async #pollOn(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await delay(pollMs, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.#pollAll();
    }
  }

  /** Polls the primary first, which gives standbys time to replay up to its position. */
  async #pollAll(): Promise<void> {
    const atMs = performance.now();
    const primary = this.#primary();
    await this.#poll(primary);
    await Promise.all(this.#servers.filter((server) => server !== primary).map((server) => this.#poll(server)));
    if (primary.role === 'primary') this.#written.push({ atMs, lsn: primary.lsn });
    this.#written = this.#written.slice(-maxPositions);
    this.#freshest = undefined;
    for (const server of this.#servers) {
      server.lagSeconds = server.role === 'standby' ? this.#lagOf(server) : undefined;
      const isUsable = server.lagSeconds !== undefined && server.lagSeconds * 1000 <= this.#options.maxLagMs;
      if (isUsable && server.lsn > (this.#freshest?.lsn ?? -1n)) this.#freshest = server;
    }
  }

  async #poll(server: Server): Promise<void> {
    const { role, lsn } = server;
    const { logger } = this.#options;
    try {
      const position = await server.position();
      server.role = position.isStandby ? 'standby' : 'primary';
      server.lsn = position.lsn;
    } catch (error) {
      server.role = 'away';
      if (role !== 'away') logger.warn({ server: server.address, err: error }, 'database unavailable');
    }
    // After a restart a standby may be further behind than before.
    if (server.role !== role || server.lsn < lsn) server.shownWrite = undefined;
    if (server.role !== role && server.role !== 'away') {
      logger.info({ server: server.address, role: server.role }, 'database found');
    }
  }

  /** Computes the lag. While the primary is unavailable nothing is written, and the lag does not change. */
  #lagOf({ lsn }: Server): number | undefined {
    const newest = this.#written.at(-1);
    const shown = this.#written.findLast((entry) => entry.lsn <= lsn);
    if (newest === undefined || shown === undefined) return undefined;
    return (newest.atMs - shown.atMs) / 1000;
  }
}
