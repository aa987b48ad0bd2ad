import { readFile } from 'node:fs/promises';
import {
  disclosesPosition,
  isPositionSensor,
  jsonPartPattern,
  namingKeyPattern,
  nestedValuePattern,
  partKeyPattern,
  positionKeyPattern,
  positionNamePattern,
} from '@odograph/contracts/positions';
import { compressReadings } from '@odograph/testkit/compress-readings';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { createOwnDatabase } from '@odograph/testkit/global-setup';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { openDatabase } from './database.ts';
import { sensorsWithoutPositions, withoutPositions } from './private-values.ts';

/** The script below clears all vehicles of a database, those of other tests too. */
const database = await createOwnDatabase('private_values');
const db = openDatabase({ url: database.url, name: 'test', size: 1 });
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

const disclosing = [
  { key: 'GPS_latitude', value: '48.1' },
  { key: 'io387', value: '2b35322e3531' },
  { key: 'io387_2', value: '2b35322e3531' },
  { key: 'event', value: 'geofence_zone_01' },
  { key: 'event', value: 'io155' },
  { key: 'event', value: '155' },
  { key: 'alarm', value: 'geofenceEnter,overspeed' },
  { key: 'extra', value: '{"lat":48.1}' },
  { key: 'extra', value: '[{"poi":"Home"}]' },
  { key: 'plan_2', value: '":48.1,"x":2.3}]}' },
  { key: 'plan_10', value: '48.1,2.3,48.2' },
];
const others = [
  { key: 'event', value: 'ignition' },
  { key: 'alarm', value: 'overspeed' },
  { key: 'priority', value: '1' },
  { key: 'driver', value: 'lat' },
  { key: 'extra', value: '{"rpm":2100}' },
  { key: 'radio', value: '12' },
  { key: 'axle_2', value: '4.5' },
  { key: 'plan', value: 'first, second' },
];

describe('what discloses a position', () => {
  it('is removed from lists by the platform and by the database alike', async () => {
    const data = [...disclosing, ...others];
    expect(data.filter((datum) => !disclosesPosition(datum))).toEqual(others);
    const { rows } = await sql`select ${sql.raw(withoutPositions('list'))} as left
      from (select ${JSON.stringify(data)}::jsonb as list) as given`.execute(db);
    expect(rows).toEqual([{ left: others }]);
  });

  it('is removed from sensors, a beacon as a whole because its name is its address', async () => {
    const probe = { name: 'dallas_1', data: [{ key: 'temperature', value: '4' }] };
    const sensors = [
      { ...probe, data: [...disclosing, ...probe.data] },
      { name: 'ble_5f5f', data: [{ key: 'list', value: 'beacons_advanced' }] },
      { name: 'ble_7c7c', data: [{ key: 'list', value: 'eye_sensors' }] },
      { name: 'gnss', data: [{ key: 'x', value: '48.1' }] },
    ];
    expect(sensors.map(isPositionSensor)).toEqual([false, true, false, true]);
    const { rows } = await sql`select ${sql.raw(sensorsWithoutPositions('sensors'))} as left
      from (select ${JSON.stringify(sensors)}::jsonb as sensors) as given`.execute(db);
    expect(rows).toEqual([{ left: [probe, sensors[2]] }]);
  });
});

describe('infra/clear-private-values.sql', () => {
  const start = 1_710_000_000;

  async function readScript(): Promise<string> {
    return readFile(new URL('../../infra/clear-private-values.sql', import.meta.url), 'utf8');
  }

  it('has the patterns of the platform', async () => {
    const script = await readScript();
    const patterns = [positionKeyPattern, namingKeyPattern, nestedValuePattern, partKeyPattern, jsonPartPattern];
    for (const pattern of patterns) expect(script).toContain(`'${pattern}'`);
    expect(positionNamePattern.startsWith(positionKeyPattern)).toBe(true);
    expect(script).toContain(`(pg_temp.position_key() || '${positionNamePattern.slice(positionKeyPattern.length)}')`);
  });

  it('clears the readings of privacy intervals, compressed or not, and no others', async () => {
    const application = await createApplication(db);
    const [vehicle, other] = [await createVehicle(db, application), await createVehicle(db, application)];
    const lists = [[...disclosing, ...others], [{ name: 'gnss', data: others }]].map((list) => JSON.stringify(list));
    const times = [0, 100, 200];
    for (const { id, deviceId } of [vehicle, other]) {
      await sql`insert into reading (time, application_id, vehicle_id, can, decoded_can, sensors, device_id, received_at)
        select to_timestamp(${start} + seconds), ${application.id}, ${Number(id)}, ${lists[0]}::jsonb, ${lists[0]}::jsonb,
          ${lists[1]}::jsonb, ${deviceId}, now() from unnest(${times}::integer[]) as seconds`.execute(db);
      await sql`insert into vehicle_latest (vehicle_id, time, can, can_time, sensors, sensors_time, received_at)
        values (${Number(id)}, to_timestamp(${start + 200}), ${lists[0]}::jsonb, to_timestamp(${start + 100}),
          ${lists[1]}::jsonb, to_timestamp(${start + 200}), now())`.execute(db);
    }
    await sql`insert into privacy_period values (${Number(vehicle.id)},
      tstzrange(to_timestamp(${start + 100}), to_timestamp(${start + 200})))`.execute(db);
    expect(await compressReadings(db, start, start + 200)).toBe(1);
    const [functions = '', block = ''] = (await readScript()).split(/^(?=do )/m);
    await db.connection().execute(async (connection) => {
      await sql.raw(functions).execute(connection);
      await sql.raw(block).execute(connection);
    });
    const before = { can: JSON.parse(lists[0] ?? ''), sensors: JSON.parse(lists[1] ?? '') };
    const stored = { ...before, decoded_can: before.can };
    const cleared = { can: others, decoded_can: others, sensors: [] };
    const { rows } = await sql`select can, decoded_can, sensors from reading order by vehicle_id, time`.execute(db);
    expect(rows).toEqual([stored, cleared, stored, stored, stored, stored]);
    const latest = await sql`select can, sensors from vehicle_latest order by vehicle_id`.execute(db);
    expect(latest.rows).toEqual([{ ...before, can: others }, before]);
    const changes = await sql`select vehicle_ids, times from reading_change`.execute(db);
    expect(changes.rows).toEqual([{ vehicle_ids: [Number(vehicle.id)], times: [new Date((start + 100) * 1000)] }]);
  });
});
