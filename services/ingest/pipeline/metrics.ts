import type { Database } from '@odograph/database/database';
import { findLastBackup } from '@odograph/database/installation';
import { countShardJobs, type RetiredShard, type ShardQueues } from '@odograph/queue/shards';
import { within } from '@odograph/runtime/clock';
import { Counter, Gauge, Histogram, type Registry } from '@odograph/runtime/metrics';
import { sql } from 'kysely';

/** Registers a gauge that is NaN while its value cannot be read. */
function addGauge(registry: Registry, name: string, help: string, read: () => number | Promise<number>): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await Promise.resolve(read()).catch(() => Number.NaN));
    },
  });
}

/** A queue that was never connected would wait until its Redis is back. */
const answerMs = 3000;

export interface CountedShards {
  readonly queues: readonly Pick<ShardQueues, 'shard' | 'uploads' | 'lateUploads'>[];
  /** With jobs that were left behind, possibly in a queue of the same shard on another server. */
  readonly retired: readonly Pick<RetiredShard, 'shard' | 'jobs'>[];
}

function addQueueDepth(registry: Registry, shards: CountedShards): void {
  new Gauge({
    name: 'odograph_ingest_queue_depth_jobs',
    help: 'Jobs of uploads that are not stored, by shard, even of shards that UPLOAD_SHARDS no longer names',
    labelNames: ['shard'] as const,
    registers: [registry],
    async collect() {
      const counts = await Promise.all(
        shards.queues.map((one) => within(answerMs, countShardJobs(one)).catch(() => Number.NaN)),
      );
      this.reset();
      for (const [index, { shard }] of shards.queues.entries()) this.inc({ shard }, counts[index]);
      for (const { shard, jobs } of shards.retired) this.inc({ shard }, jobs);
    },
  });
}

export type IngestMetrics = ReturnType<typeof createIngestMetrics>;

/** Registers the metrics of ingest. @param shards counted at each scrape */
export function createIngestMetrics(
  registry: Registry,
  shards: CountedShards,
  progress: { readonly stalledSeconds: number },
  delayed: { oldestAgeMs(): Promise<number> },
) {
  addGauge(
    registry,
    'odograph_ingest_stalled_seconds',
    'Time that uploads have been waiting while this process stores none',
    () => progress.stalledSeconds,
  );
  addGauge(
    registry,
    'odograph_ingest_oldest_job_seconds',
    'Age of the oldest job of live uploads in all shards',
    async () => (await delayed.oldestAgeMs()) / 1000,
  );
  addQueueDepth(registry, shards);
  return {
    readings: new Counter({
      name: 'odograph_ingest_readings_total',
      help: 'Readings stored, repeated ones included',
      registers: [registry],
    }),
    quarantined: new Counter({
      name: 'odograph_ingest_quarantined_uploads_total',
      help: 'Uploads of which something went to quarantine',
      registers: [registry],
    }),
    droppedQuarantine: new Counter({
      name: 'odograph_ingest_quarantine_dropped_uploads_total',
      help: 'Uploads beyond the quarantine quota of their device: counted, not kept',
      registers: [registry],
    }),
    droppedValues: new Counter({
      name: 'odograph_ingest_dropped_values_total',
      help: 'Invalid values that were dropped; the rest of their readings is stored',
      registers: [registry],
    }),
    absentValues: new Counter({
      name: 'odograph_ingest_absent_values_total',
      help: 'Values left out because a sensor reported an error code or a value outside its measuring range, by reason',
      labelNames: ['reason'] as const,
      registers: [registry],
    }),
    lagSeconds: new Histogram({
      name: 'odograph_ingest_lag_seconds',
      help: 'From the receipt of the oldest upload of a job by the broker to its readings being stored',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600],
      registers: [registry],
    }),
  };
}

/** Returns the size of the database; null if unavailable. */
export async function databaseBytes(db: Database): Promise<number | null> {
  const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(db);
  return rows[0]?.bytes ?? null;
}

/** Registers the size of the database and the time of its last backup. */
export function createDatabaseMetrics(registry: Registry, db: Database): void {
  addGauge(
    registry,
    'odograph_database_size_bytes',
    'Size of the database on its disk',
    async () => (await databaseBytes(db)) ?? Number.NaN,
  );
  addGauge(
    registry,
    'odograph_last_backup_timestamp_seconds',
    'When `odograph backup` last completed, in UNIX seconds; 0 if it never did',
    async () => ((await findLastBackup(db))?.completedAt.getTime() ?? 0) / 1000,
  );
}

/** Counts open gaps and the readings missing in them. */
export async function countGaps(db: Database): Promise<{ gaps: number; missing: number }> {
  const { rows } = await sql<{ gaps: number; missing: number }>`
    select coalesce(sum(open_gaps), 0)::bigint as gaps, coalesce(sum(missing_readings), 0)::bigint as missing
    from device_sequence where open_gaps > 0`.execute(db);
  return rows[0] ?? { gaps: 0, missing: 0 };
}

/** Registers the gap metrics. */
export function createGapMetrics(registry: Registry, db: Database): void {
  let running: ReturnType<typeof countGaps> | undefined;
  // Both gauges are collected at once and share one aggregate.
  const count = () => {
    running ??= countGaps(db).finally(() => {
      running = undefined;
    });
    return running;
  };
  addGauge(
    registry,
    'odograph_ingest_open_gaps',
    'Gaps in the sequences of devices that are open',
    async () => (await count()).gaps,
  );
  addGauge(
    registry,
    'odograph_ingest_missing_readings',
    'Readings that are missing in open gaps',
    async () => (await count()).missing,
  );
}
