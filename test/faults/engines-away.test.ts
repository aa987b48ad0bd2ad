import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@odograph/testkit/eventually';
import { hasRedisServer } from '@odograph/testkit/programs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 300_000 + 3 * scale.awayMs;
let testbed: Testbed;

const ingestHealth = async () => (await fetch(`${testbed.ingest().httpUrl}/health`)).json();
const nothingStored = {
  status: 'failing',
  services: {
    ingest: {
      ok: false,
      state: expect.stringMatching(
        /^uploads wait and none has been stored for 1\d s: the disk of the database is full/,
      ),
    },
  },
};

describe.skipIf(!hasRedisServer)('while an engine is down', () => {
  beforeAll(async () => {
    testbed = await openTestbed();
  }, timeoutMs);
  afterAll(() => testbed?.close());
  afterEach(() => testbed.mend());

  it(
    'uploads are acknowledged without the database, and stored when it is back',
    async () => {
      const load = await testbed.startLoad();
      await load.progress(2);
      testbed.lines['ingest-database'].cut();
      const before = load.acknowledged();
      await delay(scale.awayMs);
      await load.progress(5);
      const during = load.acknowledged() - before;
      expect(during).toBeGreaterThan(0);
      testbed.lines['ingest-database'].mend();
      const uploads = await load.finish();
      await report('database down', { downMs: scale.awayMs, acknowledgedMeanwhile: during, stored: uploads });
    },
    timeoutMs,
  );

  it(
    'nothing is lost or partly stored when the disk of the database is full, and /health says so within 15 s',
    async () => {
      const load = await testbed.startLoad();
      await load.progress(2);
      testbed.disk.full = true;
      await eventually(async () => expect(testbed.disk.refused).toBeGreaterThan(3), 60_000);
      await load.progress(5);
      await eventually(async () => expect(await ingestHealth()).toMatchObject(nothingStored), 15_000);
      testbed.disk.full = false;
      const uploads = await load.finish();
      expect(await ingestHealth()).toMatchObject({ status: 'ok' });
      await report('database disk full', { refusedTransactions: testbed.disk.refused, stored: uploads });
    },
    timeoutMs,
  );
});
