import type { Logger } from '@odograph/runtime/logger';
import type { Registry } from '@odograph/runtime/metrics';
import type { Insertable } from 'kysely';
import type { Database } from './database.ts';
import type { Tables } from './tables.ts';

export const sampleIntervalSeconds = 10;

/** The measured columns of a sample. */
export type PipelineFigures = Partial<Omit<Insertable<Tables['pipeline_sample']>, 'at' | 'source' | 'seconds'>>;

/** The sum of a metric of the process over its labels; 0 when it has none. */
export async function readTotal(metrics: Registry, name: string): Promise<number> {
  const { values = [] } = (await metrics.getSingleMetric(name)?.get()) ?? {};
  return values.reduce((total, { value }) => total + value, 0);
}

/** A histogram's cumulative counts by the upper bound of the bucket, ascending; the last bound is infinite. */
type Buckets = readonly (readonly [upperBound: number, count: number])[];

async function readBuckets(metrics: Registry, name: string): Promise<Buckets> {
  const { values = [] } = (await metrics.getSingleMetric(name)?.get()) ?? {};
  return values.flatMap(({ value, labels }) => {
    const bound = 'le' in labels ? labels['le'] : undefined;
    return bound === undefined ? [] : [[bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound), value] as const];
  });
}

/**
 * Estimates a quantile of the observations between two readings of a histogram, by linear interpolation within its bucket;
 * the largest finite bound for one beyond it.
 * @returns undefined without observations
 */
export function quantileBetween(earlier: Buckets, later: Buckets, quantile: number): number | undefined {
  const before = new Map(earlier);
  const counts = later.map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)] as const);
  const rank = (counts.at(-1)?.[1] ?? 0) * quantile;
  if (rank === 0) return undefined;
  let [lowerBound, below] = [0, 0];
  for (const [bound, count] of counts) {
    if (count >= rank) {
      return Number.isFinite(bound)
        ? lowerBound + ((bound - lowerBound) * (rank - below)) / (count - below)
        : lowerBound;
    }
    [lowerBound, below] = [bound, count];
  }
  return lowerBound;
}

/** Reads how much a counter of the process has grown since the last call. */
export function readGrowth(metrics: Registry, name: string): () => Promise<number> {
  let earlier: number | undefined;
  return async () => {
    const now = await readTotal(metrics, name);
    const growth = now - (earlier ?? now);
    earlier = now;
    return growth;
  };
}

/** Reads the median and the 99th percentile, in ms, of what a histogram in seconds observed since the last call. */
export function readPercentiles(
  metrics: Registry,
  name: string,
): () => Promise<{ p50: number | null; p99: number | null }> {
  let earlier: Buckets = [];
  return async () => {
    const now = await readBuckets(metrics, name);
    const [p50, p99] = [0.5, 0.99].map((quantile) => quantileBetween(earlier, now, quantile));
    earlier = now;
    return { p50: p50 === undefined ? null : p50 * 1000, p99: p99 === undefined ? null : p99 * 1000 };
  };
}

/**
 * Stores a sample of this process every ten seconds. One that cannot be measured or stored is logged and missing.
 * @param source names the service and the process
 * @returns stops it
 */
export function recordSamples(
  db: Database,
  source: string,
  measure: () => Promise<PipelineFigures>,
  logger: Logger,
): () => void {
  let measuredAtMs = performance.now();
  const record = async (): Promise<void> => {
    const figures = await measure();
    const nowMs = performance.now();
    const seconds = (nowMs - measuredAtMs) / 1000;
    measuredAtMs = nowMs;
    await db
      .insertInto('pipeline_sample')
      .values({ at: new Date(), source, seconds, ...figures })
      .execute();
  };
  const attempt = (): void => {
    record().catch((err: unknown) => logger.warn({ err }, 'pipeline sample not stored'));
  };
  // Counters are read once at the start: what they counted before belongs to no sample.
  measure().catch((err: unknown) => logger.warn({ err }, 'pipeline not measured'));
  const timer = setInterval(attempt, sampleIntervalSeconds * 1000);
  return () => clearInterval(timer);
}
