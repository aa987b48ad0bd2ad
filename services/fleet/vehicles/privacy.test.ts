import { appendAudit } from '@odograph/database/audit';
import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import { createVehicle } from '@odograph/testkit/fixtures';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { describe, expect, inject, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';

const { platform, application, api } = await startFleet();

const setPrivacy = (mode: 'on' | 'off', vehicleId: string) => api.post(`/v1/vehicle/privacy/${mode}`, { vehicleId });

async function intervalsOf(vehicleId: string) {
  const { rows } = await sql<{ from: Date; until: Date | null }>`
    select lower(period) as from, upper(period) as until from privacy_period
    where vehicle_id = ${Number(vehicleId)} order by period`.execute(platform.db);
  return rows;
}

const can = [
  { key: 'gps_latitude', value: '48.1234' },
  { key: 'io387', value: Buffer.from('+48.1234').toString('hex') },
  { key: 'event', value: 'geofence_zone_01' },
  { key: 'engine_rpm', value: '2100' },
];
const frames = [{ id: '18FEF300', data: '48123400' }];
const sensors = [
  { name: 'tracker', data: [{ key: 'longitude', value: '2.51515' }, ...can.slice(-1)] },
  { name: 'ble_5f5f', data: [{ key: 'list', value: 'beacons' }] },
];

/** Stores a reading `seconds` from now, its latitude as a double, its longitude as an integer; it is the latest state. */
async function storeReading(vehicle: { id: string; deviceId: string }, seconds: number): Promise<void> {
  const time = sql`now() + make_interval(secs => ${seconds})`;
  const location = JSON.stringify({ latitude: 48.1234, longitude: 2.51515, speed: 52 });
  const lists = [JSON.stringify(can), JSON.stringify(sensors)];
  await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude_e7, angle, altitude, speed,
      satellites, ignition, can, decoded_can, sensors, frames, device_id, received_at)
    values (${time}, ${application.id}, ${Number(vehicle.id)}, 48.1234, 25151500, 90, 35, 52, 9, true, ${lists[0]}::jsonb,
      ${lists[0]}::jsonb, ${lists[1]}::jsonb, ${JSON.stringify(frames)}::jsonb, ${vehicle.deviceId}, now())`.execute(
    platform.db,
  );
  await sql`insert into vehicle_latest (vehicle_id, time, location, location_time, can, can_time, sensors, sensors_time,
      parked_location, parked_at, received_at)
    values (${Number(vehicle.id)}, ${time}, ${location}::jsonb, ${time}, ${lists[0]}::jsonb, ${time},
      ${lists[1]}::jsonb, ${time}, ${location}::jsonb, ${time}, now())
    on conflict (vehicle_id) do update set time = excluded.time, location_time = excluded.time, can_time = excluded.time,
      sensors_time = excluded.time, parked_at = excluded.time`.execute(platform.db);
}

describe('/v1/vehicle/privacy', () => {
  it('opens and closes an interval at the time of the call, idempotently', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const before = Date.now();
    for (const mode of ['on', 'on', 'off', 'off', 'on'] as const) {
      const { status, body } = await setPrivacy(mode, vehicle.id);
      expect([status, body]).toEqual([200, { Privacy: mode === 'on' }]);
    }
    const intervals = await intervalsOf(vehicle.id);
    expect(intervals.map(({ until }) => until === null)).toEqual([false, true]);
    const [first, second] = intervals;
    expect(Math.abs(Number(first?.from) - before)).toBeLessThan(10_000);
    expect(Number(first?.until)).toBeGreaterThanOrEqual(Number(first?.from));
    expect(Number(second?.from)).toBeGreaterThanOrEqual(Number(first?.until));
    const { rows } = await sql`select action, actor, outcome from audit
      where subject = ${`vehicle:${vehicle.id}`} order by position`.execute(platform.db);
    expect(rows).toEqual(
      ['on done', 'on unchanged', 'off done', 'off unchanged', 'on done'].map((line) => {
        const [mode, outcome] = line.split(' ');
        return { action: `privacy.${mode}`, actor: 'application', outcome };
      }),
    );
  });

  it('removes the positions of readings stored early by a fast clock, and nothing else', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await storeReading(vehicle, -60);
    await storeReading(vehicle, 200);
    expect((await setPrivacy('on', vehicle.id)).status).toBe(200);
    const { rows } =
      await sql`select latitude, longitude, angle, altitude, satellites, speed, ignition, can, decoded_can,
        sensors, frames, fleet
      from reading_in_units where vehicle_id = ${Number(vehicle.id)} order by time`.execute(platform.db);
    const [rpm] = can.slice(-1);
    expect(rows).toEqual([
      expect.objectContaining({
        latitude: 48.1234,
        longitude: 2.51515,
        can,
        decoded_can: can,
        sensors,
        frames,
        fleet: null,
      }),
      {
        latitude: null,
        longitude: null,
        angle: null,
        altitude: null,
        satellites: null,
        speed: 52,
        ignition: true,
        can: [rpm],
        decoded_can: [rpm],
        sensors: [{ name: 'tracker', data: [rpm] }],
        frames: null,
        fleet: { speed: 52 },
      },
    ]);
    const latest = await sql<Record<string, unknown>>`select to_jsonb(vehicle_latest) as row from vehicle_latest
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(JSON.stringify(latest.rows)).not.toMatch(/48\.1234|2\.51515|io387|geofence|ble_/);
    expect(latest.rows[0]?.['row']).toMatchObject({ location: null, parked_location: null, fleet: { speed: 52 } });
    const changes = await sql`select from reading_change
      where ${Number(vehicle.id)} = any(vehicle_ids)`.execute(platform.db);
    expect(changes.rows).toHaveLength(1);
  });

  // The embedded engine runs one transaction at a time, whatever it locks.
  it.skipIf(!inject('isNativeDatabase'))('does not wait for a chunk that is being compressed', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await storeReading(vehicle, -40 * 86_400);
    await storeReading(vehicle, 200);
    const { rows } = await sql<{ chunk: string }>`select chunk::text from show_chunks('reading',
      older_than => now() - interval '33 days', newer_than => now() - interval '47 days') as chunk`.execute(
      platform.db,
    );
    expect(rows.length).toBeGreaterThan(0);
    const compression = await platform.db.startTransaction().execute();
    try {
      for (const { chunk } of rows) await sql`lock table ${sql.raw(chunk)} in exclusive mode`.execute(compression);
      expect((await setPrivacy('on', vehicle.id)).status).toBe(200);
      const left = await sql`select from reading_in_units where vehicle_id = ${Number(vehicle.id)} and time > now()
        and latitude is not null`.execute(compression);
      expect(left.rows).toEqual([]);
    } finally {
      await compression.rollback().execute();
    }
  });

  it('keeps the speed of the removed position, whatever speed the vehicle reported before', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await storeReading(vehicle, 200);
    const ofVehicle = sql`where vehicle_id = ${Number(vehicle.id)}`;
    await sql`update vehicle_latest set fleet = '{"speed": 0, "fuel": 5}', fleet_time = now() - interval '1 hour'
      ${ofVehicle}`.execute(platform.db);
    await setPrivacy('on', vehicle.id);
    const { rows } = await sql`select fleet, location from vehicle_latest ${ofVehicle}`.execute(platform.db);
    expect(rows).toEqual([{ fleet: { speed: 52, fuel: 5 }, location: null }]);
  });

  it('keeps a latest position from before the interval', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await storeReading(vehicle, -60);
    await setPrivacy('on', vehicle.id);
    const { rows } = await sql`select location from vehicle_latest
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(rows).toMatchObject([{ location: { latitude: 48.1234 } }]);
  });

  it('removes the end points of trips that end in the interval only, and schedules them for recalculation', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await storeReading(vehicle, 200);
    await sql`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled, inferred, distance_km,
        first_latitude, first_longitude, last_latitude, last_longitude)
      values (${Number(vehicle.id)}, now() - interval '1 hour', now() + interval '200 s', now() + interval '1 hour', false,
          false, 12, 48.1, 2.1, 48.1234, 2.51515),
        (${Number(vehicle.id)}, now() - interval '3 hours', now() - interval '2 hours', now() - interval '1 hour', false,
          false, 7, 48.2, 2.2, 48.3, 2.3)`.execute(platform.db);
    await sql`insert into trip_checkpoint (vehicle_id, time, state, readings)
      values (${Number(vehicle.id)}, now() + interval '200 s', '{"at": 48.1234}', 1)`.execute(platform.db);
    await setPrivacy('on', vehicle.id);
    const trips = await sql`select distance_km, first_latitude, last_latitude, last_longitude from trip
      where vehicle_id = ${Number(vehicle.id)} order by started_at`.execute(platform.db);
    expect(trips.rows).toEqual([
      { distance_km: 7, first_latitude: 48.2, last_latitude: 48.3, last_longitude: 2.3 },
      { distance_km: 12, first_latitude: 48.1, last_latitude: null, last_longitude: null },
    ]);
    const left = await sql`select from trip_checkpoint where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(left.rows).toEqual([]);
    const touched = await sql`select from trip_touched
      where ${Number(vehicle.id)} = any(vehicle_ids)`.execute(platform.db);
    expect(touched.rows).toHaveLength(1);
  });

  it('waits for ingest in flight, and starts the interval after it', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const { answer, storedAt } = await platform.db.transaction().execute(async (writer) => {
      await shareIngestBarrier(writer);
      const pending = setPrivacy('on', vehicle.id);
      await waitForLock(writer);
      const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(writer);
      return { answer: { pending }, storedAt: rows[0]?.now ?? '' };
    });
    expect((await answer.pending).body).toEqual({ Privacy: true });
    const { rows } = await sql`select lower(period) > ${storedAt}::timestamptz as later from privacy_period
      where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    expect(rows).toEqual([{ later: true }]);
  });

  it('does not deadlock with an acknowledgement, which locks the latest state before the audit chain', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await storeReading(vehicle, 200);
    const { answer } = await platform.db.transaction().execute(async (writer) => {
      await sql`select from vehicle_latest where vehicle_id = ${Number(vehicle.id)} for update`.execute(writer);
      const pending = setPrivacy('on', vehicle.id);
      await waitForLock(writer);
      const entry = {
        actor: `device:${vehicle.deviceId}`,
        address: '',
        action: 'command.lock',
        outcome: 'acknowledged',
      };
      await appendAudit(writer, { ...entry, chain: application.id, subject: `vehicle:${vehicle.id}` });
      return { answer: { pending } };
    });
    expect((await answer.pending).body).toEqual({ Privacy: true });
  });

  it('keeps the order of intervals if the clock is set back', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await sql`insert into privacy_period values (${Number(vehicle.id)},
      tstzrange(now() - interval '1 hour', now() + interval '1 hour'))`.execute(platform.db);
    expect((await setPrivacy('on', vehicle.id)).body).toEqual({ Privacy: true });
    const [earlier, open] = await intervalsOf(vehicle.id);
    expect([open?.from, open?.until]).toEqual([earlier?.until, null]);
    expect((await setPrivacy('off', vehicle.id)).body).toEqual({ Privacy: false });
    expect(await intervalsOf(vehicle.id)).toEqual([earlier]);
  });
});
