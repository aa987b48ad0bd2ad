import { Histogram, Registry } from '@odograph/runtime/metrics';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quantileBetween, readPercentiles } from './pipeline-samples.ts';

const bounds = [0.001, 0.01, 0.1, 1, Number.POSITIVE_INFINITY];

/** The cumulative counts of observations. */
const bucketsOf = (observations: readonly number[]) =>
  bounds.map((bound) => [bound, observations.filter((one) => one <= bound).length] as const);

describe('a quantile between two readings of a histogram', () => {
  const observations = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { maxLength: 200 });

  it('lies in the bucket of the true quantile of what was observed in between', () => {
    fc.assert(
      fc.property(observations, observations, fc.constantFrom(0.5, 0.99), (earlier, added, quantile) => {
        fc.pre(added.length > 0);
        const estimate = quantileBetween(bucketsOf(earlier), bucketsOf([...earlier, ...added]), quantile);
        const sorted = added.toSorted((one, other) => one - other);
        const actual = sorted[Math.ceil(quantile * sorted.length) - 1] ?? Number.NaN;
        const upper = bounds.findIndex((bound) => actual <= bound);
        expect(estimate).toBeGreaterThanOrEqual(bounds[upper - 1] ?? 0);
        expect(estimate).toBeLessThanOrEqual(bounds[upper] ?? 0);
      }),
    );
  });

  it('is undefined without observations', () => {
    expect(quantileBetween(bucketsOf([0.5]), bucketsOf([0.5]), 0.5)).toBeUndefined();
  });

  it('is the largest bound for observations beyond it', () => {
    expect(quantileBetween(bucketsOf([]), bucketsOf([5, 7]), 0.5)).toBe(1);
  });
});

it('percentiles of a histogram cover only what it observed since they were read last', async () => {
  const registry = new Registry();
  const seconds = new Histogram({ name: 'seconds', help: 'test', buckets: [0.1, 1, 10], registers: [registry] });
  const read = readPercentiles(registry, 'seconds');
  seconds.observe(9);
  await read();
  expect(await read()).toEqual({ p50: null, p99: null });
  seconds.observe(0.05);
  const { p50, p99 } = await read();
  expect(p50).toBeLessThanOrEqual(100);
  expect(p99).toBeLessThanOrEqual(100);
});
