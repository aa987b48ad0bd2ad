import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@odograph/testkit/eventually';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasRedisServer } from './parts/redis-server.ts';
import { scale } from './parts/scale.ts';
import { openStage, report, type Stage } from './parts/stage.ts';

const timeoutMs = 400_000;
const backlogJobs = 40;
/** What the broker may grow by while devices knock at a full backlog: far less than they would bring. */
const growthBytes = 150 * 1024 ** 2;
let stage: Stage;

/** Resident memory of a process in bytes, where the system tells. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

describe.skipIf(!hasRedisServer)('a backlog over its bound', () => {
  beforeEach(async () => {
    stage = await openStage({ settings: { UPLOAD_BACKLOG_JOBS: String(backlogJobs) } });
  }, timeoutMs);
  afterEach(() => stage.close());

  it(
    'stops the acknowledgements and not the broker, and drains to the last upload when ingest is back',
    async () => {
      const load = await stage.startLoad({ pauseMs: 1 });
      await load.progress(2);
      stage.lines['ingest-database'].cut();
      const before = await residentBytes(stage.broker().process.pid);
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
      const growth = (await residentBytes(stage.broker().process.pid)) - before;
      expect(growth).toBeLessThan(growthBytes);
      stage.lines['ingest-database'].mend();
      await load.progress(3);
      const uploads = await load.finish();
      const megabytes = Math.round(growth / 1024 ** 2);
      await report('backlog over its bound', { heldMs: scale.awayMs, brokerGrewByMiB: megabytes, stored: uploads });
    },
    timeoutMs,
  );
});
