import type { Counter } from 'prom-client';

export { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** Exports a series at 0 before its first event: increase() needs an earlier sample, or an alert misses the first failure. */
export function exportZero<Label extends string>(
  counter: Counter<Label>,
  labels: Partial<Record<Label, string>>,
): void {
  counter.inc(labels, 0);
}
