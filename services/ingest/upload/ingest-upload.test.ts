import type { QueuedUpload } from '@odograph/contracts/queues';
import { shardOf } from '@odograph/queue/shards';
import { openSealer, quarantineContext } from '@odograph/runtime/sealing';
import { createApplication, createDevice, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { ingestService } from '../service.ts';
import { openIngest, upload } from './uploads.fixture.ts';

const platform = await usePlatform([ingestService]);
const queue = openIngest(platform);
const application = await createApplication(platform.db);
afterAll(() => queue.close());

const start = 1_700_000_000;
const ingest = (...uploads: QueuedUpload[]) => queue.ingest(...uploads);

async function readings(vehicleId: string) {
  const { rows } = await sql<{ timestamp: string; ignition: unknown; mileage: unknown; soc: unknown }>`
    select extract(epoch from time)::text as timestamp, latitude, speed, ignition, mileage, soc,
      max_cell_temperature, can, sensors, fleet, alarms, frames, sequence
    from reading_in_units where vehicle_id = ${Number(vehicleId)} order by time`.execute(platform.db);
  return rows;
}

// biome-ignore lint/suspicious/noExplicitAny: groups of any shape are compared
async function latest(vehicleId: string): Promise<any> {
  const { rows } = await sql`select *, extract(epoch from location_time)::float8 as location_at
    from vehicle_latest where vehicle_id = ${Number(vehicleId)}`.execute(platform.db);
  return rows[0];
}

/** Returns the quarantined uploads of a device with their opened payloads. */
async function quarantined(deviceId: string) {
  const sealer = await openSealer(platform.config, 'quarantine');
  const rows = await platform.db
    .selectFrom('quarantine')
    .selectAll()
    .where('device_id', '=', deviceId)
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ ...row, payload: sealer.open(row.sealed_payload, quarantineContext(deviceId)) }));
}

describe('stored readings', () => {
  it('contain every field group that the device sent', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const can = [{ key: 'engine "rpm" \\ é', value: '2,100}{' }];
    const sensors = [{ name: 'cargo', data: [{ key: 'temperature', value: '4.5' }] }];
    const frames = [{ id: '18FEF100', data: 'F7005010FF64', time: start + 0.125 }];
    const fleet = { lock: 'LOCKED', cardholder: [{ id: '1', statut: 'PRESENT' }] };
    await ingest(
      upload(vehicle.deviceId, {
        timestamp: start + 0.250001,
        sequence: 4711,
        location: { latitude: 48.8566, longitude: 2.3522, speed: 52 },
        status: { ignition: true, mileage: 12345.6 },
        electric: { soc: 80, maxCellTemperature: 31.5 },
        can,
        sensors,
        fleet,
        alarms: { crash: false },
        frames,
      }),
    );
    expect(await readings(vehicle.id)).toMatchObject([
      {
        timestamp: `${start}.250001`,
        latitude: 48.8566,
        speed: 52,
        ignition: true,
        mileage: 12345.6,
        soc: 80,
        max_cell_temperature: 31.5,
        can,
        sensors,
        fleet,
        alarms: { crash: false },
        frames,
        sequence: 4711,
      },
    ]);
  });

  it('are unchanged by a repeated upload, which adds nothing to the change feed', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const reading = { timestamp: start, location: { latitude: 1, longitude: 2 }, can: [{ key: 'a', value: 'b' }] };
    await ingest(upload(vehicle.deviceId, reading));
    const changes = async () => {
      const { rows } = await sql`select from reading_change
        where ${Number(vehicle.id)} = any(vehicle_ids)`.execute(platform.db);
      return rows.length;
    };
    const before = await readings(vehicle.id);
    await ingest(upload(vehicle.deviceId, reading), upload(vehicle.deviceId, [reading, reading]));
    expect(await readings(vehicle.id)).toEqual(before);
    expect(await changes()).toBe(1);
  });

  it('keep the value received later when an older job is processed again', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const older = upload(vehicle.deviceId, { timestamp: start, status: { mileage: 1 } }, 1000);
    const newer = upload(vehicle.deviceId, { timestamp: start, status: { mileage: 2 } }, 2000);
    await ingest(older);
    await ingest(newer);
    await ingest(older);
    expect(await readings(vehicle.id)).toMatchObject([{ mileage: 2 }]);
  });

  it('are complete and stored once when a large job is stored in two transactions, and again', async () => {
    const vehicles = await Promise.all(Array.from({ length: 6 }, () => createVehicle(platform.db, application)));
    const list = Array.from({ length: 400 }, (_, index) => ({ timestamp: start + index, status: { mileage: index } }));
    const uploads = vehicles.map(({ deviceId }) => upload(deviceId, list));
    await ingest(...uploads);
    await ingest(...uploads);
    const ids = vehicles.map(({ id }) => Number(id));
    const { rows } =
      await sql`select (select count(*) from reading where vehicle_id = any(${ids}::integer[])) as readings,
      (select count(*) from reading_change where vehicle_ids && ${ids}::integer[]) as transactions`.execute(
        platform.db,
      );
    const transactions = new Set(vehicles.map(({ deviceId }) => shardOf(deviceId, 2))).size;
    expect(rows).toEqual([{ readings: 2400, transactions }]);
  });

  it('are the distinct readings for any order, batching and repetition', async () => {
    const reading = fc.record({
      timestamp: fc.integer({ min: start, max: start + 20 }),
      key: fc.integer({ min: 0, max: 2 }),
    });
    const batches = fc.array(fc.array(fc.array(reading, { maxLength: 4 }), { maxLength: 4 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(batches, async (jobs) => {
        const vehicle = await createVehicle(platform.db, application);
        const groups = [{ status: { ignition: true } }, { electric: { soc: 5 } }, { status: { mileage: 9 } }];
        for (const uploads of jobs.filter((job) => job.length > 0)) {
          const lists = uploads.map((list) => list.map(({ timestamp, key }) => ({ timestamp, ...groups[key] })));
          await ingest(...lists.map((list) => upload(vehicle.deviceId, list)));
        }
        const sent = jobs.flat(2);
        const expected = [...new Set(sent.map(({ timestamp }) => timestamp))]
          .sort((a, b) => a - b)
          .map((timestamp) => {
            const has = (key: number) => sent.some((one) => one.timestamp === timestamp && one.key === key);
            return { ignition: has(0) || null, soc: has(1) ? 5 : null, mileage: has(2) ? 9 : null };
          });
        const stored = await readings(vehicle.id);
        expect(stored.map(({ ignition, soc, mileage }) => ({ ignition, soc, mileage }))).toEqual(expected);
      }),
      { numRuns: 15 },
    );
  });
});

describe('the latest state', () => {
  it('is kept by group and never overwritten by older readings', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const at = (timestamp: number, groups: object) => upload(vehicle.deviceId, { timestamp, ...groups });
    await ingest(at(start + 100, { location: { latitude: 2, longitude: 2 }, status: { ignition: true } }));
    await ingest(
      at(start + 50, { location: { latitude: 1, longitude: 1, speed: 9 }, status: { ignition: false, mileage: 5 } }),
    );
    await ingest(at(start + 120, { status: { movement: true }, can: [{ key: 'a', value: '1' }] }));
    await ingest(at(start + 110, { can: [{ key: 'b', value: '2' }] }));
    const state = await latest(vehicle.id);
    expect(state).toMatchObject({
      location: { latitude: 2, longitude: 2 },
      location_at: start + 100,
      status: { ignition: true, movement: true, mileage: 5 },
      can: [{ key: 'a', value: '1' }],
    });
    expect(state.location).not.toHaveProperty('speed');
    expect(state.time).toEqual(new Date((start + 120) * 1000));
  });
});

describe('a reading belongs to', () => {
  it('the vehicle its device was linked to at the time of the reading, however late it arrives', async () => {
    const first = await createVehicle(platform.db, application);
    const second = await createVehicle(platform.db, application);
    const swap = start + 1000;
    await sql`delete from device_link where device_id = ${second.deviceId}`.execute(platform.db);
    await sql`update device_link set period = tstzrange(null, to_timestamp(${swap}))
      where device_id = ${first.deviceId}`.execute(platform.db);
    await sql`insert into device_link values (${first.deviceId}, ${Number(second.id)},
      tstzrange(to_timestamp(${swap}), null))`.execute(platform.db);
    const times = [swap - 1, swap - 0.000001, swap, swap + 1];
    await ingest(
      upload(
        first.deviceId,
        times.map((timestamp) => ({ timestamp })),
      ),
    );
    expect((await readings(first.id)).map(({ timestamp }) => Number(timestamp))).toEqual(times.slice(0, 2));
    expect((await readings(second.id)).map(({ timestamp }) => Number(timestamp))).toEqual(times.slice(2));
  });
});

describe('quarantine', () => {
  it('receives what cannot be stored, byte for byte with the reason; the other readings are stored', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const stray = await createDevice(platform.db);
    const future = Math.floor(Date.now() / 1000) + 400;
    const broken = Buffer.from([0x7b, 0xff]);
    const mixed = [{ timestamp: start }, { timestamp: 'never' }, { timestamp: future }, { timestamp: start + 1 }];
    await ingest(
      upload(vehicle.deviceId, mixed),
      upload(vehicle.deviceId, '{"timestamp":'),
      { deviceId: vehicle.deviceId, receivedAtMs: Date.now(), base64: broken.toString('base64') },
      upload(stray.deviceId, { timestamp: start }),
      upload(vehicle.deviceId, { timestamp: start + 2 }),
    );
    expect((await readings(vehicle.id)).map(({ timestamp }) => Number(timestamp))).toEqual([
      start,
      start + 1,
      start + 2,
    ]);
    const rows = await quarantined(vehicle.deviceId);
    expect(rows).toHaveLength(3);
    const find = (reason: string) => rows.find((row) => JSON.stringify(row.faults).includes(reason));
    expect(find('NOT_JSON')?.payload.toString()).toBe('{"timestamp":');
    expect(find('NOT_UTF8')?.payload).toEqual(broken);
    expect(find('INVALID_FIELD')?.payload.toString()).toBe(JSON.stringify(mixed));
    expect(find('INVALID_FIELD')?.faults).toMatchObject([
      { index: 1, reason: 'INVALID_FIELD', field: 'timestamp' },
      { index: 2, reason: 'IN_THE_FUTURE', field: 'timestamp' },
    ]);
    expect(await quarantined(stray.deviceId)).toMatchObject([{ faults: [{ reason: 'DEVICE_NOT_LINKED' }] }]);
  });

  it('counts repetitions of the same bytes instead of storing them again', async () => {
    const stray = await createDevice(platform.db);
    const reading = { timestamp: start };
    await ingest(upload(stray.deviceId, reading), upload(stray.deviceId, reading));
    await ingest(upload(stray.deviceId, reading));
    expect(await quarantined(stray.deviceId)).toMatchObject([{ times_seen: 2 }]);
  });

  it('is resolved by a replay that stores the upload', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const stray = await createDevice(platform.db);
    await ingest(upload(stray.deviceId, { timestamp: start }));
    const [row] = await quarantined(stray.deviceId);
    await sql`delete from device_link where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    await sql`insert into device_link
      values (${stray.deviceId}, ${Number(vehicle.id)}, tstzrange(null, null))`.execute(platform.db);
    await ingest({ ...upload(stray.deviceId, { timestamp: start }), quarantineId: String(row?.id) });
    expect(await readings(vehicle.id)).toHaveLength(1);
    expect((await quarantined(stray.deviceId))[0]?.resolved_at).toBeInstanceOf(Date);
  });

  it('receives only the one reading that the database rejects, at any position', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const constraint = `refuse_${vehicle.id}`;
    await sql`alter table reading add constraint ${sql.ref(constraint)}
      check (vehicle_id <> ${sql.lit(Number(vehicle.id))} or mileage_metres <> 666000)`.execute(platform.db);
    const times = Array.from({ length: 9 }, (_unused, index) => start + index);
    const list = times.map((timestamp, index) => ({ timestamp, status: { mileage: index === 6 ? 666 : index } }));
    await ingest(upload(vehicle.deviceId, list.slice(0, 2)), upload(vehicle.deviceId, list.slice(2)));
    await sql`alter table reading drop constraint ${sql.ref(constraint)}`.execute(platform.db);
    expect((await readings(vehicle.id)).map(({ mileage }) => mileage)).toEqual([0, 1, 2, 3, 4, 5, 7, 8]);
    expect(await quarantined(vehicle.deviceId)).toMatchObject([{ faults: [{ index: 4, reason: 'NOT_STORABLE' }] }]);
  });
});
