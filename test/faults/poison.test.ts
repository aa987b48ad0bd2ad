import { randomUUID } from 'node:crypto';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { ingestService } from '@odograph/ingest/service';
import { openQueue } from '@odograph/queue/queues';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';

const start = 1_760_000_000;
const batchSize = 9;

const platform = await usePlatform([ingestService]);
const queue = openQueue('uploads', { redisUrl: platform.config.REDIS_URL, prefix: platform.config.QUEUE_PREFIX });
afterAll(() => queue.close());

/** Payloads that cannot be decoded, and readings that only the database rejects. */
const poisons: Record<string, Partial<QueuedUpload>> = {
  'no UTF-8': { base64: Buffer.from([0xff, 0xfe, 0x00]).toString('base64') },
  'no JSON': { text: '{"timestamp":' },
  'a NUL in a string': { text: `{"timestamp":${start},"can":[{"key":"a\\u0000b","value":"b"}]}` },
  'half a surrogate pair': { text: `{"timestamp":${start},"can":[{"key":"a","value":"\\ud800"}]}` },
  'a number beyond all': { text: `{"timestamp":${start},"status":{"mileage":1e999}}` },
  'a time before the database begins': { text: '{"timestamp":-1e300}' },
  'deep nesting': { text: `${'['.repeat(100_000)}${']'.repeat(100_000)}` },
  'a prototype key': { text: `{"__proto__":{"timestamp":${start}},"constructor":1}` },
  'too many readings': { text: JSON.stringify(Array.from({ length: 1001 }, () => ({ timestamp: start }))) },
};

async function storedSequences(vehicle: TestVehicle): Promise<number[]> {
  const { rows } = await sql<{ sequence: number }>`select sequence::int as sequence from reading
    where vehicle_id = ${Number(vehicle.id)} order by sequence`.execute(platform.db);
  return rows.map(({ sequence }) => sequence);
}

describe('a malformed upload', () => {
  it.each(Object.entries(poisons))(
    'delays none of its neighbours, wherever it is in the batch, and goes to quarantine: %s',
    async (_name, poison) => {
      const application = await createApplication(platform.db);
      const vehicle = await createVehicle(platform.db, application);
      const culprit = await createVehicle(platform.db, application);
      const common = { receivedAtMs: Date.now() };
      for (let position = 0; position < batchSize; position += 1) {
        const uploads = Array.from({ length: batchSize }, (_one, index): QueuedUpload => {
          if (index === position) return { ...common, deviceId: culprit.deviceId, ...poison };
          const sequence = position * batchSize + index;
          const text = JSON.stringify({ timestamp: start + sequence, sequence });
          return { ...common, deviceId: vehicle.deviceId, text };
        });
        await queue.add('uploads', { uploads, devices: 2, bytes: 1 }, { jobId: randomUUID() });
      }
      const expected = Array.from({ length: batchSize ** 2 }, (_one, index) => index).filter(
        (sequence) => sequence % (batchSize + 1) !== 0,
      );
      await eventually(async () => expect(await storedSequences(vehicle)).toEqual(expected), 20_000);
      const quarantined = await platform.db
        .selectFrom('quarantine')
        .select('id')
        .where('device_id', '=', culprit.deviceId)
        .execute();
      expect(quarantined).toHaveLength(1);
    },
  );
});
