import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@odograph/testkit/eventually';
import { hasRedisServer } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 300_000 + scale.rounds * 120_000;
const hourMs = 3_600_000;
let testbed: Testbed;

async function setClocks(offsetMs: number): Promise<void> {
  await Promise.all(Object.values(testbed.clocks).map((clock) => clock.step(offsetMs)));
}

describe.skipIf(!hasRedisServer)('when the clocks of broker and ingest jump', () => {
  beforeEach(async () => {
    testbed = await openTestbed();
  }, timeoutMs);
  afterEach(() => testbed.close());

  async function expectTripsAfter(vehicleIds: readonly number[]): Promise<void> {
    const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(testbed.db);
    const since = rows[0]?.now ?? null;
    await eventually(async () => {
      const turns = await sql<{ turns: number }>`select count(*)::int as turns from trip_turn
        where vehicle_id = any(${vehicleIds}::integer[]) and ended_at > ${since}`.execute(testbed.db);
      expect(turns.rows[0]?.turns).toBeGreaterThan(0);
    }, 90_000);
  }

  it(
    'no upload is lost, stored twice or rejected as from the future, and nothing waits for the old time',
    async () => {
      const load = await testbed.startLoad();
      const ids = load.vehicles.map(({ id }) => Number(id));
      await load.progress(3);
      const steps = scale.isFullLength ? [hourMs, 0, -hourMs, 0, 2000, -2000, 60_000, 0] : [hourMs, -hourMs];
      for (let round = 0; round < scale.rounds; round += 1) {
        for (const offsetMs of steps) {
          // Retries are scheduled by the current clock, which has jumped when they are due.
          testbed.lines['ingest-database'].cut();
          await load.progress(1);
          await setClocks(offsetMs);
          testbed.lines['ingest-database'].mend();
          await load.progress(2);
        }
      }
      await expectTripsAfter(ids);
      const uploads = await load.finish();
      const { rows } = await sql<{ waiting: number }>`select count(*)::int as waiting from quarantine
        where device_id = any(${load.vehicles.map(({ deviceId }) => deviceId)}::text[])`.execute(testbed.db);
      expect(rows[0]?.waiting).toBe(0);
      await report('clock jumps', {
        steps: steps.length * scale.rounds,
        acknowledged: uploads,
        stored: uploads,
      });
    },
    timeoutMs,
  );

  it.skipIf(!scale.isFullLength)(
    'uploads that Redis rejected are acknowledged on their connections when Redis is back',
    async () => {
      const load = await testbed.startLoad();
      await load.progress(2);
      await setClocks(hourMs);
      await load.progress(1);
      await testbed.kill('Redis');
      await setClocks(-hourMs);
      await delay(Math.min(scale.awayMs, 5000));
      await testbed.restart('Redis');
      await load.progress(3);
      const uploads = await load.finish();
      expect(uploads).toBeGreaterThan(0);
      await report('clock jumps during a Redis outage', { acknowledged: uploads, stored: uploads });
    },
    timeoutMs,
  );
});
