import { setTimeout as delay } from 'node:timers/promises';
import { migrate } from '@odograph/database/migrate';
import { connectDevice } from '@odograph/simulator/device-connection';
import { createRandom } from '@odograph/simulator/simulated-vehicle';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, unthrottled } from '@odograph/testkit/fixtures';
import { hasRedisServer } from '@odograph/testkit/programs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createChaos } from './parts/chaos.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { createSeparateDatabase, type SeparateDatabase } from './parts/separate-database.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 600_000 + scale.chaosRounds * 90_000;
const roundsBetweenLooks = 10;
/** How long a device waits for a PUBACK before it reconnects. */
const lateAfterMs = 8000;
let database: SeparateDatabase;
let testbed: Testbed | undefined;

/** Creates a device that sends only malformed uploads. */
async function createPoisoner({ db, mqttUrl }: Testbed) {
  const vehicle = await createVehicle(db, await createApplication(db, unthrottled));
  let sent = 0;
  const attempt = async (number: number): Promise<void> => {
    const device = await connectDevice(mqttUrl, vehicle, { connectTimeout: lateAfterMs });
    const late = delay(lateAfterMs, undefined, { ref: false }).then(() => {
      throw new Error('no PUBACK');
    });
    try {
      await Promise.race([device.upload(`{"timestamp":"poison ${number}"}`), late]);
    } finally {
      await device.close('cut');
    }
  };
  return {
    vehicle,
    poison() {
      sent += 1;
      void attempt(sent).catch(() => undefined);
    },
    /** Repeats each upload, acknowledged or not. @returns their number */
    async finish(): Promise<number> {
      for (let number = 1; number <= sent; number += 1) await eventually(() => attempt(number), 120_000);
      return sent;
    },
  };
}

describe.skipIf(!hasRedisServer)('while several random faults overlap', () => {
  beforeEach(async () => {
    database = await createSeparateDatabase();
    await migrate(database.url);
    testbed = await openTestbed({ databaseUrl: database.url });
  }, timeoutMs);
  afterEach(async () => {
    await testbed?.close();
    await database.drop();
  });

  it(
    'every acknowledged upload is stored once, and every malformed one is in quarantine once',
    async () => {
      if (!testbed) throw new Error('no testbed');
      const { db } = testbed;
      const poisoner = await createPoisoner(testbed);
      const round = createChaos({ testbed, database, random: createRandom(scale.seed), poison: poisoner.poison });
      const load = await testbed.startLoad({ pauseMs: Math.max(50, scale.uploadPauseMs) });
      await load.progress(1);
      const counts: Record<string, number> = {};
      for (let number = 1; number <= scale.chaosRounds; number += 1) {
        for (const name of await round()) counts[name] = (counts[name] ?? 0) + 1;
        if (number % roundsBetweenLooks === 0) await load.progress(1);
      }
      await load.progress(1);
      const poisoned = await poisoner.finish();
      const uploads = await load.finish();
      expect(uploads).toBeGreaterThan(0);
      await eventually(async () => {
        const { deviceId } = poisoner.vehicle;
        const rows = await db.selectFrom('quarantine').select('id').where('device_id', '=', deviceId).execute();
        expect(rows).toHaveLength(poisoned);
      }, 120_000);
      const ofLoad = load.vehicles.map(({ deviceId }) => deviceId);
      expect(await db.selectFrom('quarantine').select('id').where('device_id', 'in', ofLoad).execute()).toEqual([]);
      const { chaosRounds: rounds, devices } = scale;
      await report('concurrent faults', {
        rounds,
        devices,
        acknowledged: uploads,
        stored: uploads,
        poisoned,
        ...counts,
      });
    },
    timeoutMs,
  );
});
