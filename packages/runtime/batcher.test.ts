import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Batcher, BatchSlots, CallBatcher } from './batcher.ts';

/** Creates a handler whose batches the test ends. */
function createHandler() {
  const batches: { items: readonly number[]; end: () => void; fail: (error: Error) => void }[] = [];
  const handle = (items: readonly number[]) =>
    new Promise<void>((resolve, reject) => {
      batches.push({ items, end: resolve, fail: reject });
    });
  const items = () => batches.map((batch) => batch.items);
  return { batches, handle, items };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a batcher', () => {
  it('handles every item once and in order, within its limits of items, bytes and batches in flight', async () => {
    const limits = fc.record({
      maximumItems: fc.integer({ min: 1, max: 5 }),
      maximumBytes: fc.integer({ min: 1, max: 20 }),
      maximumInFlight: fc.integer({ min: 1, max: 3 }),
    });
    const arrivals = fc.array(fc.record({ bytes: fc.integer({ min: 1, max: 9 }), pause: fc.boolean() }));
    await fc.assert(
      fc.asyncProperty(limits, arrivals, async (limit, arriving) => {
        const handled: number[] = [];
        let inFlight = 0;
        const batcher = new Batcher<{ id: number; bytes: number }>({
          ...limit,
          bytesOf: ({ bytes }) => bytes,
          async handle(items) {
            inFlight += 1;
            expect(inFlight).toBeLessThanOrEqual(limit.maximumInFlight);
            expect(items.length).toBeLessThanOrEqual(limit.maximumItems);
            const bytes = items.reduce((total, item) => total + item.bytes, 0);
            expect(items.length === 1 || bytes <= limit.maximumBytes).toBe(true);
            handled.push(...items.map(({ id }) => id));
            await turn();
            inFlight -= 1;
          },
        });
        for (const [id, { bytes, pause }] of arriving.entries()) {
          batcher.add({ id, bytes });
          if (pause) await turn();
        }
        await batcher.drain();
        expect(handled).toEqual(arriving.map((_, id) => id));
        expect(batcher.pending).toEqual([]);
      }),
    );
  });

  it('handles the items of one turn of the event loop as one batch', async () => {
    const { batches, handle, items } = createHandler();
    const batcher = new Batcher({ handle, maximumItems: 10 });
    for (const item of [1, 2, 3]) batcher.add(item);
    await turn();
    expect(items()).toEqual([[1, 2, 3]]);
    batches[0]?.end();
    await batcher.drain();
  });

  it('starts a batch an interval after the previous one, or at once when it is full', async () => {
    const { batches, handle, items } = createHandler();
    const batcher = new Batcher({ handle, maximumItems: 2, maximumInFlight: 9, intervalMs: 60_000 });
    batcher.add(1);
    await turn();
    batcher.add(2);
    await delay(5);
    expect(items()).toEqual([[1]]);
    expect(batcher.pending).toEqual([1, 2]);
    batcher.add(3);
    expect(items()).toEqual([[1], [2, 3]]);
    batcher.add(4);
    const drained = batcher.drain();
    expect(items()).toEqual([[1], [2, 3], [4]]);
    for (const { end } of batches) end();
    await drained;

    const soon = createHandler();
    const quick = new Batcher({ handle: soon.handle, maximumItems: 2, maximumInFlight: 2, intervalMs: 20 });
    quick.add(1);
    await turn();
    const addedAtMs = performance.now();
    quick.add(2);
    while (soon.batches.length < 2) await delay(1);
    expect(performance.now() - addedAtMs).toBeGreaterThan(15);
  });

  it('drains at once when it is idle', async () => {
    const idle = new Batcher({ handle: async () => undefined, maximumItems: 1 });
    await expect(idle.drain()).resolves.toBeUndefined();
  });
});

it('batchers that share slots stay within the common limit, and the first one takes precedence', async () => {
  const slots = new BatchSlots(1);
  const live = createHandler();
  const late = createHandler();
  const first = new Batcher({ handle: live.handle, maximumItems: 1, slots });
  const second = new Batcher({ handle: late.handle, maximumItems: 1, slots });
  second.add(1);
  second.add(2);
  first.add(3);
  await turn();
  expect([live.items(), late.items()]).toEqual([[], [[1]]]);
  late.batches[0]?.end();
  await turn();
  expect([live.items(), late.items()]).toEqual([[[3]], [[1]]]);
  live.batches[0]?.end();
  await turn();
  expect([live.items(), late.items()]).toEqual([[[3]], [[1], [2]]]);
});

it('calls that are batched fail only with their batch, and each gets the result of its own', async () => {
  const batcher = new CallBatcher<number, number>({
    maximumItems: 2,
    handle: async (items) => {
      if (items.includes(3)) throw new Error('no');
      return items.reduce((sum, item) => sum + item, 0);
    },
  });
  const outcomes = await Promise.allSettled([1, 2, 3, 4, 5].map((item) => batcher.call(item)));
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'failed'))).toEqual([
    3,
    3,
    'failed',
    'failed',
    5,
  ]);
});
