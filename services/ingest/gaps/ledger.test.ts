import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Arrival, emptyLedger, type Ledger, maxGap, maxRanges, recordArrivals } from './ledger.ts';

/** Readings of one device that never restarts its count: each is later than the previous one. */
const arrival = (sequence: number): Arrival => ({ sequence, timeMicroseconds: sequence * 1_000_000 });

function record(batches: readonly (readonly Arrival[])[]): Ledger {
  return batches.reduce<Ledger>((ledger, batch) => recordArrivals(ledger, batch, 0).ledger, emptyLedger);
}

const ranges = ({ gaps }: Ledger) => gaps.map(({ from, until }) => [from, until]);

/** The definition of gaps: every number between two that arrived, unless too many in a row are missing. */
function gapsOf(sequences: readonly number[]): number[][] {
  const sorted = [...new Set(sequences)].sort((a, b) => a - b);
  const pairs = sorted.slice(1).map((next, index) => [(sorted[index] ?? 0) + 1, next - 1] as const);
  return pairs.filter(([from, until]) => from <= until && until - from < maxGap).map((pair) => [...pair]);
}

const sequence = fc.oneof(
  fc.integer({ min: 0, max: 60 }),
  fc.integer({ min: 99_950, max: 100_080 }),
  fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
);

/** Sequences, some repeated, in any order and in batches of any size. */
const arrivals = fc.array(sequence, { maxLength: 60 }).chain((sequences) => {
  const repeated = [...sequences, ...sequences.filter((_one, index) => index % 3 === 0)];
  return fc.record({
    sequences: fc.constant(sequences),
    order: fc.shuffledSubarray(repeated, { minLength: repeated.length, maxLength: repeated.length }),
    size: fc.integer({ min: 1, max: 20 }),
  });
});

function inBatches(order: readonly number[], size: number): Arrival[][] {
  const count = Math.ceil(order.length / size);
  return Array.from({ length: count }, (_one, index) => order.slice(index * size, (index + 1) * size).map(arrival));
}

describe('the ledger of a device that does not restart its count', () => {
  it('is the same for any order, batching and repetition of arrivals', () => {
    fc.assert(
      fc.property(arrivals, ({ sequences, order, size }) => {
        expect(ranges(record(inBatches(order, size)))).toEqual(gapsOf(sequences));
      }),
      { numRuns: 500 },
    );
  });

  it('accounts for every number that was ever missing: still open, or closed once', () => {
    fc.assert(
      fc.property(arrivals, ({ order, size }) => {
        let ledger = emptyLedger;
        const missing = new Set<string>();
        for (const batch of inBatches(order, size)) {
          const next = recordArrivals(ledger, batch, 0);
          for (const { from, until } of next.closed) {
            const whole = ledger.gaps.find((gap) => gap.from <= from && until <= gap.until);
            expect(whole, 'closed what was open').toBeDefined();
            expect(missing.has(`${from}`), 'closed once').toBe(false);
            missing.add(`${from}`);
          }
          const left = (gaps: Ledger['gaps']) => gaps.reduce((sum, { from, until }) => sum + (until - from + 1), 0);
          const before = ledger.gaps.flatMap((gap) =>
            next.ledger.gaps.filter((one) => one.from >= gap.from && one.until <= gap.until),
          );
          expect(left(before) + left(next.closed)).toBe(left(ledger.gaps));
          ledger = next.ledger;
        }
      }),
      { numRuns: 200 },
    );
  });

  it('keeps the opening time of a gap when part of it arrives', () => {
    const first = recordArrivals(emptyLedger, [arrival(1), arrival(10)], 1000);
    const second = recordArrivals(first.ledger, [arrival(5)], 2000);
    expect(second.ledger.gaps).toEqual([
      { from: 2, until: 4, sinceMs: 1000 },
      { from: 6, until: 9, sinceMs: 1000 },
    ]);
    expect(second.closed).toEqual([{ from: 5, until: 5, sinceMs: 1000, outcome: 'ARRIVED' }]);
  });

  it('is bounded: the oldest gaps are closed as unrecoverable', () => {
    const every = Array.from({ length: maxRanges + 10 }, (_one, index) => arrival(2 * index));
    const { ledger, closed } = recordArrivals(emptyLedger, every, 0);
    expect(ledger.received).toHaveLength(maxRanges);
    expect(ledger.gaps).toHaveLength(maxRanges - 1);
    expect(ledger.gaps[0]?.from).toBe(21);
    expect(closed.map(({ from, outcome }) => [from, outcome])).toEqual(
      Array.from({ length: 10 }, (_one, index) => [2 * index + 1, 'GIVEN_UP']),
    );
    const next = recordArrivals(ledger, [arrival(2 * (maxRanges + 10))], 7);
    expect(next.closed).toEqual([{ from: 21, until: 21, sinceMs: 0, outcome: 'GIVEN_UP' }]);
  });
});

describe('a restart of the count', () => {
  const later = (sequence: number): Arrival => ({ sequence, timeMicroseconds: 1e12 + sequence * 1_000_000 });

  it('opens no gap, and closes the gaps of the previous count', () => {
    const before = recordArrivals(emptyLedger, [arrival(40_000), arrival(40_003)], 5).ledger;
    const { ledger, closed } = recordArrivals(before, [later(1), later(2)], 9);
    expect(ranges(ledger)).toEqual([]);
    expect(closed).toEqual([{ from: 40_001, until: 40_002, sinceMs: 5, outcome: 'RESTARTED' }]);
    expect(ranges(recordArrivals(ledger, [later(5)], 9).ledger)).toEqual([[3, 4]]);
  });

  it('is detected within one batch', () => {
    const { ledger } = recordArrivals(emptyLedger, [later(3), arrival(40_000), later(0), arrival(40_001)], 5);
    expect(ranges(ledger)).toEqual([[1, 2]]);
  });

  it('is handled correctly with late readings of the previous count and in any later order', () => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray(Array.from({ length: 30 }, (_one, index) => index + 2)),
        fc.shuffledSubarray(Array.from({ length: 30 }, (_one, index) => index + 40_000)),
        (after, before) => {
          const counted = record([[arrival(40_100)], [later(1)]]);
          const mixed = after.flatMap((one, index) => [later(one), ...before.slice(index, index + 1).map(arrival)]);
          const ledger = mixed.reduce((sum, one) => recordArrivals(sum, [one], 0).ledger, counted);
          expect(ranges(ledger)).toEqual(gapsOf([1, ...after]));
        },
      ),
    );
  });

  it('is not detected when a clock steps back', () => {
    const ahead = (sequence: number): Arrival => ({ sequence, timeMicroseconds: (sequence + 200) * 1_000_000 });
    const ledger = record([
      [arrival(1), ahead(2), ahead(3)],
      [arrival(4), arrival(5), arrival(7)],
      [ahead(100)],
      [arrival(99)],
    ]);
    expect(ranges(ledger)).toEqual([
      [6, 6],
      [8, 98],
    ]);
  });
});
