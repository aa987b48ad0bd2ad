import { setTimeout as delay } from 'node:timers/promises';
import { hasRedisServer } from '@odograph/testkit/programs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import type { TcpProxy } from './parts/tcp-proxy.fixture.ts';
import { type LineName, openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 300_000 + 12 * scale.awayMs;
const lineNames: LineName[] = ['device-broker', 'broker-Redis', 'ingest-Redis', 'ingest-database'];
const slowMs = 150;
/** Begins the faults of a connection; `mend` ends each. */
const begin = {
  cut: (line: TcpProxy) => line.cut(),
  slow: (line: TcpProxy) => line.slow(slowMs),
  silent: (line: TcpProxy) => line.silence(),
};
type Fault = keyof typeof begin;
/** At full length, longer than every timeout that detects a silent connection. */
const awayMs = scale.isFullLength ? Math.min(scale.awayMs, 10_000) : 1000;

let testbed: Testbed;

/** Detecting silence takes up to 15 s on each connection; in the short run, all go silent at once. */
const cases: [LineName[], Fault[]][] = scale.isFullLength
  ? lineNames.map((name) => [[name], ['cut', 'slow', 'silent']])
  : [...lineNames.map((name): [LineName[], Fault[]] => [[name], ['cut', 'slow']]), [lineNames, ['silent']]];

describe.skipIf(!hasRedisServer)('every acknowledged upload is stored once when network connections', () => {
  beforeAll(async () => {
    testbed = await openTestbed();
  }, timeoutMs);
  afterAll(() => testbed?.close());
  afterEach(() => testbed.mend());

  it.each(cases)(
    '%j are %j',
    async (names, faults) => {
      const lines = names.map((name) => testbed.lines[name]);
      const load = await testbed.startLoad();
      await load.progress(5);
      for (const fault of faults) {
        for (const line of lines) begin[fault](line);
        await delay(awayMs);
        for (const line of lines) line.mend();
        await load.progress(3);
      }
      const uploads = await load.finish();
      expect(uploads).toBeGreaterThan(0);
      await report(`connections ${names.join(', ')}: ${faults.join(', ')}`, { acknowledged: uploads, stored: uploads });
    },
    timeoutMs,
  );
});
