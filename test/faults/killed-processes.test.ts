import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '@odograph/simulator/simulated-vehicle';
import { hasRedisServer } from '@odograph/testkit/programs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { openTestbed, type ProcessName, report, type Testbed } from './parts/testbed.fixture.ts';

/** Starting a process several times takes long on a busy machine. */
const timeoutMs = 240_000 + scale.rounds * 30_000;
const maxPauseMs = 1500;
const everything: ProcessName[] = ['broker', 'ingest', 'Redis', 'database'];
/** The locks of its jobs outlive a killed ingest by 10 s: the short run kills it only with everything, and in shards.test.ts. */
const ingestAlone: [string, ProcessName[]][] = scale.isFullLength ? [['ingest is killed', ['ingest']]] : [];

let testbed: Testbed;
describe.skipIf(!hasRedisServer)('every acknowledged upload is stored once when at a random time under load', () => {
  beforeAll(async () => {
    testbed = await openTestbed();
  }, timeoutMs);
  afterAll(() => testbed?.close());

  it.each<[string, ProcessName[]]>([
    ['the broker is killed', ['broker']],
    ...ingestAlone,
    ['Redis is killed', ['Redis']],
    ['all connections to the database are ended', ['database']],
    ['everything is killed at once', everything],
  ])(
    '%s',
    async (name, victims) => {
      const random = createRandom(scale.seed);
      const load = await testbed.startLoad();
      for (let round = 0; round < scale.rounds; round += 1) {
        await load.progress(1);
        await delay(random() * maxPauseMs);
        await testbed.kill(...victims);
        await delay((random() * maxPauseMs) / 3);
        await testbed.restart(...victims);
      }
      await load.progress(3);
      const uploads = await load.finish();
      expect(uploads).toBeGreaterThan(0);
      await report(name, { rounds: scale.rounds, acknowledged: uploads, stored: uploads, lost: 0, twice: 0 });
    },
    timeoutMs,
  );
});
