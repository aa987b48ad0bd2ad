import { accountsIn } from '@odograph/database/accounts';
import { Addresses } from '@odograph/database/addresses';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { ReadPool, type ReadServer } from '@odograph/database/read-pool';
import type { Tables } from '@odograph/database/tables';
import { operatorRoutes, tokenRoutes, viewerRoutes } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { readDatabaseUrls } from '@odograph/runtime/config';
import { LastWrite } from '@odograph/runtime/last-write';
import { Gauge, type Registry } from '@odograph/runtime/metrics';
import { connectRedis } from '@odograph/runtime/redis';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import type { Kysely } from 'kysely';
import { exportJobRoutes, exportRoutes, startExportJobs } from './exports/worker.ts';
import { gbfsOperatorRoutes, gbfsRoutes } from './gbfs/routes.ts';
import { startHomeAssistant } from './home-assistant/home-assistant.ts';
import { changeRoutes } from './live/changes.ts';
import { LiveStreams } from './live/live-streams.ts';
import { liveRoutes } from './live/routes.ts';
import { calendarRoutes } from './reads/bookings.ts';
import { customCanRoutes } from './reads/customcan.ts';
import { fleetAreaRoutes, fleetStatusRoutes } from './reads/fleet-status.ts';
import { breakRoutes, gapRoutes } from './reads/gaps.ts';
import { historyRoutes } from './reads/history.ts';
import { latestRoutes } from './reads/latest.ts';
import { recordRoutes } from './reads/records.ts';
import { seriesRoutes } from './reads/series.ts';
import { trackRoutes } from './reads/tracks.ts';
import { trailRoutes } from './reads/trail.ts';
import { tripRoutes } from './reads/trips.ts';
import { vehicleTableRoutes } from './reads/vehicle-table.ts';
import { reportRoutes } from './reports/routes.ts';
import { Answers } from './shared/answers.ts';
import { ReadBudget } from './shared/read-budget.ts';

const statementTimeoutMs = 30_000;
const budgetWaitMs = 10_000;
/** A client that reads an answer more slowly loses its connection: its answer would hold memory too long. */
const minimumBytesPerSecond = 32 * 1024;

/** The databases for reads. */
interface ReadDatabases {
  /** May lag, but has every answered write over HTTP. */
  readonly db: Kysely<Tables>;
  /** For live streams, which read a change as soon as it is announced. */
  readonly primary: Kysely<Tables>;
  describe(): string;
}

async function openReadDatabases({
  config,
  limits,
  logger,
  metrics,
  onStop,
}: ServiceHost<Http>): Promise<ReadDatabases> {
  const options = { name: 'query', size: config.DATABASE_POOL_SIZE, statementTimeoutMs };
  const [url, ...others] = readDatabaseUrls(config);
  if (url !== undefined && others.length === 0) {
    const db = openDatabase({ ...options, url });
    onStop('query database', () => db.destroy());
    return { db, primary: db, describe: () => 'running' };
  }
  const redis = connectRedis(config.REDIS_URL, logger);
  onStop('writes for reads', () => redis.disconnect());
  const pool = new ReadPool({
    ...{ ...options, urls: readDatabaseUrls(config), logger, maxLagMs: limits.maxStandbyLagMs },
    lastWrite: new LastWrite(redis, config.QUEUE_PREFIX, logger),
  });
  await pool.start();
  onStop('query databases', () => pool.stop());
  addReadMetrics(metrics, pool);
  return { db: pool.db, primary: pool.primary, describe: () => describeServers(pool.servers) };
}

function describeServers(servers: readonly ReadServer[]): string {
  const states = servers.map(({ address, role, lagSeconds }) =>
    role === 'standby' ? `standby ${address} lags ${lagSeconds?.toFixed(1) ?? 'over 3600'} s` : `${role} ${address}`,
  );
  return ['running', ...states].join('; ');
}

function addReadMetrics(metrics: Registry, pool: ReadPool): void {
  const labelNames = ['server', 'role'] as const;
  const add = (name: string, help: string, read: (server: ReadServer) => number | undefined) =>
    new Gauge({
      ...{ name, help, labelNames, registers: [metrics] },
      collect() {
        this.reset();
        for (const server of pool.servers) {
          const value = read(server);
          if (value !== undefined) this.set({ server: server.address, role: server.role }, value);
        }
      },
    });
  add('odograph_query_database_up', '1 while a database for reads answers', ({ role }) => (role === 'away' ? 0 : 1));
  add('odograph_query_standby_lag_seconds', 'Age of the data of a standby', ({ lagSeconds }) => lagSeconds);
  add('odograph_query_database_reads', 'Statements and transactions since the start', ({ reads }) => reads);
}

function createBudget({ limits, metrics }: ServiceHost<Http>): ReadBudget {
  const budget = new ReadBudget(limits.maxAnswerBytes, budgetWaitMs);
  new Gauge({
    name: 'odograph_query_answer_bytes',
    help: 'Bytes of answers reserved in memory until clients have read them',
    registers: [metrics],
    collect() {
      this.set(budget.heldBytes);
    },
  });
  return budget;
}

function openLiveStreams(host: ServiceHost<Http>, db: Kysely<Tables>): LiveStreams {
  const { config, limits, logger, metrics, onStop } = host;
  const { REDIS_URL: redisUrl, QUEUE_PREFIX: prefix } = config;
  const streams = new LiveStreams({ db, redisUrl, prefix, logger, metrics, heartbeatMs: limits.liveHeartbeatMs });
  onStop('live streams', () => streams.stop());
  return streams;
}

function openAddresses({ config, logger, onStop }: ServiceHost<Http>): Addresses {
  const redis = connectRedis(config.REDIS_URL, logger);
  onStop('wanted addresses', () => redis.disconnect());
  return new Addresses(redis, config);
}

/** An empty parameter counts as missing. */
async function dropEmptyParameters({ query }: { query: unknown }): Promise<void> {
  if (typeof query !== 'object' || query === null) return;
  for (const [name, value] of Object.entries(query)) if (value === '') Reflect.deleteProperty(query, name);
}

/**
 * Serves all reads: `reads/`, `live/`, `exports/` and `gbfs/`, and publishes vehicles by MQTT (`home-assistant/`). Writes
 * nothing to PostgreSQL, so its reads can go to standbys; its exports are files and jobs of a queue.
 */
export const queryService: Service<Http> = {
  name: 'query',
  async start(host) {
    const { db, primary, describe } = await openReadDatabases(host);
    const budget = createBudget(host);
    const answers = new Answers({ db, budget, minimumBytesPerSecond, rateWindowMs: host.limits.answerRateWindowMs });

    const addresses = openAddresses(host);
    const live = openLiveStreams(host, primary);
    const exportJobs = startExportJobs(host, db, addresses);
    host.onStop('Home Assistant', startHomeAssistant({ ...host, db: primary }));

    await host.http.register(async (http: Http) => {
      http.addHook('preValidation', dropEmptyParameters);
      await tokenRoutes(http, accountsIn(db, host.config), [
        latestRoutes(answers),
        fleetStatusRoutes(db, addresses),
        historyRoutes(answers),
        customCanRoutes(answers, db),
        gapRoutes(db),
        tripRoutes(answers, db, addresses),
        trackRoutes(db),
        changeRoutes(answers),
        exportRoutes(answers, db, addresses),
        exportJobRoutes(exportJobs.jobs, db),
      ]);
      const guard = { accounts: accountsIn(db, host.config), adminToken: host.adminToken };
      await viewerRoutes(http, guard, [
        vehicleTableRoutes(db, addresses),
        fleetAreaRoutes(db),
        seriesRoutes(db),
        trailRoutes(db),
        recordRoutes(db),
        breakRoutes(db),
        calendarRoutes(db),
        reportRoutes(answers, db, addresses),
        liveRoutes(live),
      ]);
      await operatorRoutes(http, guard, [gbfsOperatorRoutes(db)]);
      await gbfsRoutes(db)(http);
    });

    return {
      async health() {
        await pingDatabase(db);
        const faults = [...(live.fault === undefined ? [] : [live.fault]), ...exportJobs.faults()];
        return { ok: faults.length === 0, state: faults.join('; ') || describe() };
      },
    };
  },
};
