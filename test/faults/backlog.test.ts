import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@odograph/testkit/eventually';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasRedisServer } from './parts/redis-server.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 400_000;
const backlogJobs = 40;
/** Allowed growth of the broker while devices retry against a full backlog: far less than they would upload. */
const growthBytes = 150 * 1024 ** 2;
let testbed: Testbed;

/** Resident memory of a process in bytes; 0 where the system does not report it. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

describe.skipIf(!hasRedisServer)('a backlog above its limit', () => {
  beforeEach(async () => {
    testbed = await openTestbed({ settings: { UPLOAD_BACKLOG_JOBS: String(backlogJobs) } });
  }, timeoutMs);
  afterEach(() => testbed.close());

  it(
    'stops PUBACKs but not the broker, and drains to the last upload when ingest is back',
    async () => {
      const load = await testbed.startLoad({ pauseMs: 1 });
      await load.progress(2);
      testbed.lines['ingest-database'].cut();
      const before = await residentBytes(testbed.broker().process.pid);
      let seen = -1;
      await eventually(async () => {
        const now = load.acknowledged();
        const stands = now === seen;
        seen = now;
        await delay(2000);
        expect(stands).toBe(true);
      }, 120_000);
      await delay(scale.awayMs);
      expect(load.acknowledged()).toBe(seen);
      const growth = (await residentBytes(testbed.broker().process.pid)) - before;
      expect(growth).toBeLessThan(growthBytes);
      testbed.lines['ingest-database'].mend();
      await load.progress(3);
      const uploads = await load.finish();
      const megabytes = Math.round(growth / 1024 ** 2);
      await report('backlog above its limit', { heldMs: scale.awayMs, brokerGrewByMiB: megabytes, stored: uploads });
    },
    timeoutMs,
  );
});
