import type { FleetGroup, TelemetryReading } from '@odograph/contracts/telemetry';
import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import { openSealer } from '@odograph/runtime/sealing';
import { compressReadings } from '@odograph/testkit/compress-readings';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Static } from 'typebox';
import { describe, expect, it } from 'vitest';
import { countReadings } from '../maintenance/schedule.ts';
import { decodeUploads } from './ingest-upload.ts';
import { LinkCache } from './link-readings.ts';
import { BatchStore } from './store-batch.ts';
import { writeLatestStates } from './write-latest-states.ts';

const platform = await usePlatform([]);
const application = await createApplication(platform.db);
const batches = new BatchStore(platform.db, await openSealer(platform.config, 'quarantine'));

async function store(...uploads: [TestVehicle, ...object[]][]): Promise<void> {
  await storeReceived(...uploads.map((upload) => [Date.now(), ...upload] as const));
}

async function storeReceived(...uploads: (readonly [receivedAtMs: number, TestVehicle, ...object[]])[]): Promise<void> {
  const described = uploads.map(([receivedAtMs, { deviceId }, ...readings]) => ({
    deviceId,
    receivedAtMs,
    text: JSON.stringify(readings),
  }));
  const stored = await batches.store(decodeUploads(described, Date.now()));
  expect(stored.quarantined).toEqual([]);
}

interface ReadingRow {
  seconds: number;
  latitude: number | null;
  mileage: number | null;
  soc: number | null;
}

async function readings({ id }: TestVehicle): Promise<ReadingRow[]> {
  const { rows } = await sql<ReadingRow>`select extract(epoch from time)::float8 as seconds, latitude, mileage, soc
    from reading_in_units where vehicle_id = ${Number(id)} order by time`.execute(platform.db);
  return rows;
}

/** No other test has readings in this week, so its chunk can be compressed. */
const day = Date.UTC(2009, 4, 6) / 1000;
const at = (seconds: number, mileage: number) => ({ timestamp: day + seconds, status: { mileage } });

describe('a batch of readings', () => {
  it('is merged with stored readings even when the latest state was deleted', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await store([vehicle, { timestamp: day, location: { latitude: 1, longitude: 2 } }]);
    await sql`delete from vehicle_latest where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    await store([vehicle, at(0, 3), at(1, 4)]);
    expect(await readings(vehicle)).toEqual([
      { seconds: day, latitude: 1, mileage: 3, soc: null },
      { seconds: day + 1, latitude: null, mileage: 4, soc: null },
    ]);
  });

  it('has the values received last when two readings have the same time', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const receivedAtMs = Date.now();
    await storeReceived([receivedAtMs + 1, vehicle, at(30, 2)], [receivedAtMs, vehicle, at(30, 1)]);
    expect(await readings(vehicle)).toMatchObject([{ mileage: 2 }]);
  });

  it('merges the CAN and sensor values of readings with the same time, in one batch or several', async () => {
    const datum = (key: string, value: string) => ({ key, value });
    const first = { can: [datum('event', 'crash'), datum('rpm', '1')], sensors: [{ name: 'ble_1', data: [] }] };
    const second = { can: [datum('rpm', '2'), datum('fuel', '3')], sensors: [{ name: 'ble_2', data: [] }] };
    const receivedAtMs = Date.now();
    const orders = [
      [[first, second]],
      [[first], [second]],
      [[second], [first]],
      [[first], [second], [first, second], [second]],
    ];
    for (const order of orders) {
      const vehicle = await createVehicle(platform.db, application);
      for (const batch of order) {
        await storeReceived(
          ...batch.map(
            (one) => [receivedAtMs + (one === first ? 0 : 1), vehicle, { timestamp: day + 40, ...one }] as const,
          ),
        );
      }
      const { rows } = await sql`select can, sensors from reading where vehicle_id = ${Number(vehicle.id)}`.execute(
        platform.db,
      );
      expect(rows).toEqual([
        {
          can: [datum('event', 'crash'), datum('rpm', '2'), datum('fuel', '3')],
          sensors: [...first.sensors, ...second.sensors],
        },
      ]);
    }
  });

  it('stays within the size of one reading while a device repeats a time, in one batch or several', async () => {
    const value = 'x'.repeat(1000);
    const all = [0, 1, 2, 3].map((upload) => {
      const data = Array.from({ length: 20 }, (_, index) => ({ key: `${upload}.${index}`, value }));
      return upload % 2 === 0 ? { can: data } : { sensors: [{ name: `ble_${upload}`, data }] };
    });
    const receivedAtMs = Date.now();
    for (const batches of [[all], all.map((one) => [one])]) {
      const vehicle = await createVehicle(platform.db, application);
      for (const batch of batches) {
        await storeReceived(
          ...batch.map((one) => [receivedAtMs + all.indexOf(one), vehicle, { timestamp: day + 50, ...one }] as const),
        );
      }
      const { rows } = await sql`select can, sensors from reading where vehicle_id = ${Number(vehicle.id)}`.execute(
        platform.db,
      );
      expect(rows).toEqual([{ ...all[2], ...all[3] }]);
    }
  });

  it('keeps every value exactly, as an integer or as a double', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const value = (limit: number) =>
      fc.oneof(
        fc.double({ min: -limit, max: limit, noNaN: true }).map((double) => double + 0),
        fc.tuple(fc.integer({ min: -limit, max: limit }), fc.nat(9)).map(([whole, digits]) => whole / 10 ** digits),
      );
    const values = fc.tuple(value(90), value(180), value(1e9), value(1e9), value(1e9));
    const reported = fc.sample(values, 1000);
    const list = reported.map(([latitude, longitude, mileage, current, voltage], second) => ({
      timestamp: day + 1000 + second,
      location: { latitude, longitude },
      status: { mileage },
      electric: { current, voltage },
    }));
    await store([vehicle, ...list]);
    const { rows } = await sql<{ row: number[] }>`
      select array[latitude, longitude, mileage, current, voltage] as row from reading_in_units
      where vehicle_id = ${Number(vehicle.id)} order by time`.execute(platform.db);
    expect(rows.map(({ row }) => row)).toEqual(reported);
  });

  it('is no change when repeated, whichever columns hold its values; another value is', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const reading = { ...at(50, 1.5), location: { latitude: 48.1, longitude: 2 / 3 } };
    const countChanges = async () => {
      const { rows } = await sql<{ count: number }>`select count(*)::integer from reading_change
        where ${Number(vehicle.id)} = any (vehicle_ids)`.execute(platform.db);
      return rows[0]?.count;
    };
    await store([vehicle, reading]);
    // As versions before 0028_whole_numbers.sql stored it.
    await sql`update reading set latitude_e7 = null, latitude = 48.1, mileage_metres = null, mileage = 1.5
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    await store([vehicle, reading]);
    expect(await countChanges()).toBe(1);
    await store([vehicle, { ...reading, ...at(50, 1.25) }]);
    expect(await countChanges()).toBe(2);
    expect(await readings(vehicle)).toMatchObject([{ latitude: 48.1, mileage: 1.25 }]);
  });

  it('replaces a value with a later one, whichever column holds it', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const receivedAtMs = Date.now();
    for (const [received, mileage] of [
      [1, 1.5],
      [3, 2 / 3],
      [2, 2.5],
      [4, 3.5],
    ] as const) {
      await storeReceived([receivedAtMs + received, vehicle, at(40, mileage)]);
      expect(await readings(vehicle)).toMatchObject([{ mileage: mileage === 2.5 ? 2 / 3 : mileage }]);
    }
  });

  it('is stored in compressed chunks, new and repeated readings alike', async () => {
    const first = await createVehicle(platform.db, application);
    const second = await createVehicle(platform.db, application);
    await store([first, at(0, 1), at(10, 2)]);
    expect(await compressReadings(platform.db, day, day + 60)).toBe(1);
    await store([second, at(0, 5), at(10, 6)], [first, at(10, 2), at(20, 3)]);
    await store([first, at(5, 1.5)], [second, { ...at(10, 6), electric: { soc: 80 } }]);
    expect((await readings(first)).map(({ mileage }) => mileage)).toEqual([1, 1.5, 2, 3]);
    expect(await readings(second)).toMatchObject([{ mileage: 5 }, { mileage: 6, soc: 80 }]);
  });
});

const hour = 3600;
/** The start of the current hour, in seconds since the epoch. */
const now = Math.floor(Date.now() / 1000 / hour) * hour;

describe('a late reading', () => {
  it('causes its hour to be counted again, whenever that hour was settled; a live reading does not', async () => {
    const { db } = platform;
    const vehicle = await createVehicle(db, application);
    const storeAt = (...seconds: number[]) =>
      store([vehicle, ...seconds.map((timestamp) => ({ timestamp, status: { ignition: true } }))]);
    const expectCounts = (...counts: number[]) =>
      eventually(async () => {
        await countReadings(db);
        const { rows } = await sql<{
          count: number;
        }>`select count from reading_count where vehicle_id = ${Number(vehicle.id)}
          order by hour`.execute(db);
        expect(rows.map(({ count }) => count)).toEqual(counts);
      });
    const late = now - 3 * 86_400;
    await storeAt(now);
    await expectCounts();
    await storeAt(late, now - 60);
    await expectCounts(1);
    await storeAt(late + 1, late + 4 * hour);
    await expectCounts(2, 1);
    await storeAt(late, late + 1, late + 2);
    await expectCounts(3, 1);
  });
});

const links = new LinkCache();

const vehicle = await createVehicle(platform.db, await createApplication(platform.db));

const find = () =>
  platform.db.transaction().execute(async (transaction) => {
    const { decisions: version } = await shareIngestBarrier(transaction);
    const found = await links.find(transaction, version, [vehicle.deviceId, 'unknown']);
    expect(found.get('unknown')).toEqual([]);
    return found.get(vehicle.deviceId);
  });

describe('cached links', () => {
  it.each([
    [
      'the start of a privacy interval',
      () => sql`insert into privacy_period values (${Number(vehicle.id)}, tstzrange(to_timestamp(1e9), null))`,
      () => [
        { vehicleId: Number(vehicle.id), privacyIntervals: [{ fromMicroseconds: 1e15, untilMicroseconds: Infinity }] },
      ],
    ],
    [
      'the end of a privacy interval',
      () => sql`update privacy_period set period = tstzrange(lower(period), to_timestamp(2e9))
        where vehicle_id = ${Number(vehicle.id)}`,
      () => [{ privacyIntervals: [{ fromMicroseconds: 1e15, untilMicroseconds: 2e15 }] }],
    ],
    [
      'the end of a link',
      () =>
        sql`update device_link set period = tstzrange(null, to_timestamp(3e8)) where device_id = ${vehicle.deviceId}`,
      () => [{ fromMicroseconds: -Infinity, untilMicroseconds: 3e14 }],
    ],
    [
      'a new link',
      () => sql`insert into device_link (device_id, vehicle_id, period)
        values (${vehicle.deviceId}, ${Number(vehicle.id)}, tstzrange(to_timestamp(4e8), null))`,
      () => [{ untilMicroseconds: 3e14 }, { fromMicroseconds: 4e14 }],
    ],
    [
      'the deletion of the vehicle',
      () => sql`update vehicle set deleted_at = now() where id = ${Number(vehicle.id)}`,
      () => [],
    ],
  ])('reflect %s, whichever statement changes it', async (_change, statement, expected) => {
    await find();
    await statement().execute(platform.db);
    const found = [...((await find()) ?? [])].sort((a, b) => a.fromMicroseconds - b.fromMicroseconds);
    expect(found).toMatchObject(expected());
  });
});

type Fleet = Static<typeof FleetGroup>;
/** The groups of a reading besides `fleet`. */
type Others = Pick<TelemetryReading, 'location'>;

/** The field group `fleet` after batches of readings, each with its device time in seconds. */
async function fleetAfter(
  ...batches: readonly (readonly [seconds: number, fleet: Fleet | undefined, others?: Others])[][]
): Promise<unknown> {
  const application = await createApplication(platform.db);
  const vehicle = await createVehicle(platform.db, application);
  const common = { vehicleId: Number(vehicle.id), applicationId: application.id, deviceId: vehicle.deviceId };
  for (const batch of batches) {
    const readings = batch.map(([timestamp, fleet, others]) => ({
      ...common,
      timeMicroseconds: timestamp * 1e6,
      receivedAtMs: Date.now(),
      reading: { timestamp, ...(fleet && { fleet }), ...others },
      privacyIntervals: [],
    }));
    await writeLatestStates(platform.db, readings);
  }
  const { rows } = await sql<{ fleet: unknown }>`select fleet from vehicle_latest
    where vehicle_id = ${common.vehicleId}`.execute(platform.db);
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

it('keeps no speed that is older than that of a position when the group is reported again, in any order of arrival', async () => {
  const at = (speed?: number) => ({ location: { latitude: 1, longitude: 2, ...(speed !== undefined && { speed }) } });
  const [stands, drives] = [[1000, { speed: 0, fuel: 5 }] as const, [1001, undefined, at(80)] as const];
  const opens = [1002, { lock: 'UNLOCKED' }] as const;
  const expected = { lock: 'UNLOCKED', fuel: 5 };
  expect(await fleetAfter([stands, drives, opens])).toEqual(expected);
  expect(await fleetAfter([stands], [drives, opens])).toEqual(expected);
  expect(await fleetAfter([stands], [drives], [opens])).toEqual(expected);
  expect(await fleetAfter([drives, opens], [stands])).toEqual(expected);
  expect(await fleetAfter([stands, [1001, undefined, at()], opens])).toEqual({ speed: 0, ...expected });
  expect(await fleetAfter([stands], [[1001, undefined, at()]], [opens])).toEqual({ speed: 0, ...expected });
  expect(await fleetAfter([drives], [[1001, { speed: 79 }]], [opens])).toEqual({ lock: 'UNLOCKED', speed: 79 });
});

it('merges positions and lists of readings with the same device time in the latest state, in one batch or several', async () => {
  const place = { latitude: 1, longitude: 2 };
  const [rpm, fuel] = [
    { key: 'rpm', value: '1' },
    { key: 'fuel', value: '3' },
  ];
  const first = {
    timestamp: day + 60,
    location: { ...place, speed: 30 },
    can: [rpm],
    sensors: [{ name: 'a', data: [] }],
  };
  const second = { timestamp: day + 60, location: place, can: [fuel], sensors: [{ name: 'b', data: [] }] };
  for (const batches of [[[first, second]], [[first], [second]]]) {
    const vehicle = await createVehicle(platform.db, application);
    for (const batch of batches) await store([vehicle, ...batch]);
    const { rows } = await sql`select location, can, sensors from vehicle_latest
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(rows).toEqual([
      { location: first.location, can: [rpm, fuel], sensors: [...first.sensors, ...second.sensors] },
    ]);
  }
});

describe('a batch with data older and newer than the latest state', () => {
  it('keeps what the platform knows against older data, as if it had arrived before', async () => {
    const stored: Fleet = { lock: 'UNLOCKED', fuel: 1 };
    const batch = [[1000, { lock: 'LOCKED', range: 7 }] as const, [1020, { fuel: 3 }] as const];
    expect(await fleetAfter([[1010, stored]], batch)).toEqual({ lock: 'UNLOCKED', fuel: 3, range: 7 });
    expect(
      await fleetAfter(
        [[1010, stored]],
        [
          [1000, { mileage: 7 }],
          [1010, { fuel: 3 }],
        ],
      ),
    ).toEqual({
      ...stored,
      ...{ fuel: 3, mileage: 7 },
    });
    expect(await fleetAfter([[1010, authenticated]], [[1000, { bluetooth: 'CONNECTED' }], ...batch])).toEqual({
      ...authenticated,
      ...{ lock: 'LOCKED', fuel: 3, range: 7 },
    });
  });

  it('has the newest of the newer values, else the stored one, else the newest of the older ones', async () => {
    const fleet = fc.record({ fuel: fc.nat(9), range: fc.nat(9), speed: fc.nat(9) }, { requiredKeys: [] });
    const batch = fc.uniqueArray(fc.tuple(fc.integer({ min: 1000, max: 1020 }), fleet), {
      selector: ([seconds]) => seconds,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(fleet, batch, async (stored, readings) => {
        const sorted = readings.toSorted(([one], [other]) => one - other);
        const merged = (isTaken: (seconds: number) => boolean) =>
          Object.assign({}, ...sorted.filter(([seconds]) => isTaken(seconds)).map(([, one]) => one));
        const expected = { ...merged((seconds) => seconds < 1010), ...stored, ...merged((seconds) => seconds >= 1010) };
        expect(await fleetAfter([[1010, stored]], sorted)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });
});
