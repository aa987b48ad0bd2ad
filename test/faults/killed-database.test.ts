import { setTimeout as delay } from 'node:timers/promises';
import { migrate } from '@odograph/database/migrate';
import { type EmbeddedTimescale, startEmbeddedTimescale } from '@odograph/embedded/postgres/timescaledb';
import { holderPid } from '@odograph/embedded/process/engine-owner.fixture';
import { createRandom } from '@odograph/simulator/simulated-vehicle';
import { eventually } from '@odograph/testkit/eventually';
import { copyTemplate } from '@odograph/testkit/global-setup';
import { hasRedisServer } from '@odograph/testkit/programs';
import { createTestDirectory } from '@odograph/testkit/scopes';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 300_000 + scale.rounds * 30_000;
let dataDirectory: string;
let engine: EmbeddedTimescale;
let testbed: Testbed;

describe.skipIf(!hasRedisServer)('a database process that is killed with SIGKILL', () => {
  beforeEach(async () => {
    dataDirectory = createTestDirectory();
    await copyTemplate('migrated', dataDirectory);
    engine = await startEmbeddedTimescale({ dataDirectory });
    await migrate(engine.url);
    testbed = await openTestbed({ databaseUrl: engine.url });
  }, timeoutMs);
  afterEach(async () => {
    await testbed.close();
    await engine.stop();
  });

  it(
    'restarts with everything that was stored, and waiting uploads are stored',
    async () => {
      const random = createRandom(scale.seed);
      const load = await testbed.startLoad({ pauseMs: Math.max(100, scale.uploadPauseMs) });
      for (let round = 0; round < scale.rounds; round += 1) {
        await load.progress(3);
        await delay(random() * 1000);
        // Its supervisor may still be restarting it after the previous round.
        await eventually(async () => process.kill(holderPid(dataDirectory), 'SIGKILL'), 60_000);
        await delay(random() * 5000);
      }
      await load.progress(3);
      const uploads = await load.finish();
      expect(uploads).toBeGreaterThan(3 * scale.rounds);
      await report('embedded database killed', { rounds: scale.rounds, acknowledged: uploads, stored: uploads });
    },
    timeoutMs,
  );
});
