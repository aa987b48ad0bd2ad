import { setTimeout as delay } from 'node:timers/promises';
import { hasRedisServer } from '@odograph/testkit/programs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { type LineName, openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 300_000 + 12 * scale.awayMs;
const lineNames: LineName[] = ['device-broker', 'broker-Redis', 'ingest-Redis', 'ingest-database'];
/** Faults of a connection; `mend` ends each. */
const faults = ['cut', 'slow', 'silent'] as const;
const slowMs = 150;
/** Longer than every timeout that detects a silent connection. */
const awayMs = Math.min(scale.awayMs, 10_000);

let testbed: Testbed;

describe.skipIf(!hasRedisServer)('every acknowledged upload is stored once when a network connection', () => {
  beforeAll(async () => {
    testbed = await openTestbed();
  }, timeoutMs);
  afterAll(() => testbed?.close());
  afterEach(() => testbed.mend());

  it.each(lineNames)(
    'is cut, slow or silent: %s',
    async (name) => {
      const line = testbed.lines[name];
      const load = await testbed.startLoad();
      await load.progress(5);
      for (const fault of faults) {
        if (fault === 'cut') line.cut();
        else if (fault === 'slow') line.slow(slowMs);
        else line.silence();
        await delay(awayMs);
        line.mend();
        await load.progress(3);
      }
      const uploads = await load.finish();
      expect(uploads).toBeGreaterThan(0);
      await report(`connection ${name}: cut, slow, silent`, { acknowledged: uploads, stored: uploads });
    },
    timeoutMs,
  );
});
