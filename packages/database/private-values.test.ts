import { disclosesPosition, isPositionSensor } from '@odograph/contracts/positions';
import { createOwnDatabase } from '@odograph/testkit/global-setup';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { openDatabase } from './database.ts';
import { sensorsWithoutPositions, withoutPositions } from './private-values.ts';

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
];
const others = [
  { key: 'event', value: 'ignition' },
  { key: 'alarm', value: 'overspeed' },
  { key: 'priority', value: '1' },
  { key: 'driver', value: 'lat' },
  { key: 'extra', value: '{"rpm":2100}' },
  { key: 'radio', value: '12' },
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
