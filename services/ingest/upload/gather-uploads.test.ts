import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UploadGatherer } from './gather-uploads.ts';

const upload = (deviceId: string) => ({ deviceId, receivedAtMs: 0, text: '' });

/** A store whose calls end when they are told to. */
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

describe('gathered uploads', () => {
  it('are stored at once when nothing is under way, and together when something is', async () => {
    const { calls, store } = createStore();
    const gatherer = new UploadGatherer({ transactions: 1, store });
    const jobs = ['a', 'b', 'c'].map((name) => gatherer.store([upload(name)], 1));
    expect(calls.map(({ devices }) => devices)).toEqual([['a']]);
    calls[0]?.end();
    await jobs[0];
    expect(calls.map(({ devices }) => devices)).toEqual([['a'], ['b', 'c']]);
    calls[1]?.end();
    await Promise.all(jobs);
  });

  it('fail with their own transaction only', async () => {
    const { calls, store } = createStore();
    const gatherer = new UploadGatherer({ transactions: 1, store });
    const first = gatherer.store([upload('a')], 1);
    const second = gatherer.store([upload('b')], 1);
    calls[0]?.end(new Error('away'));
    await expect(first).rejects.toThrow('away');
    calls[1]?.end();
    await second;
  });

  it('are each stored exactly once, never more at a time than allowed, whatever order the transactions end in', async () => {
    const job = fc.record({ bytes: fc.integer({ min: 0, max: 1_500_000 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(job), fc.integer({ min: 1, max: 3 }), async (jobs, transactions) => {
        const { calls, store } = createStore();
        const open = new Set<number>();
        const gatherer = new UploadGatherer({
          transactions,
          async store(uploads) {
            const call = calls.length;
            open.add(call);
            expect(open.size).toBeLessThanOrEqual(transactions);
            await store(uploads);
            open.delete(call);
          },
        });
        const stored = jobs.map(({ bytes }, index) => gatherer.store([upload(String(index))], bytes));
        for (let next = 0; next < calls.length || open.size > 0; next += 1) {
          calls[next]?.end();
          await new Promise((resolve) => setImmediate(resolve));
        }
        await Promise.all(stored);
        const devices = calls.flatMap((call) => call.devices);
        expect(devices).toEqual(jobs.map((_job, index) => String(index)));
      }),
    );
  });
});
