import { randomUUID } from 'node:crypto';
import { openSealer } from '@odograph/runtime/sealing';
import { compressReadings } from '@odograph/testkit/compress-readings';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { decodeUploads } from '../upload/ingest-upload.ts';
import { BatchStore } from '../upload/store-batch.ts';
import { FrameRedecoding } from './redecode.ts';

const announced: number[] = [];
const platform = await usePlatform([]);
const application = await createApplication(platform.db);
const batches = new BatchStore(platform.db, await openSealer(platform.config, 'quarantine'));
const redecoding = new FrameRedecoding(platform.db, {
  announce: async ({ vehicleIds = [] }) => void announced.push(...vehicleIds),
});

const start = 1_640_000_000;
const dbc = (factor: number) => `BO_ 256 Engine: 8 X
 SG_ Rpm : 0|16@1+ (${factor},0) [0|0] "" X
 SG_ Gps_Latitude : 16|16@1+ (1,0) [0|0] "" X
`;
const reading = (second: number) => ({
  timestamp: start + second,
  can: [{ key: 'odometer', value: String(second) }],
  frames: [{ id: '100', data: 'e8033141' }],
});
const rpm = (value: string) => ({ key: 'Rpm', value });
const latitude = { key: 'Gps_Latitude', value: '16689' };

async function createModelled(model: string): Promise<TestVehicle> {
  const vehicle = await createVehicle(platform.db, application);
  await sql`update vehicle set model = ${model} where id = ${Number(vehicle.id)}`.execute(platform.db);
  return vehicle;
}

async function importDbc(model: string, factor: number): Promise<void> {
  await sql`insert into can_database (model, file, dbc, sha256, messages, signals, position_keys)
    values (${model}, 'a.dbc', ${dbc(factor)}, ${randomUUID()}, 1, 2, '{}')
    on conflict (lower(model)) do update set dbc = excluded.dbc, sha256 = excluded.sha256`.execute(platform.db);
}

async function store({ deviceId }: TestVehicle, readings: readonly object[], receivedAtMs = Date.now()): Promise<void> {
  const text = JSON.stringify(readings);
  const { quarantined } = await batches.store(decodeUploads([{ deviceId, receivedAtMs, text }], Date.now()));
  expect(quarantined).toEqual([]);
}

/** Requests and awaits a decoding. @returns its counts */
async function redecode(model: string, from: number | null = null, until: number | null = null) {
  const { rows } = await sql<{ id: number }>`insert into can_redecoding (model, from_time, until_time)
    values (${model}, to_timestamp(${from}), to_timestamp(${until})) returning id`.execute(platform.db);
  return eventually(async () => {
    await redecoding.run();
    const { rows: found } = await sql<{ vehicles_done: number; readings_done: number; readings_changed: number }>`
      select vehicles_done, readings_done, readings_changed from can_redecoding
      where id = ${rows[0]?.id} and finished_at is not null`.execute(platform.db);
    expect(found).toHaveLength(1);
    return found[0];
  });
}

async function decodedOf({ id }: TestVehicle): Promise<unknown[]> {
  const { rows } = await sql<{ decoded_can: unknown }>`select decoded_can from reading
    where vehicle_id = ${Number(id)} order by time`.execute(platform.db);
  return rows.map(({ decoded_can }) => decoded_can);
}

async function changesOf({ id }: TestVehicle): Promise<number> {
  const { rows } = await sql<{
    count: number;
  }>`select coalesce(sum(cardinality(array_positions(vehicle_ids, ${Number(id)}))), 0)::integer
    as count from reading_change where ${Number(id)} = any(vehicle_ids)`.execute(platform.db);
  return rows[0]?.count ?? 0;
}

describe('decoding stored frames again', () => {
  it('replaces decoded values of every vehicle of the model, and leaves those of the device and of other models', async () => {
    const model = `Model ${randomUUID()}`;
    const [first, second, other] = [
      await createModelled(model),
      await createModelled(model.toLowerCase()),
      await createModelled('another'),
    ];
    const many = Array.from({ length: 600 }, (_, second) => reading(second));
    await store(first, many.slice(0, 1000));
    await importDbc(model, 1);
    await store(second, [reading(0)]);
    await store(other, [reading(0)]);
    await importDbc(model, 2);
    const counts = await redecode(model);
    expect(counts).toEqual({ vehicles_done: 2, readings_done: 601, readings_changed: 601 });
    expect(await decodedOf(first)).toEqual(many.map(() => [rpm('2000'), latitude]));
    expect(await decodedOf(second)).toEqual([[rpm('2000'), latitude]]);
    expect(await decodedOf(other)).toEqual([null]);
    const { rows } = await sql`select can from reading where vehicle_id = ${Number(second.id)}`.execute(platform.db);
    expect(rows).toEqual([{ can: reading(0).can }]);
    expect(new Set(announced)).toEqual(new Set([Number(first.id), Number(second.id)]));
    expect(await changesOf(second)).toBe(2);
  });

  it('changes nothing the second time, not even the feed of changes', async () => {
    const model = `Model ${randomUUID()}`;
    const vehicle = await createModelled(model);
    await importDbc(model, 1);
    await store(vehicle, [reading(0), reading(1)]);
    expect(await redecode(model)).toMatchObject({ readings_done: 2, readings_changed: 0 });
    expect(await changesOf(vehicle)).toBe(2);
  });

  it('covers the interval of the request, and readings without frames cost no change', async () => {
    const model = `Model ${randomUUID()}`;
    const vehicle = await createModelled(model);
    await store(vehicle, [reading(0), reading(1), { timestamp: start + 2 }, reading(3), reading(4)]);
    await importDbc(model, 1);
    expect(await redecode(model, start + 1, start + 4)).toMatchObject({ readings_done: 3, readings_changed: 2 });
    expect(await decodedOf(vehicle)).toEqual([null, [rpm('1000'), latitude], null, [rpm('1000'), latitude], null]);
  });

  it('updates the latest state if the newest values came from frames, and never sets it back', async () => {
    const model = `Model ${randomUUID()}`;
    const vehicle = await createModelled(model);
    const latest = async () => {
      const { rows } = await sql<{ can: unknown }>`select can from vehicle_latest
        where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
      return rows[0]?.can;
    };
    await importDbc(model, 1);
    await store(vehicle, [reading(0), reading(1)]);
    await importDbc(model, 2);
    await redecode(model);
    expect(await latest()).toEqual([...reading(1).can, rpm('2000'), latitude]);
    const newest = { timestamp: start + 5, can: [{ key: 'odometer', value: '5' }] };
    await store(vehicle, [newest]);
    await importDbc(model, 3);
    await redecode(model);
    expect(await latest()).toEqual(newest.can);
    expect(await decodedOf(vehicle)).toEqual([[rpm('3000'), latitude], [rpm('3000'), latitude], null]);
  });

  it('works on compressed chunks', async () => {
    const model = `Model ${randomUUID()}`;
    const vehicle = await createModelled(model);
    const many = Array.from({ length: 1200 }, (_, second) => reading(second));
    await store(vehicle, many.slice(0, 1000));
    await store(vehicle, many.slice(1000));
    expect(await compressReadings(platform.db, start, start + 1200)).toBeGreaterThan(0);
    await importDbc(model, 1);
    expect(await redecode(model)).toMatchObject({ readings_done: 1200, readings_changed: 1200 });
    expect(await decodedOf(vehicle)).toEqual(many.map(() => [rpm('1000'), latitude]));
  });

  it('decompresses only the batches of the readings that change', async () => {
    const model = `Model ${randomUUID()}`;
    const vehicle = await createModelled(model);
    const first = start + 90 * 86_400;
    for (let from = 0; from < 10_000; from += 1000) {
      await store(
        vehicle,
        Array.from({ length: 1000 }, (_, second) => ({ ...reading(from + second), timestamp: first + from + second })),
      );
    }
    await compressReadings(platform.db, first, first + 10_000);
    await importDbc(model, 1);
    expect(await redecode(model, first + 4500, first + 4510)).toMatchObject({ readings_changed: 10 });
    const { rows } = await sql<{ chunk: string }>`select format('%I.%I', chunk_schema, chunk_name) as chunk
      from timescaledb_information.chunks where hypertable_name = 'reading' and is_compressed
      and range_start <= to_timestamp(${first}) and range_end > to_timestamp(${first})`.execute(platform.db);
    const decompressed = await sql<{
      count: number;
    }>`select count(*) as count from only ${sql.raw(rows[0]?.chunk ?? '')}
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(decompressed.rows[0]?.count).toBeGreaterThanOrEqual(10);
    expect(decompressed.rows[0]?.count).toBeLessThanOrEqual(2000);
  });

  it('adds no position to a reading that is private meanwhile', async () => {
    const model = `Model ${randomUUID()}`;
    const vehicle = await createModelled(model);
    await store(vehicle, [reading(0), reading(10)]);
    await sql`insert into privacy_period values (${Number(vehicle.id)},
      tstzrange(to_timestamp(${start + 5}), to_timestamp(${start + 20})))`.execute(platform.db);
    await importDbc(model, 1);
    await redecode(model);
    expect(await decodedOf(vehicle)).toEqual([[rpm('1000'), latitude], [rpm('1000')]]);
  });

  it('raises the alarms that the values decide, as those of late uploads', async () => {
    const model = `Model ${randomUUID()}`;
    const vehicle = await createModelled(model);
    await sql`insert into alarm_rule (application_id, name, kind, parameters, all_vehicles, active_from)
      values (${application.id}, 'voltage', 'low-battery', '{"belowVolts": 1500, "canKey": "Rpm"}', true, 'epoch')`.execute(
      platform.db,
    );
    await store(vehicle, [reading(0)]);
    await importDbc(model, 1);
    await redecode(model);
    const { rows } = await sql`select value from alarm where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(rows).toEqual([{ value: 1000 }]);
  });
});
