import { setTimeout as delay } from 'node:timers/promises';
import { hasRedisServer } from '@odograph/testkit/programs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 400_000;
/** Longer than the lock of a job plus the interval at which workers check for stalled jobs. */
const beyondLockMs = 40_000;
let testbed: Testbed;

describe.skipIf(!hasRedisServer || !scale.isFullLength)('a worker that stalls in the middle of its jobs', () => {
  beforeEach(async () => {
    testbed = await openTestbed();
  }, timeoutMs);
  afterEach(() => testbed.close());

  it(
    'loses its jobs to another worker, and stores nothing twice when it resumes',
    async () => {
      const load = await testbed.startLoad();
      await load.progress(3);
      const stopped = testbed.ingest();
      stopped.process.kill('SIGSTOP');
      const other = await testbed.spawnIngest();
      await delay(beyondLockMs);
      await load.progress(3);
      stopped.process.kill('SIGCONT');
      await load.progress(5);
      const uploads = await load.finish();
      expect(stopped.process.exitCode).toBeNull();
      await report('job stalled beyond its lock', { stoppedMs: beyondLockMs, acknowledged: uploads, stored: uploads });
      await other.end('SIGKILL');
    },
    timeoutMs,
  );
});
