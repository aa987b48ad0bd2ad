import type { FleetGroup } from '@odograph/contracts/telemetry';
import { openDatabase } from '@odograph/database/database';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import type { Static } from 'typebox';
import { afterAll, expect, it } from 'vitest';
import { writeLatestStates } from './write-latest-states.ts';

type Fleet = Static<typeof FleetGroup>;

const { DATABASE_URL: url } = await testConfig();
const db = openDatabase({ url, name: 'test-latest-states', size: 1 });
afterAll(() => db.destroy());

/** The field group `fleet` after batches of readings, each with its device time in seconds. */
async function fleetAfter(...batches: readonly (readonly [seconds: number, fleet: Fleet])[][]): Promise<unknown> {
  const application = await createApplication(db);
  const vehicle = await createVehicle(db, application);
  const common = { vehicleId: Number(vehicle.id), applicationId: application.id, deviceId: vehicle.deviceId };
  for (const batch of batches) {
    const readings = batch.map(([timestamp, fleet]) => ({
      ...common,
      timeMicroseconds: timestamp * 1e6,
      receivedAtMs: Date.now(),
      reading: { timestamp, fleet },
      privacyIntervals: [],
    }));
    await writeLatestStates(db, readings);
  }
  const { rows } = await sql<{ fleet: unknown }>`select fleet from vehicle_latest
    where vehicle_id = ${common.vehicleId}`.execute(db);
  return rows[0]?.fleet;
}

const authenticated: Fleet = { bluetooth: 'CONNECTED', authenticated: true, fuel: 5 };

it('clears authenticated when a newer reading reports the Bluetooth connection without it, in any order of arrival', async () => {
  const cleared = { bluetooth: 'CONNECTED', fuel: 5 };
  const [first, second] = [[1000, authenticated] as const, [1001, { bluetooth: 'CONNECTED' }] as const];
  expect(await fleetAfter([first, second])).toEqual(cleared);
  expect(await fleetAfter([first], [second])).toEqual(cleared);
  expect(await fleetAfter([second], [first])).toEqual(cleared);
});

it('keeps authenticated when a newer reading does not report the Bluetooth connection', async () => {
  expect(await fleetAfter([[1000, authenticated]], [[1001, { fuel: 4 }]])).toEqual({ ...authenticated, fuel: 4 });
  expect(await fleetAfter([[1001, { fuel: 4 }]], [[1000, authenticated]])).toEqual({ ...authenticated, fuel: 4 });
});
