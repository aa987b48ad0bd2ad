import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { StorageProgress } from './ingest-upload.ts';

let waiting = 0;
let progress: StorageProgress;

beforeEach(() => {
  vi.useFakeTimers();
  waiting = 0;
  progress = new StorageProgress(async () => waiting);
});
afterEach(() => {
  progress.stop();
  vi.useRealTimers();
});

const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);

it('reports a stall with the latest reason within 15 s, after an idle hour', async () => {
  await pass(3600);
  waiting = 1;
  progress.failed({ error: 'connect ECONNREFUSED' });
  progress.failed({ sqlState: '25006' });
  await pass(9);
  expect(progress.fault).toBeUndefined();
  await pass(2);
  expect(progress.fault).toMatch(/none has been stored for 1\d s: the database is read-only \(SQLSTATE 25006\)$/);
});

it('reports neither an idle queue nor a backlog that shrinks slowly', async () => {
  await pass(3600);
  expect(progress.fault).toBeUndefined();
  waiting = 10_000;
  for (let batch = 0; batch < 20; batch += 1) {
    progress.failed({ sqlState: '53100' });
    await pass(9);
    expect(progress.fault).toBeUndefined();
    progress.stored();
  }
});
