import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@odograph/testkit/eventually';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasRedisServer } from './parts/redis-server.ts';
import { scale } from './parts/scale.ts';
import { openStage, report, type Stage } from './parts/stage.ts';

const timeoutMs = 300_000 + 3 * scale.awayMs;
let stage: Stage;

describe.skipIf(!hasRedisServer)('while an engine is away', () => {
  beforeEach(async () => {
    stage = await openStage();
  }, timeoutMs);
  afterEach(() => stage.close());

  it(
    'uploads are acknowledged without the database, and all of them are stored when it is back',
    async () => {
      const load = await stage.startLoad();
      await load.progress(2);
      stage.lines['ingest-database'].cut();
      const before = load.acknowledged();
      await delay(scale.awayMs);
      await load.progress(5);
      const during = load.acknowledged() - before;
      expect(during).toBeGreaterThan(0);
      stage.lines['ingest-database'].mend();
      const uploads = await load.finish();
      await report('database away', { awayMs: scale.awayMs, acknowledgedMeanwhile: during, stored: uploads });
    },
    timeoutMs,
  );

  it(
    'no upload is acknowledged without Redis, and the devices go on when it is back',
    async () => {
      const load = await stage.startLoad();
      await load.progress(2);
      await stage.kill('Redis');
      // What Redis answered before its end may still be on its way.
      await delay(500);
      const before = load.acknowledged();
      await delay(scale.awayMs);
      expect(load.acknowledged()).toBe(before);
      await stage.restart('Redis');
      await load.progress(3);
      await report('Redis away', { awayMs: scale.awayMs, acknowledgedMeanwhile: 0, stored: await load.finish() });
    },
    timeoutMs,
  );

  it(
    'nothing is lost or half stored when the disk of the database is full',
    async () => {
      const load = await stage.startLoad();
      await load.progress(2);
      stage.disk.full = true;
      await eventually(async () => expect(stage.disk.refused).toBeGreaterThan(3), 60_000);
      await load.progress(5);
      stage.disk.full = false;
      const uploads = await load.finish();
      await report('database disk full', { refusedTransactions: stage.disk.refused, stored: uploads });
    },
    timeoutMs,
  );
});
