import { randomUUID } from 'node:crypto';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { openSealer } from '@odograph/runtime/sealing';
import { createApplication, createDevice, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { countGaps } from '../pipeline/metrics.ts';
import { decodeUploads } from '../upload/ingest-upload.ts';
import { BatchStore } from '../upload/store-batch.ts';
import { emptyLedger, recordArrivals } from './ledger.ts';

const start = 1_700_000_000;

const platform = await usePlatform([]);
const application = await createApplication(platform.db);

const upload = (deviceId: string, payload: unknown): QueuedUpload => ({
  deviceId,
  receivedAtMs: Date.now(),
  text: typeof payload === 'string' ? payload : JSON.stringify(payload),
});
const reading = (sequence: number) => ({ timestamp: start + sequence, sequence });

async function store(...uploads: QueuedUpload[]): Promise<void> {
  const batches = new BatchStore(platform.db, await openSealer(platform.config, 'quarantine'));
  await batches.store(decodeUploads(uploads, Date.now()));
}

async function openGaps(deviceId: string): Promise<number[][]> {
  const { rows } = await sql<{ gaps: { from: number; until: number }[] }>`
    select gaps from device_sequence where device_id = ${deviceId}`.execute(platform.db);
  return rows[0]?.gaps.map(({ from, until }) => [from, until]) ?? [];
}

describe('the gap ledger', () => {
  it('is written with the readings; a repeated upload changes nothing', async () => {
    const { deviceId } = await createVehicle(platform.db, application);
    const before = await countGaps(platform.db);
    const batch = [upload(deviceId, [reading(1), reading(5)]), upload(deviceId, reading(3))];
    await store(...batch);
    const version = sql`select xmin from device_sequence where device_id = ${deviceId}`;
    const written = await version.execute(platform.db);
    await store(...batch);
    expect(await openGaps(deviceId)).toEqual([
      [2, 2],
      [4, 4],
    ]);
    expect((await version.execute(platform.db)).rows).toEqual(written.rows);
    expect(await countGaps(platform.db)).toEqual({ gaps: before.gaps + 2, missing: before.missing + 2 });
    await store(upload(deviceId, [reading(2), reading(4)]));
    expect(await openGaps(deviceId)).toEqual([]);
    expect(await countGaps(platform.db)).toEqual(before);
  });

  it('counts quarantined readings as arrived: malformed, in the future, rejected, or without a vehicle', async () => {
    const { deviceId } = await createVehicle(platform.db, application);
    const malformed = { ...reading(2), location: 'nowhere' };
    const ahead = { timestamp: Date.now() / 1000 + 86_400, sequence: 3 };
    await store(upload(deviceId, [reading(1), malformed, ahead, { timestamp: start, sequence: '5' }, reading(6)]));
    expect(await openGaps(deviceId)).toEqual([[4, 5]]);
    const stock = await createDevice(platform.db, { applicationId: application.id });
    await store(upload(stock.deviceId, [reading(1), reading(3)]));
    expect(await openGaps(stock.deviceId)).toEqual([[2, 2]]);
  });

  it('ignores unreadable uploads, readings without a sequence, and unknown devices', async () => {
    const { deviceId } = await createVehicle(platform.db, application);
    await store(
      upload(deviceId, '{"sequence": 2'),
      upload(deviceId, { timestamp: start }),
      upload(randomUUID(), reading(1)),
    );
    expect(await openGaps(deviceId)).toEqual([]);
    await store(upload(deviceId, [reading(1), reading(3)]));
    expect(await openGaps(deviceId)).toEqual([[2, 2]]);
  });

  it('records when and how a gap closed', async () => {
    const { deviceId } = await createVehicle(platform.db, application);
    await store(upload(deviceId, [reading(1), reading(4)]));
    await sql`update device_sequence set gaps = jsonb_set(gaps, '{0,sinceMs}', '1700000000000')
      where device_id = ${deviceId}`.execute(platform.db);
    await store(upload(deviceId, reading(3)));
    const { rows } = await sql`select from_sequence, until_sequence, extract(epoch from since)::int as since, outcome,
      closed_at > now() - interval '1 minute' as lately from closed_gap
      where device_id = ${deviceId}`.execute(platform.db);
    expect(rows).toEqual([
      { from_sequence: 3, until_sequence: 3, since: 1_700_000_000, outcome: 'ARRIVED', lately: true },
    ]);
    expect(await openGaps(deviceId)).toEqual([[2, 2]]);
  });

  it('is the same after concurrent batches of several devices in any order', async () => {
    const numbers = Array.from({ length: 24 }, (_one, index) => index + 1);
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(numbers, { minLength: 6 }),
        fc.integer({ min: 1, max: 6 }),
        async (order, size) => {
          const vehicles = await Promise.all([1, 2].map(() => createVehicle(platform.db, application)));
          const batches: QueuedUpload[][] = [];
          for (let at = 0; at < order.length; at += size) {
            const part = order.slice(at, at + size).map(reading);
            batches.push(vehicles.map(({ deviceId }) => upload(deviceId, part)));
          }
          // One batch in three is delivered twice, and half of the batches list the devices in reverse order.
          const jobs = [...batches, ...batches.filter((_one, index) => index % 3 === 0)];
          await Promise.all(jobs.map((job, index) => store(...(index % 2 === 0 ? job : [...job].reverse()))));
          const sorted = [...order].sort((a, b) => a - b);
          const missing = numbers.filter(
            (one) => one > (sorted[0] ?? 0) && one < (sorted.at(-1) ?? 0) && !order.includes(one),
          );
          for (const { deviceId } of vehicles) {
            const found = (await openGaps(deviceId)).flatMap(([from = 0, until = 0]) =>
              numbers.filter((one) => one >= from && one <= until),
            );
            expect(found).toEqual(missing);
          }
        },
      ),
      { numRuns: 10 },
    );
  });

  it('matches its definition for any history, with and without restarts of the count', async () => {
    const arrival = fc.record({
      step: fc.constantFrom(1, 1, 1, 1, 2, 0, -1, -2000),
      seconds: fc.constantFrom(1, 1, 1, 0, -5),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(arrival, { minLength: 1, maxLength: 4 }), { maxLength: 8 }), async (jobs) => {
        const { deviceId } = await createVehicle(platform.db, application);
        let ledger = emptyLedger;
        let [sequence, timestamp] = [1_000_000, start];
        for (const job of jobs) {
          const readings = job.map(({ step, seconds }) => {
            sequence += step;
            timestamp += seconds;
            return { sequence, timestamp };
          });
          await store(upload(deviceId, readings));
          const arrivals = readings.map((one) => ({ sequence: one.sequence, timeMicroseconds: one.timestamp * 1e6 }));
          ({ ledger } = recordArrivals(ledger, arrivals, 0));
        }
        const { rows } = await sql<{ received: string; newest: number }>`
          select received::text, newest_us as newest from device_sequence
          where device_id = ${deviceId}`.execute(platform.db);
        const ranges = ledger.received.map(([from, until]) => `[${from},${until + 1})`).join(',');
        const expected = { received: `{${ranges}}`, newest: ledger.newestMicroseconds };
        expect(rows).toEqual(jobs.length === 0 ? [] : [expected]);
        expect(await openGaps(deviceId)).toEqual(ledger.gaps.map(({ from, until }) => [from, until]));
      }),
      { numRuns: 40 },
    );
  });
});
