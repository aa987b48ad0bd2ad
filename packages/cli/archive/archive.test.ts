import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { openDatabase } from '@odograph/database/database';
import { oldReadingsLock } from '@odograph/database/ingest-barrier';
import type { ParquetColumn } from '@odograph/database/parquet';
import { compressReadings } from '@odograph/testkit/compress-readings';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { createOwnDatabase } from '@odograph/testkit/global-setup';
import { createTestDirectory, useDirectory } from '@odograph/testkit/scopes';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { type ArchivedChunk, archiveReadings } from './archive-readings.ts';
import { ArchiveFile, type Cell, openArchive } from './parquet.ts';
import { restoreReadings } from './restore-readings.ts';
import { type ArchiveStore, openStore } from './store.ts';

const database = await createOwnDatabase('archive');
const db = openDatabase({ url: database.url, name: 'test', size: 2 });
afterAll(async () => {
  await db.destroy();
  await database.drop();
});
let directory: string;
let vehicleId: string;

/** The rows of the vehicle, every value as text. */
async function readRows(): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`select reading::text as text from reading
    where vehicle_id = ${vehicleId}::integer order by time`.execute(db);
  return rows.map(({ text }) => text);
}

/** Stores three weeks of readings from 2024, of which one is compressed, and one of today. */
async function storeReadings(): Promise<void> {
  const application = await createApplication(db);
  vehicleId = (await createVehicle(db, application)).id;
  await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude_e7, speed, satellites, ignition, can, device_id, sequence, received_at)
    select timestamptz '2024-03-04 00:00:00.000001Z' + n * interval '6 hours 1 microsecond', ${application.id}::integer, ${vehicleId}::integer,
      case n % 3 when 0 then null when 1 then n / 7.0 else 1e-300 end, case when n % 4 > 0 then -n * 30000000 end, -n, n % 5, n % 2 = 0,
      case n % 4 when 0 then jsonb_build_array(jsonb_build_object('key', E'line\nfeed "é"', 'value', 1.10)) end,
      'unit-é', n * 100000000000, now() from generate_series(1, 60) as n
    union all select now(), ${application.id}::integer, ${vehicleId}::integer, 1, 2, 2, 3, true, null, 'unit', 1, now()`.execute(
    db,
  );
  await sql`insert into vehicle_latest (vehicle_id, earliest_time, time, received_at)
    select vehicle_id, min(time), max(time), now() from reading where vehicle_id = ${vehicleId}::integer group by 1`.execute(
    db,
  );
  const march = Date.parse('2024-03-10T00:00:00Z') / 1000;
  expect(await compressReadings(db, march, march + 1)).toBe(1);
}

beforeEach(async () => {
  directory = createTestDirectory();
  await sql`delete from reading`.execute(db);
  await storeReadings();
});

async function archive(to: ArchiveStore): Promise<ArchivedChunk[]> {
  const chunks: ArchivedChunk[] = [];
  await archiveReadings(database.url, 400, to, (chunk) => chunks.push(chunk));
  return chunks;
}
const restore = (path: string) => restoreReadings(database.url, path, () => undefined);

describe('an archive', () => {
  it('takes whole old weeks, and brings them back as they were', async () => {
    const before = await readRows();
    const chunks = await archive(openStore(directory, { AWS_REGION: '' }));
    expect(await readRows()).toEqual(before.slice(-1));
    expect(chunks.reduce((sum, { rows }) => sum + rows, 0)).toBe(60);
    const files = readdirSync(directory).sort();
    expect(files).toHaveLength(3);
    expect(files[0]).toMatch(/^readings-2024-02-29-2024-03-07-[0-9a-f]{8}-1\.parquet$/);
    for (const file of files) expect((await restore(join(directory, file))).skipped).toBe(0);
    expect(await readRows()).toEqual(before);
    for (const file of files) expect((await restore(join(directory, file))).restored).toBe(0);
  });

  it('keeps a week that changed while its files were written', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded engine has one session');
    const store = openStore(directory, { AWS_REGION: '' });
    let isFirst = true;
    const before = await readRows();
    const chunks = await archive({
      ...store,
      async put(name, path) {
        await store.put(name, path);
        if (!isFirst) return;
        isFirst = false;
        await sql`update reading set mileage = 1 where vehicle_id = ${vehicleId}::integer and time < '2024-03-07'`.execute(
          db,
        );
      },
    });
    expect(chunks.map(({ from }) => from.slice(0, 10))).toEqual(['2024-03-07', '2024-03-14']);
    const kept = await readRows();
    expect(kept.length).toBe(before.length - chunks.reduce((sum, { rows }) => sum + rows, 0));
    expect((await archive(store)).map(({ from }) => from.slice(0, 10))).toEqual(['2024-02-29']);
  });

  it('does not block late readings while it compares a week with its files', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded engine has one session');
    const archiving = await db.transaction().execute(async (writer) => {
      await sql`update reading set mileage = 1 where vehicle_id = ${vehicleId}::integer and time < '2024-03-07'`.execute(
        writer,
      );
      const chunks = archive(openStore(directory, { AWS_REGION: '' }));
      await waitForLock(writer);
      // As ingest does; it postpones the reading then.
      const { rows } = await sql`select pg_try_advisory_xact_lock_shared(${oldReadingsLock}) as admitted`.execute(db);
      expect(rows).toEqual([{ admitted: false }]);
      return [chunks];
    });
    await Promise.all(archiving);
  });

  it('drops nothing when a stored file differs from the written rows', async () => {
    const store = openStore(directory, { AWS_REGION: '' });
    const before = await readRows();
    const damaging: ArchiveStore = {
      ...store,
      async get(name, path) {
        await store.get(name, path);
        const bytes = await readFile(path);
        bytes[200] = 255 - (bytes[200] ?? 0);
        await writeFile(path, bytes);
      },
    };
    await expect(archive(damaging)).rejects.toThrow();
    expect(await readRows()).toEqual(before);
  });

  it('does not bring back readings of a deleted vehicle', async () => {
    await archive(openStore(directory, { AWS_REGION: '' }));
    await sql`update vehicle set deleted_at = now() where id = ${vehicleId}::integer`.execute(db);
    for (const file of readdirSync(directory)) expect((await restore(join(directory, file))).restored).toBe(0);
  });

  it('blocks no uploads while a restored week waits for its compression', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded engine has one session');
    await archive(openStore(directory, { AWS_REGION: '' }));
    const [file = ''] = readdirSync(directory);
    const [restoring] = await db.transaction().execute(async (compression) => {
      await sql`select pg_advisory_xact_lock(${oldReadingsLock})`.execute(compression);
      await sql`lock table reading in exclusive mode`.execute(compression);
      const restored = restore(join(directory, file));
      await waitForLock(compression);
      // As a change of a link does, for which all uploads would wait.
      await db.transaction().execute(async (change) => {
        await sql`set local lock_timeout = '1s'`.execute(change);
        await sql`select raise_ingest_barrier()`.execute(change);
      });
      return [restored];
    });
    expect((await restoring)?.restored).toBeGreaterThan(0);
  });

  it('refuses other Parquet files and damaged ones', async () => {
    const path = join(directory, 'other.parquet');
    await writeFile(path, 'PAR1');
    await expect(restore(path)).rejects.toThrow();
  });

  it('can be stored in a bucket of an S3-compatible store', async () => {
    const objects = new Map<string, Buffer>();
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const body = Buffer.concat(await request.toArray());
      const isSigned = /^AWS4-HMAC-SHA256 Credential=key\/\d{8}\/eu-west-3\/s3\/aws4_request,/.test(
        request.headers.authorization ?? '',
      );
      const isWhole =
        request.method !== 'PUT' ||
        request.headers['x-amz-content-sha256'] === createHash('sha256').update(body).digest('hex');
      if (!isSigned || !isWhole)
        return void response.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>');
      if (request.method === 'PUT') objects.set(request.url ?? '', body);
      response.end(objects.get(request.url ?? ''));
    };
    const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const AWS_ENDPOINT_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const environment = {
      AWS_ENDPOINT_URL,
      AWS_ACCESS_KEY_ID: 'key',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_REGION: 'eu-west-3',
    };
    try {
      const before = await readRows();
      const store = openStore('s3://bucket/fleet', environment);
      await archive(store);
      expect(objects.size).toBe(3);
      for (const name of objects.keys()) {
        expect(name).toMatch(/^\/bucket\/fleet\/readings-/);
        await store.get(name.slice('/bucket/fleet/'.length), join(directory, 'read'));
        await restore(join(directory, 'read'));
      }
      expect(await readRows()).toEqual(before);
      await expect(
        archive(openStore('s3://bucket/fleet', { ...environment, AWS_REGION: 'us-east-1' })),
      ).rejects.toThrow('PUT was answered 403 SignatureDoesNotMatch');
    } finally {
      server.close();
    }
  });
});

describe('a file of an archive', () => {
  const columns: ParquetColumn[] = (['text', 'number', 'integer', 'bigint', 'boolean', 'time'] as const).map(
    (type) => ({
      name: type,
      type,
    }),
  );
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const row: fc.Arbitrary<Cell[]> = fc.tuple(
    fc.option(fc.string({ unit: 'grapheme' })),
    fc.option(fc.double({ noNaN: true }).map((value) => value + 0)),
    fc.option(fc.integer()),
    fc.option(int64),
    fc.option(fc.boolean()),
    fc.option(int64),
  );
  const path = join(useDirectory(), 'file.parquet');

  it('holds every value of every row in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(row, { minLength: 1, maxLength: 30 }), { minLength: 1, maxLength: 3 }),
        async (groups) => {
          const file = new ArchiveFile(path, columns);
          for (const group of groups) await file.add(group);
          await file.end();
          const read: Cell[][] = [];
          for await (const group of (await openArchive(path)).groups()) read.push(...group.map((cells) => [...cells]));
          expect(read).toEqual(groups.flat());
        },
      ),
      { numRuns: 100 },
    );
  });
});
