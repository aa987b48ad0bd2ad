import { brokerService } from '@odograph/broker/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { report } from './parts/testbed.fixture.ts';

const timeoutMs = 300_000;
const start = 1_760_000_000;
/** The lowest numbers would mean that the device restarts its sequence (docs/device-protocol.md, "Missing readings"). */
const firstSequence = 100;
const readingsPerUpload = 7;

const platform = await usePlatform([brokerService, ingestService, queryService]);
const application = await createApplication(platform.db);
const client = platform.as(application.token);

interface Reading {
  readonly timestamp: number;
  readonly sequence: number;
  readonly status: { readonly mileage: number };
}

async function history(vehicleId: string): Promise<Reading[]> {
  const { status, body } = await client.get(`/v1/vehicle/${vehicleId}/history?from=0&until=9999999999&limit=1000`);
  expect(status).toBe(200);
  return body.status;
}

async function openGaps(vehicleId: string): Promise<number[][]> {
  const { status, body } = await client.get(`/v1/x/vehicle/${vehicleId}/gaps?days=0`);
  expect(status).toBe(200);
  const open = body.gaps as { fromSequence: number; untilSequence: number }[];
  return open.map(({ fromSequence, untilSequence }) => [fromSequence, untilSequence]).sort(([a = 0], [b = 0]) => a - b);
}

/** Generates for each reading the step of the clock before it, in seconds, and whether it is lost at first. */
const drives = fc.array(
  fc.record({ step: fc.constantFrom(0, 0, 0, 0, 2, 3600, 90_000, -2, -3600, -90_000), lost: fc.boolean() }),
  { minLength: 3, maxLength: 60 },
);
type Drive = typeof drives extends fc.Arbitrary<infer T> ? T : never;

/** Builds one reading per second of the device's clock, with distinct times. */
function readingsOf(drive: Drive): (Reading & { lost: boolean })[] {
  let clock = start;
  return drive.map(({ step, lost }, index) => {
    clock += step + 1;
    const sequence = firstSequence + index;
    const timestamp = Math.round((clock + index / 1000) * 1000) / 1000;
    // Readings lost at either end leave no gap.
    const isInside = index > 0 && index < drive.length - 1;
    return { timestamp, sequence, status: { mileage: sequence }, lost: lost && isInside };
  });
}

function rangesOf(sequences: readonly number[]): number[][] {
  const ranges: [number, number][] = [];
  for (const sequence of sequences) {
    const last = ranges.at(-1);
    if (last?.[1] === sequence - 1) last[1] = sequence;
    else ranges.push([sequence, sequence]);
  }
  return ranges;
}

const mileagesByTime = (readings: readonly Reading[]) =>
  [...readings].sort((a, b) => a.timestamp - b.timestamp).map(({ status: { mileage } }) => mileage);

describe('a device whose clock jumps while its sequence continues', () => {
  it(
    'has every reading in history in order of device time, and exactly the gaps of lost readings',
    async () => {
      const numRuns = scale.isFullLength ? 100 : 5;
      let stored = 0;
      await fc.assert(
        fc.asyncProperty(drives, async (drive) => {
          const readings = readingsOf(drive);
          const vehicle = await createVehicle(platform.db, application);
          const device = await connectDevice(platform.mqttUrl, vehicle);
          const upload = async (chosen: readonly Reading[]) => {
            for (let first = 0; first < chosen.length; first += readingsPerUpload) {
              await device.upload(chosen.slice(first, first + readingsPerUpload));
            }
          };
          const sent = readings.filter(({ lost }) => !lost);
          const lost = readings.filter((reading) => reading.lost);
          await upload(sent);
          await eventually(async () => {
            expect((await history(vehicle.id)).map(({ status }) => status.mileage)).toEqual(mileagesByTime(sent));
            expect(await openGaps(vehicle.id)).toEqual(rangesOf(lost.map(({ sequence }) => sequence)));
          }, 30_000);
          await upload(lost);
          await eventually(async () => {
            expect((await history(vehicle.id)).map(({ status }) => status.mileage)).toEqual(mileagesByTime(readings));
            expect(await openGaps(vehicle.id)).toEqual([]);
          }, 30_000);
          await device.close();
          stored += readings.length;
        }),
        { numRuns, seed: scale.seed, endOnFailure: true },
      );
      await report('device clocks set', { drives: numRuns, readings: stored });
    },
    timeoutMs,
  );
});
