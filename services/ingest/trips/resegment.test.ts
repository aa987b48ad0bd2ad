import { randomUUID } from 'node:crypto';
import type { Database } from '@odograph/database/database';
import { openQueue } from '@odograph/queue/queues';
import { createLogger } from '@odograph/runtime/logger';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { useDatabase } from '@odograph/testkit/scopes';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { ingestService } from '../service.ts';
import { Drive } from './drive.fixture.ts';
import { randomReadings } from './random-drive.fixture.ts';
import { resegment } from './resegment.ts';
import { segmentDueVehicles } from './schedule.ts';
import type { TripReading } from './segmentation/place.ts';
import { segmentTrips } from './segmentation/segment-trips.ts';
import { distributeTouched, touchTrips } from './trip-work.ts';

const db = useDatabase(4);
let application: TestApplication;

beforeAll(async () => {
  // A long statement of another test file may occupy the one session of the embedded engine.
  await eventually(async () => {
    application = await createApplication(db);
  }, 120_000);
});

async function insert(on: Database, { id }: TestVehicle, readings: readonly TripReading[]): Promise<void> {
  const rows = readings.map((one) => ({
    us: one.timeMicroseconds,
    latitude: one.latitude,
    longitude: one.longitude,
    ignition: one.ignition,
    movement: one.movement,
    speed: one.speedKmh,
    mileage: one.mileageKm,
    soc: one.socPercent,
    max_energy: one.maxEnergyKwh,
    lifetime_power_use: one.lifetimePowerKwh,
    fleet: { fuel: one.fuelLitres, fuelRange: one.fuelPercent },
    can: one.fuelUsedLitres === null ? null : [{ key: 'total_fuel_used', value: String(one.fuelUsedLitres) }],
  }));
  await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, ignition, movement, speed,
      mileage, soc, max_energy, lifetime_power_use, fleet, can, device_id, received_at)
    select timestamptz 'epoch' + us * interval '1 microsecond', ${application.id}, ${id}::integer, latitude, longitude,
      ignition, movement, speed, mileage, soc, max_energy, lifetime_power_use, fleet, nullif(can, 'null'), 'test', now()
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (us bigint, latitude float8, longitude float8,
      ignition boolean, movement boolean, speed float8, mileage float8, soc float8, max_energy float8,
      lifetime_power_use float8, fleet jsonb, can jsonb)
    on conflict do nothing`.execute(on);
}

/** Stores readings like ingest: with the intervals they touch, in one transaction. */
async function store(vehicle: TestVehicle, readings: readonly TripReading[]): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await insert(transaction, vehicle, readings);
    const sorted = [...readings].sort((a, b) => a.timeMicroseconds - b.timeMicroseconds);
    await touchTrips(
      transaction,
      sorted.map(({ timeMicroseconds }) => ({ vehicleId: Number(vehicle.id), timeMicroseconds })),
    );
  });
}

const noLog = createLogger('silent');

/** Updates the trips of a vehicle. Workers of concurrent tests share the database. */
async function workOff({ id }: TestVehicle, readings = 200_000): Promise<void> {
  const limits = { readings, horizonMicroseconds: null };
  await eventually(async () => {
    await distributeTouched(db, 0);
    await sql`update trip_work set due_at = now() where vehicle_id = ${id}::integer`.execute(db);
    await segmentDueVehicles(db, { pauseMs: 0, limits, logger: noLog, isOver: () => false });
    const { rows } = await sql`select 1 from trip_touched where ${id}::integer = any(vehicle_ids)
      union all select 1 from trip_work where vehicle_id = ${id}::integer`.execute(db);
    expect(rows).toEqual([]);
  }, 20_000);
}

interface StoredTrip {
  id: string;
  startMicroseconds: number;
  endMicroseconds: number;
  settled: boolean;
}

async function stored({ id }: TestVehicle) {
  const { rows } = await sql<StoredTrip & Record<string, unknown>>`select id, settled,
      (extract(epoch from started_at) * 1000000)::bigint as "startMicroseconds",
      (extract(epoch from ended_at) * 1000000)::bigint as "endMicroseconds", distance_km as "distanceKm", inferred,
      fuel_litres as "fuelLitres", fuel_percent as "fuelPercent", electric_kwh as "electricKwh",
      case when first_latitude is not null then jsonb_build_object('latitude', first_latitude, 'longitude', first_longitude) end as "firstPosition",
      case when last_latitude is not null then jsonb_build_object('latitude', last_latitude, 'longitude', last_longitude) end as "lastPosition"
    from trip where vehicle_id = ${id}::integer order by started_at`.execute(db);
  return rows;
}

const withoutId = ({ id: _id, settled: _settled, ...trip }: StoredTrip & Record<string, unknown>) => trip;

describe('stored trips', () => {
  it('are those of all readings in time order, for any order and batching of arrival', async () => {
    await fc.assert(
      fc.asyncProperty(
        randomReadings,
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        fc.integer({ min: 1, max: 6 }),
        fc.constantFrom(50, 200, 200_000),
        async (readings, chances, batches, budget) => {
          const vehicle = await createVehicle(db, application);
          const chance = () => chances.next().value ?? 0;
          const shuffled = readings.map((reading) => ({ reading, key: chance() })).sort((a, b) => a.key - b.key);
          const size = Math.ceil(shuffled.length / batches);
          for (let from = 0; from < shuffled.length; from += size) {
            await store(
              vehicle,
              shuffled.slice(from, from + size).map(({ reading }) => reading),
            );
            if (chance() < 0.7) await workOff(vehicle, budget);
          }
          await workOff(vehicle, budget);
          expect((await stored(vehicle)).map(withoutId)).toEqual(segmentTrips(readings));
        },
      ),
      { numRuns: 25 },
    );
  });

  it('take consumption from the charge and the level in percent if counter and litres are 0, which is unknown', async () => {
    const drive = new Drive();
    drive.extra = ({ metres }) => ({
      ...{ lifetimePowerKwh: 0, socPercent: 90 - metres / 1000, maxEnergyKwh: 50 },
      ...{ fuelLitres: 0, fuelPercent: 80 - metres / 1000 },
    });
    const vehicle = await createVehicle(db, application);
    await store(vehicle, drive.go(3600).park().readings);
    await workOff(vehicle);
    const [trip] = await stored(vehicle);
    expect(trip).toMatchObject({ fuelLitres: null, electricKwh: expect.closeTo(17.95, 2) });
    expect(trip).toMatchObject({ fuelPercent: expect.closeTo(35.9, 1) });
  });

  it('ignore counters and levels that are 0 for a while, because 0 means unknown', async () => {
    const consumptionOf = async (extra: Drive['extra']) => {
      const drive = new Drive();
      drive.extra = (state) =>
        state.metres > 10_000 && state.metres < 12_000
          ? { fuelUsedLitres: 0, lifetimePowerKwh: 0, fuelLitres: 0, fuelPercent: 0, socPercent: 0, maxEnergyKwh: 50 }
          : { ...extra(state), maxEnergyKwh: 50 };
      const vehicle = await createVehicle(db, application);
      await store(vehicle, drive.go(3600).park().readings);
      await workOff(vehicle);
      return (await stored(vehicle))[0];
    };
    const counters = await consumptionOf(({ metres }) => ({
      ...{ fuelUsedLitres: 5000 + metres / 10_000, lifetimePowerKwh: 9000 + metres / 5000 },
    }));
    expect(counters).toMatchObject({ fuelLitres: expect.closeTo(3.59, 2), electricKwh: expect.closeTo(7.18, 2) });
    const levels = await consumptionOf(({ metres }) => ({
      fuelLitres: 40 - metres / 10_000,
      socPercent: 90 - metres / 1000,
    }));
    expect(levels).toMatchObject({ fuelLitres: expect.closeTo(3.59, 2), electricKwh: expect.closeTo(17.95, 2) });
    const percent = await consumptionOf(({ metres }) => ({ fuelPercent: 80 - metres / 1000 }));
    expect(percent).toMatchObject({ fuelLitres: null, fuelPercent: expect.closeTo(35.9, 1) });
  });

  it('are correct after late readings in a long history, of which only a part is segmented again', async () => {
    const drive = new Drive();
    for (let trip = 0; trip < 60; trip += 1) drive.go(1200).park(3000);
    const late = drive.readings.splice(3000, 40);
    const vehicle = await createVehicle(db, application);
    await store(vehicle, drive.readings);
    await workOff(vehicle);
    const before = await stored(vehicle);
    expect(before.map(withoutId)).toEqual(segmentTrips(drive.readings));
    await store(vehicle, late);
    await workOff(vehicle, 5000);
    const after = await stored(vehicle);
    const all = [...drive.readings, ...late].sort((a, b) => a.timeMicroseconds - b.timeMicroseconds);
    expect(after.map(withoutId)).toEqual(segmentTrips(all));
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  });

  it('keep their ids when they grow, when their start shifts, and when all are recomputed', async () => {
    const vehicle = await createVehicle(db, application);
    const { readings } = new Drive().go(3000).park();
    const ids: (string | undefined)[] = [];
    for (const [from, until] of [
      [100, 200],
      [50, 100],
      [200, 400],
      [0, 50],
    ] as const) {
      await store(vehicle, readings.slice(from, until));
      await workOff(vehicle);
      ids.push((await stored(vehicle))[0]?.id);
    }
    await sql`delete from trip_checkpoint where vehicle_id = ${vehicle.id}::integer`.execute(db);
    await store(vehicle, readings.slice(0, 1));
    await workOff(vehicle);
    ids.push((await stored(vehicle))[0]?.id);
    expect(new Set(ids).size).toBe(1);
    expect(await stored(vehicle)).toHaveLength(1);
  });

  it('are correct when several workers run concurrently', async () => {
    const vehicle = await createVehicle(db, application);
    const { readings } = new Drive().go(600).park().go(900).stand(400).go(700).park();
    const left = readings.values();
    const storeEach = async (): Promise<void> => {
      for (const reading of left) await store(vehicle, [reading]);
    };
    await Promise.all([storeEach(), storeEach(), storeEach(), storeEach()]);
    await Promise.all(Array.from({ length: 30 }, () => workOff(vehicle)));
    await workOff(vehicle);
    expect((await stored(vehicle)).map(withoutId)).toEqual(segmentTrips(readings));
  });

  it('include readings that arrive during a turn', async () => {
    const vehicle = await createVehicle(db, application);
    const { readings } = new Drive().go(600).park();
    await store(vehicle, readings.slice(0, 30));
    let isFirst = true;
    const logger = noLog;
    const limits = { readings: 10, horizonMicroseconds: null };
    const isOver = () => {
      if (isFirst) void store(vehicle, readings.slice(30));
      isFirst = false;
      return false;
    };
    await segmentDueVehicles(db, { pauseMs: 0, limits, logger, isOver });
    await eventually(async () => {
      await workOff(vehicle);
      expect((await stored(vehicle)).map(withoutId)).toEqual(segmentTrips(readings));
    });
  });

  it('remain after their readings were dropped', async () => {
    const vehicle = await createVehicle(db, application);
    const drive = new Drive();
    for (let trip = 0; trip < 20; trip += 1) drive.go(1200).park(3000);
    await store(vehicle, drive.readings);
    await workOff(vehicle);
    const before = await stored(vehicle);
    const horizonMicroseconds = (drive.time - 20_000) * 1e6;
    const dropped = drive.readings.filter(({ timeMicroseconds }) => timeMicroseconds < horizonMicroseconds);
    await sql`delete from reading where vehicle_id = ${vehicle.id}::integer
      and time < timestamptz 'epoch' + ${horizonMicroseconds}::bigint * interval '1 microsecond'`.execute(db);
    const late = dropped.slice(200, 202);
    const touched = [late, drive.readings.slice(-1)].map((some) => ({
      fromMicroseconds: some[0]?.timeMicroseconds ?? 0,
      untilMicroseconds: some.at(-1)?.timeMicroseconds ?? 0,
    }));
    await insert(db, vehicle, late);
    const limits = { readings: 200_000, horizonMicroseconds };
    await db.transaction().execute((transaction) => resegment(transaction, Number(vehicle.id), touched, limits));
    expect(await stored(vehicle)).toEqual(before);
  });

  it('get no end points beyond retention when they are recomputed', async () => {
    const vehicle = await createVehicle(db, application);
    const drive = new Drive();
    drive.go(1200).park(3000);
    const horizonMicroseconds = drive.time * 1e6;
    drive.go(1200).park(3000);
    const [late] = drive.readings.splice(20, 1);
    await store(vehicle, drive.readings);
    await workOff(vehicle);
    await insert(db, vehicle, late ? [late] : []);
    const time = late?.timeMicroseconds ?? 0;
    const touched = [{ fromMicroseconds: time, untilMicroseconds: time }];
    const limits = { readings: 200_000, horizonMicroseconds };
    await db.transaction().execute((transaction) => resegment(transaction, Number(vehicle.id), touched, limits));
    const nowhere = { firstPosition: null, lastPosition: null };
    const place = expect.objectContaining({ latitude: expect.any(Number) });
    expect(await stored(vehicle)).toMatchObject([nowhere, { firstPosition: place, lastPosition: place }]);
  });

  it('remain after their readings are archived, and late readings of later weeks are still segmented', async () => {
    const drive = new Drive();
    // Too few readings for checkpoints, so a late reading causes the whole history to be segmented again.
    drive.go(1200).park(5000).go(1200).park(5000);
    const archived = drive.readings.length;
    const archivedUntil = drive.readings.at(-1)?.timeMicroseconds ?? 0;
    drive.go(1200).park(5000).go(1200).park(5000);
    const late = drive.readings.splice(archived + 20, 10);
    const vehicle = await createVehicle(db, application);
    await store(vehicle, drive.readings);
    await workOff(vehicle);
    const before = await stored(vehicle);
    expect(before).toHaveLength(4);
    await sql`delete from reading where vehicle_id = ${vehicle.id}::integer
      and time <= timestamptz 'epoch' + ${archivedUntil}::bigint * interval '1 microsecond'`.execute(db);
    const lateOfArchived = drive.readings.slice(10, 12);
    await store(vehicle, lateOfArchived);
    await workOff(vehicle);
    expect(await stored(vehicle)).toEqual(before);
    await store(vehicle, late);
    await workOff(vehicle);
    const all = [...drive.readings, ...late].sort((a, b) => a.timeMicroseconds - b.timeMicroseconds);
    const after = await stored(vehicle);
    expect(after.map(withoutId)).toEqual(segmentTrips(all));
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
  });

  it('remain if an open one was archived, and late and new readings arrive together', async () => {
    const drive = new Drive();
    drive.go(1200).dark(7 * 86_400);
    const archived = drive.readings.splice(0);
    const vehicle = await createVehicle(db, application);
    await store(vehicle, archived);
    await workOff(vehicle);
    const before = await stored(vehicle);
    expect(before).toMatchObject([{ settled: false }]);
    await sql`delete from reading where vehicle_id = ${vehicle.id}::integer`.execute(db);
    drive.go(1200).park();
    await store(vehicle, [...archived.slice(10, 12), ...drive.readings]);
    await workOff(vehicle);
    expect((await stored(vehicle)).map(withoutId)).toEqual([...before.map(withoutId), ...segmentTrips(drive.readings)]);
  });

  it('are not created for a deleted vehicle', async () => {
    const vehicle = await createVehicle(db, application);
    await store(vehicle, new Drive().go(600).park().readings);
    await db.updateTable('vehicle').set({ deleted_at: new Date() }).where('id', '=', Number(vehicle.id)).execute();
    await workOff(vehicle);
    expect(await stored(vehicle)).toEqual([]);
    const { rows } = await sql`select 1 from trip_work where vehicle_id = ${vehicle.id}::integer`.execute(db);
    expect(rows).toEqual([]);
  });
});

describe('uploads', () => {
  it('become trips without a request, also when repeated and out of order', async () => {
    const platform = await startTestPlatform([ingestService]);
    const queue = openQueue('uploads', { redisUrl: platform.config.REDIS_URL, prefix: platform.config.QUEUE_PREFIX });
    try {
      const vehicle = await createVehicle(db, application);
      const drive = new Drive();
      drive.extra = ({ metres }) => ({
        mileageKm: 1000 + metres / 1000,
        socPercent: 80 - metres / 1000,
        maxEnergyKwh: 50,
      });
      const { readings } = drive.go(600).park().go(900).park();
      const upload = (some: readonly TripReading[]) =>
        JSON.stringify(
          some.map((one) => ({
            timestamp: one.timeMicroseconds / 1e6,
            location: { latitude: one.latitude, longitude: one.longitude, speed: one.speedKmh },
            status: { ignition: one.ignition, movement: one.movement, mileage: one.mileageKm },
            electric: { soc: one.socPercent, maxEnergy: one.maxEnergyKwh },
          })),
        );
      const parts = [readings.slice(100), readings.slice(0, 50), readings.slice(40, 110)];
      for (const part of parts) {
        const uploads = [{ deviceId: vehicle.deviceId, receivedAtMs: Date.now(), text: upload(part) }];
        await queue.add('uploads', { uploads, devices: 1, bytes: 1 }, { jobId: randomUUID() });
      }
      await eventually(
        async () => expect((await stored(vehicle)).map(withoutId)).toEqual(segmentTrips(readings)),
        40_000,
      );
    } finally {
      await queue.close();
      await platform.stop();
    }
  });
});
