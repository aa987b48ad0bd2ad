import { invalidParameter } from '@odograph/contracts/failures';
import { parseOptionalTimestamp, type Timestamp } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { sampleIntervalSeconds } from '@odograph/database/pipeline-samples';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, moment, timestamp } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';

const hourMs = 3_600_000;

const figure = (description: string) => Type.Union([Type.Number(), Type.Null()], { description, examples: [12.5] });

const PipelinePoint = Type.Object(
  {
    at: moment('start of the interval'),
    acceptedUploadsPerSecond: figure('uploads with a PUBACK'),
    refusedPacketsPerSecond: figure('packets and connections that the broker refused'),
    pubackP50Ms: figure('median from PUBLISH to PUBACK'),
    pubackP99Ms: figure('99th percentile from PUBLISH to PUBACK, the worst of the interval'),
    connectedDevices: figure('devices with a live session'),
    heldBytes: figure('bytes of publications that waited for Redis, the most of the interval'),
    storedReadingsPerSecond: figure('readings stored, repeated ones included'),
    quarantinedUploadsPerSecond: figure('uploads of which something went to quarantine'),
    lagP50Ms: figure('median from the receipt of an upload to its readings being stored'),
    lagP99Ms: figure('99th percentile of the same, the worst of the interval'),
    waitingJobs: figure('jobs of uploads in the queue, the most of the interval'),
    oldestJobSeconds: figure('age of the oldest job of live uploads, the most of the interval'),
    databaseBytes: figure('size of the database on disk'),
    redisBytes: figure('memory that Redis uses'),
  },
  { title: 'PipelinePoint', description: 'null where no process measured' },
);

/** Averages over each process and interval are added up over the processes; extremes are the extremes of all. */
async function readPipeline(db: Database, fromMs: number, untilMs: number, stepSeconds: number) {
  const step = sql`make_interval(secs => ${stepSeconds})`;
  const { rows } = await sql<Type.Static<typeof PipelinePoint>>`
    with by_source as (
      select time_bucket(${step}, at, to_timestamp(${fromMs / 1000})) as bucket, source,
        sum(accepted_uploads) / sum(seconds) as accepted, sum(refused_packets) / sum(seconds) as refused,
        sum(stored_readings) / sum(seconds) as stored, sum(quarantined_uploads) / sum(seconds) as quarantined,
        sum(puback_p50_ms * accepted_uploads) as puback_weighted, sum(accepted_uploads) filter (where puback_p50_ms is not null)
          as puback_weight, max(puback_p99_ms) as puback_p99, avg(connected_devices) as connected, max(held_bytes) as held,
        sum(lag_p50_ms * stored_readings) as lag_weighted, sum(stored_readings) filter (where lag_p50_ms is not null)
          as lag_weight, max(lag_p99_ms) as lag_p99, max(waiting_jobs) as waiting, max(oldest_job_seconds) as oldest,
        max(database_bytes) as database, max(redis_bytes) as redis
      from pipeline_sample
      where at >= to_timestamp(${fromMs / 1000}) and at < to_timestamp(${untilMs / 1000})
      group by 1, 2)
    select bucket as "at", sum(accepted) as "acceptedUploadsPerSecond", sum(refused) as "refusedPacketsPerSecond",
      sum(puback_weighted) / nullif(sum(puback_weight), 0) as "pubackP50Ms", max(puback_p99) as "pubackP99Ms",
      sum(connected)::float8 as "connectedDevices", sum(held)::float8 as "heldBytes",
      sum(stored) as "storedReadingsPerSecond", sum(quarantined) as "quarantinedUploadsPerSecond",
      sum(lag_weighted) / nullif(sum(lag_weight), 0) as "lagP50Ms", max(lag_p99) as "lagP99Ms",
      max(waiting)::float8 as "waitingJobs", max(oldest) as "oldestJobSeconds", max(database)::float8 as "databaseBytes",
      max(redis)::float8 as "redisBytes"
    from by_source group by bucket order by bucket`.execute(db);
  return rows.map((row) => ({ ...row, at: new Date(row.at).toISOString() }));
}

const PipelineQuery = Type.Object({
  from: Type.Optional(timestamp('start of the period; an hour before its end when left out')),
  until: Type.Optional(timestamp('end of the period; now when left out')),
  points: Type.Integer({ minimum: 1, maximum: 2000, default: 360, description: 'most points to answer' }),
});

function millisecondsOf(field: string, time: Timestamp | undefined): number | undefined {
  const parsed = parseOptionalTimestamp(field, time);
  return parsed === undefined ? undefined : Number(parsed / 1000n);
}

/** The history of the pipeline: rates, latencies, queue and sizes, as each process measured them. */
export function pipelineRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/admin/pipeline',
      {
        schema: {
          summary: 'History of uploads, latencies, queue and sizes',
          description: `Measured every ${sampleIntervalSeconds} s by each process and kept for 30 days. Percentiles are estimated from the buckets of a histogram.`,
          querystring: PipelineQuery,
          response: answers(
            Type.Object({ stepSeconds: Type.Number({ examples: [10] }), points: Type.Array(PipelinePoint) }),
            'INVALID_PARAMETER',
          ),
        },
      },
      async ({ query: { from, until, points } }) => {
        const untilMs = millisecondsOf('until', until) ?? Date.now();
        const fromMs = millisecondsOf('from', from) ?? untilMs - hourMs;
        if (fromMs >= untilMs) throw invalidParameter('from', 'must be before until');
        const stepSeconds = Math.max(sampleIntervalSeconds, Math.ceil((untilMs - fromMs) / 1000 / points));
        return { stepSeconds, points: await readPipeline(db, fromMs, untilMs, stepSeconds) };
      },
    );
  };
}
