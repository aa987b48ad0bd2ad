import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { jobsPerTransaction, UploadBatcher } from './batch-uploads.ts';

const job = (deviceId: string, { bytes = 1, late = false } = {}) => ({
  uploads: [{ deviceId, receivedAtMs: 0, text: '' }],
  bytes,
  late,
});

/** A store whose calls end on demand. */
function createStore() {
  const calls: { devices: string[]; end(error?: Error): void }[] = [];
  const store = (uploads: readonly { deviceId: string }[]) =>
    new Promise<void>((resolve, reject) => {
      calls.push({
        devices: uploads.map(({ deviceId }) => deviceId),
        end: (error) => (error ? reject(error) : resolve()),
      });
    });
  return { calls, store };
}

describe('batched uploads', () => {
  it('are stored at once when the database is idle, and together when it is busy', async () => {
    const { calls, store } = createStore();
    const batcher = new UploadBatcher({ transactions: 1, store });
    const jobs = ['a', 'b', 'c'].map((name) => batcher.store(job(name)));
    expect(calls.map(({ devices }) => devices)).toEqual([['a']]);
    calls[0]?.end();
    await jobs[0];
    expect(calls.map(({ devices }) => devices)).toEqual([['a'], ['b', 'c']]);
    calls[1]?.end();
    await Promise.all(jobs);
  });

  it('share a transaction at the end of the interval, or earlier when it is full', async () => {
    vi.useFakeTimers();
    try {
      const { calls, store } = createStore();
      const batcher = new UploadBatcher({ transactions: 2, intervalMs: 40, store });
      for (const name of ['a', 'b', 'c']) void batcher.store(job(name));
      vi.advanceTimersByTime(39);
      expect(calls.map(({ devices }) => devices)).toEqual([['a']]);
      vi.advanceTimersByTime(1);
      expect(calls.map(({ devices }) => devices)).toEqual([['a'], ['b', 'c']]);
      calls[0]?.end();
      calls[1]?.end();
      await vi.advanceTimersByTimeAsync(10);
      void batcher.store(job('d', { bytes: 600_000 }));
      expect(calls).toHaveLength(2);
      void batcher.store(job('e', { bytes: 600_000 }));
      expect(calls.at(-1)?.devices).toEqual(['d']);
      calls[2]?.end();
      await vi.advanceTimersByTimeAsync(40);
      expect(calls.at(-1)?.devices).toEqual(['e']);
      const many = Array.from({ length: jobsPerTransaction }, (_, index) => String(index));
      for (const name of many) void batcher.store(job(name));
      expect(calls.at(-1)?.devices).toEqual(many);
    } finally {
      vi.useRealTimers();
    }
  });

  it('yield to late uploads while they wait for the interval', async () => {
    vi.useFakeTimers();
    try {
      const { calls, store } = createStore();
      const batcher = new UploadBatcher({ transactions: 2, intervalMs: 40, store });
      void batcher.store(job('a'));
      calls[0]?.end();
      await vi.advanceTimersByTimeAsync(10);
      void batcher.store(job('b'));
      void batcher.store(job('c', { late: true }));
      expect(calls.map(({ devices }) => devices)).toEqual([['a'], ['c']]);
      await vi.advanceTimersByTimeAsync(30);
      expect(calls.map(({ devices }) => devices)).toEqual([['a'], ['c'], ['b']]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('fail only with their own transaction', async () => {
    const { calls, store } = createStore();
    const batcher = new UploadBatcher({ transactions: 1, store });
    const first = batcher.store(job('a'));
    const second = batcher.store(job('b'));
    calls[0]?.end(new Error('away'));
    await expect(first).rejects.toThrow('away');
    calls[1]?.end();
    await second;
  });

  it('are stored before late uploads that arrived first, and wait for at most one transaction of them', async () => {
    const { calls, store } = createStore();
    const batcher = new UploadBatcher({ transactions: 2, store });
    const late = ['a', 'b', 'c'].map((name) => batcher.store(job(name, { bytes: 200_000, late: true })));
    expect(calls.map(({ devices }) => devices)).toEqual([['a']]);
    const live = ['d', 'e', 'f'].map((name) => batcher.store(job(name)));
    expect(calls.map(({ devices }) => devices)).toEqual([['a'], ['d']]);
    calls[0]?.end();
    await late[0];
    expect(calls.map(({ devices }) => devices)).toEqual([['a'], ['d'], ['e', 'f']]);
    calls[1]?.end();
    await live[0];
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls.map(({ devices }) => devices)).toEqual([['a'], ['d'], ['e', 'f'], ['b']]);
    for (const { end } of calls.slice(2)) end();
    await Promise.all([...live, late[1]]);
    await new Promise((resolve) => setImmediate(resolve));
    calls[4]?.end();
    await late[2];
  });

  it('are stored exactly once, in order within their kind, and within the limit of concurrent transactions', async () => {
    const kind = fc.record({ bytes: fc.integer({ min: 0, max: 1_500_000 }), late: fc.boolean() });
    const options = fc.record({
      transactions: fc.integer({ min: 1, max: 3 }),
      intervalMs: fc.integer({ min: 0, max: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(kind), options, async (kinds, { transactions, intervalMs }) => {
        const { calls, store } = createStore();
        const open = new Set<number>();
        const batcher = new UploadBatcher({
          transactions,
          intervalMs,
          async store(uploads) {
            const call = calls.length;
            open.add(call);
            expect(open.size).toBeLessThanOrEqual(transactions);
            await store(uploads);
            open.delete(call);
          },
        });
        let left = kinds.length;
        const stored = kinds.map((one, index) => batcher.store(job(String(index), one)).then(() => (left -= 1)));
        for (let next = 0; left > 0; await new Promise((resolve) => setImmediate(resolve))) {
          if (next < calls.length) calls[next++]?.end();
        }
        await Promise.all(stored);
        const devices = calls.flatMap((call) => call.devices);
        for (const late of [true, false]) {
          const ofKind = kinds.flatMap((one, index) => (one.late === late ? [String(index)] : []));
          expect(devices.filter((device) => ofKind.includes(device))).toEqual(ofKind);
        }
        expect(devices).toHaveLength(kinds.length);
      }),
    );
  });
});
