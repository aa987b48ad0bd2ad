import type { AlarmKind, AlarmParameters } from '@odograph/contracts/alarms';
import type { GeofenceWindows } from '@odograph/contracts/geofence-windows';
import { type Database, openDatabase } from '@odograph/database/database';
import { openSealer } from '@odograph/runtime/sealing';
import { createApplication, createGroup, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { afterEachStatement } from '@odograph/testkit/statements';
import { testConfig } from '@odograph/testkit/test-platform';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { decodeUploads } from '../upload/ingest-upload.ts';
import { BatchStore } from '../upload/store-batch.ts';

const config = await testConfig();
const statements: string[] = [];
const db = openDatabase({ url: config.DATABASE_URL, name: 'test-alarms', size: 2 });
const observed = db.withPlugin(afterEachStatement((text) => void statements.push(text ?? '')));
afterAll(() => db.destroy());
const sealer = await openSealer(config, 'quarantine');
const application = await createApplication(db);

const start = 1_700_000_000;
/** A reading this many seconds after the start. */
const at = (seconds: number, fields: object) => ({ timestamp: start + seconds, ...fields });
const driving = (speed: number) => ({ location: { latitude: 48.85, longitude: 2.35, speed } });

async function createRule(
  kind: AlarmKind,
  parameters: AlarmParameters,
  { vehicles, geofence = null }: { vehicles?: readonly TestVehicle[]; geofence?: string | null } = {},
): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    insert into alarm_rule (application_id, name, kind, parameters, geofence_id, all_vehicles, active_from)
    values (${application.id}, 'rule', ${kind}, ${JSON.stringify(parameters)}, ${geofence}, ${vehicles === undefined},
      to_timestamp(0)) returning id`.execute(db);
  const id = rows[0]?.id ?? '';
  for (const vehicle of vehicles ?? []) {
    await sql`insert into alarm_rule_vehicle values (${id}, ${Number(vehicle.id)})`.execute(db);
  }
  return id;
}

/** A vehicle with a rule of its own, and a store to upload to. */
async function watch(kind: AlarmKind, parameters: AlarmParameters, geofence: string | null = null) {
  const vehicle = await createVehicle(db, application);
  const ruleId = await createRule(kind, parameters, { vehicles: [vehicle], geofence });
  return { vehicle, ruleId, ...storeOf(db, vehicle) };
}

function storeOf(database: Database, vehicle: TestVehicle) {
  const store = new BatchStore(database, sealer);
  return {
    upload: (...readings: object[]) =>
      store.store(
        decodeUploads(
          [{ deviceId: vehicle.deviceId, receivedAtMs: Date.now(), text: JSON.stringify(readings) }],
          Date.now(),
        ),
      ),
  };
}

interface Row {
  raised: number;
  cleared: number | null;
  value: number | null;
  latitude: number | null;
}

async function alarmsOf({ id }: TestVehicle): Promise<Row[]> {
  const { rows } = await sql<Row>`select extract(epoch from raised_at)::float8 - ${start}::float8 as raised,
      extract(epoch from cleared_at)::float8 - ${start}::float8 as cleared, value, latitude
    from alarm where vehicle_id = ${Number(id)} order by raised_at`.execute(db);
  return rows;
}

const intervalsOf = async (vehicle: TestVehicle) =>
  (await alarmsOf(vehicle)).map(({ raised, cleared }) => [raised, cleared]);

describe('an alarm of speed', () => {
  it('is raised once and cleared once, with the device time, speed and position of the reading', async () => {
    const { vehicle, upload } = await watch('speed', { limitKmh: 100 });
    const { alarmIds } = await upload(at(0, driving(90)), at(1, driving(101.5)), at(2, driving(120)));
    expect(alarmIds).toHaveLength(1);
    expect(await alarmsOf(vehicle)).toEqual([{ raised: 1, cleared: null, value: 101.5, latitude: 48.85 }]);
    expect((await upload(at(3, driving(97)))).alarmIds).toEqual([]);
    expect((await upload(at(4, driving(95)))).alarmIds).toEqual(alarmIds);
    expect(await intervalsOf(vehicle)).toEqual([[1, 4]]);
  });

  it('is one alarm while the speed wobbles around the limit', async () => {
    const { vehicle, upload } = await watch('speed', { limitKmh: 100 });
    for (let second = 0; second < 20; second += 1) await upload(at(second, driving(second % 2 ? 99 : 101)));
    expect(await intervalsOf(vehicle)).toEqual([[0, null]]);
  });

  it('with a limit below the hysteresis ends when the vehicle stands', async () => {
    const { vehicle, upload } = await watch('speed', { limitKmh: 3 });
    await upload(at(0, driving(4)), at(1, driving(1)), at(2, driving(0)), at(3, driving(20)));
    expect(await intervalsOf(vehicle)).toEqual([
      [0, 2],
      [3, null],
    ]);
  });

  it('is raised with its own times by late readings, and ends at the next stored reading below the limit', async () => {
    const { vehicle, upload } = await watch('speed', { limitKmh: 100 });
    await upload(at(0, driving(50)), at(100, driving(50)));
    await upload(at(40, driving(130)));
    expect(await intervalsOf(vehicle)).toEqual([[40, 100]]);
    await upload(at(41, driving(130)), at(42, driving(60)));
    expect(await intervalsOf(vehicle)).toEqual([[40, 42]]);
    const { rows } = await sql<{ late: boolean }>`select noticed_at - raised_at > interval '1 day' as late from alarm
      where vehicle_id = ${Number(vehicle.id)}`.execute(db);
    expect(rows).toEqual([{ late: true }]);
  });

  it('does not come from readings of a privacy interval, and neither does its end', async () => {
    const { vehicle, upload } = await watch('speed', { limitKmh: 100 });
    await sql`insert into privacy_period values (${Number(vehicle.id)},
      tstzrange(to_timestamp(${start + 10}), to_timestamp(${start + 20})))`.execute(db);
    await upload(at(10, driving(150)), at(12, { fleet: { speed: 150 } }));
    await upload(at(11, driving(150)));
    expect(await alarmsOf(vehicle)).toEqual([]);
    await upload(at(5, driving(150)));
    await upload(at(13, driving(10)));
    expect(await intervalsOf(vehicle)).toEqual([[5, null]]);
  });

  it('follows the readings in any order as the timeline of signs does', async () => {
    const speeds = fc.array(fc.constantFrom(50, 98, 150), { minLength: 1, maxLength: 8 });
    const property = fc.asyncProperty(speeds, fc.infiniteStream(fc.nat()), async (sequence, picks) => {
      const { vehicle, upload } = await watch('speed', { limitKmh: 100 });
      const left = sequence.map((speed, second) => at(second, driving(speed)));
      const sent: object[] = [];
      const pick = () => picks.next().value ?? 0;
      while (left.length > 0) {
        const batch = left.splice(pick() % left.length, 1 + (pick() % 3));
        sent.push(...batch);
        await upload(...batch, ...(pick() % 2 ? sent.slice(0, 2) : []));
      }
      const alarms = await intervalsOf(vehicle);
      await upload(...sent);
      expect(await intervalsOf(vehicle)).toEqual(alarms);
      const covers = (second: number) =>
        alarms.filter(([raised, cleared]) => (raised ?? 0) <= second && second < (cleared ?? Infinity)).length;
      const showing = [...sequence.keys()].filter((second) => sequence[second] === 150);
      expect(showing.map(covers)).toEqual(showing.map(() => 1));
      const newest = sequence.findLast((speed) => speed !== 98);
      expect(alarms.at(-1)?.[1] === null).toBe(newest === 150);
    });
    await fc.assert(property, { numRuns: 40 });
  });
});

describe('an alarm of a flag of the device', () => {
  it('is raised and cleared by the flag, and its absence decides nothing', async () => {
    const { vehicle, upload } = await watch('crash', {});
    await upload(at(0, { alarms: { crash: true } }), at(1, { alarms: { towing: false } }), at(2, driving(0)));
    expect(await intervalsOf(vehicle)).toEqual([[0, null]]);
    await upload(at(3, { alarms: { crash: false } }));
    expect(await intervalsOf(vehicle)).toEqual([[0, 3]]);
  });

  it('lasts while either of the two jamming flags is raised', async () => {
    const { vehicle, upload } = await watch('jamming', {});
    await upload(at(0, { alarms: { gps_jamming: false, gnss_jamming: true } }));
    await upload(at(1, { alarms: { gps_jamming: true, gnss_jamming: false } }));
    await upload(at(2, { alarms: { gps_jamming: false, gnss_jamming: false } }));
    expect(await intervalsOf(vehicle)).toEqual([[0, 2]]);
  });

  it('tells no position in a privacy interval', async () => {
    const { vehicle, upload } = await watch('crash', {});
    await sql`insert into privacy_period
      values (${Number(vehicle.id)}, tstzrange(to_timestamp(${start}), null))`.execute(db);
    await upload(at(0, { ...driving(30), alarms: { crash: true } }));
    expect(await alarmsOf(vehicle)).toEqual([{ raised: 0, cleared: null, value: null, latitude: null }]);
  });
});

describe('an alarm of towing', () => {
  it('is raised when the vehicle moves 200 m with the ignition off, and cleared by the ignition', async () => {
    const { vehicle, upload } = await watch('towing', {});
    const parked = { status: { ignition: false }, location: { latitude: 48.85, longitude: 2.35 } };
    await upload(at(0, parked));
    await upload(at(60, { ...parked, location: { latitude: 48.86, longitude: 2.35 } }));
    await upload(at(120, { ...parked, location: { latitude: 48.87, longitude: 2.35 } }));
    await upload(at(120, { ...parked, location: { latitude: 48.87, longitude: 2.35 } }));
    expect(await intervalsOf(vehicle)).toEqual([[60, null]]);
    await upload(at(180, { status: { ignition: true } }));
    expect(await intervalsOf(vehicle)).toEqual([[60, 180]]);
  });
});

describe('an alarm of a low battery', () => {
  it('is raised by the charge of the traction battery, and cleared 5 % above the limit', async () => {
    const { vehicle, upload } = await watch('low-battery', { belowPercent: 20 });
    for (const [second, soc] of [20, 19.5, 21, 24.9, 25].entries()) await upload(at(second, { electric: { soc } }));
    expect(await intervalsOf(vehicle)).toEqual([[1, 4]]);
  });

  it('with a limit near 100 % ends when the battery is full', async () => {
    const { vehicle, upload } = await watch('low-battery', { belowPercent: 97.3 });
    for (const [second, soc] of [97, 99.9, 100, 97].entries()) await upload(at(second, { electric: { soc } }));
    expect(await intervalsOf(vehicle)).toEqual([
      [0, 2],
      [3, null],
    ]);
  });

  it('is raised by the voltage in CAN data, and ignores text that is no number', async () => {
    const { vehicle, upload } = await watch('low-battery', { belowVolts: 11.8, canKey: 'battery_volts' });
    for (const [second, value] of ['n/a', '', '11.7', '12', '12.1'].entries()) {
      await upload(at(second, { can: [{ key: 'battery_volts', value }] }));
    }
    expect(await intervalsOf(vehicle)).toEqual([[2, 4]]);
  });
});

describe('an alarm of a geofence', () => {
  async function createGeofence(): Promise<string> {
    const geometry = JSON.stringify({ type: 'Point', coordinates: [2.35, 48.85] });
    const { rows } = await sql<{ id: string }>`insert into geofence (application_id, name, geometry, radius_metres)
      values (${application.id}, 'depot', ${geometry}, 500) returning id`.execute(db);
    return rows[0]?.id ?? '';
  }
  async function createCorridor(windows: GeofenceWindows | null): Promise<string> {
    const coordinates = [2.3, 2.4].map((longitude) => [longitude, 48.85]);
    const { rows } = await sql<{
      id: string;
    }>`insert into geofence (application_id, name, geometry, width_metres, windows)
      values (${application.id}, 'road', ${JSON.stringify({ type: 'LineString', coordinates })}, 200,
        ${windows && JSON.stringify(windows)}) returning id`.execute(db);
    return rows[0]?.id ?? '';
  }
  const metresNorth = (metres: number) => ({ location: { latitude: 48.85 + metres / 111_195, longitude: 2.35 } });

  it('is raised inside, and cleared 50 m beyond the edge', async () => {
    const { vehicle, upload } = await watch('geofence', { when: 'inside' }, await createGeofence());
    for (const [second, metres] of [600, 499, 510, 545, 490, 552].entries())
      await upload(at(second, metresNorth(metres)));
    expect(await intervalsOf(vehicle)).toEqual([[1, 5]]);
  });

  it('is raised 50 m beyond the edge of a corridor, and cleared within it', async () => {
    const { vehicle, upload } = await watch('geofence', { when: 'outside' }, await createCorridor(null));
    for (const [second, metres] of [0, 140, 160, 110, 99].entries()) await upload(at(second, metresNorth(metres)));
    expect(await intervalsOf(vehicle)).toEqual([[2, 4]]);
  });

  it('is raised only within the time windows, and cleared by the first later reading, in any order of readings', async () => {
    // The readings begin on a Tuesday at 22:13:20 UTC.
    const windows = {
      timeZone: 'Europe/London',
      windows: [{ weekdays: ['tuesday'], from: '22:14', until: '22:15' }],
    } as const;
    for (const order of [
      [0, 50, 90, 120],
      [120, 90, 50, 0],
    ]) {
      const { vehicle, upload } = await watch('geofence', { when: 'inside' }, await createCorridor(windows));
      for (const second of order) await upload(at(second, metresNorth(0)));
      expect(await intervalsOf(vehicle)).toEqual([[50, 120]]);
    }
  });

  it('is raised outside 50 m beyond the edge, and cleared inside', async () => {
    const { vehicle, upload } = await watch('geofence', { when: 'outside' }, await createGeofence());
    for (const [second, metres] of [100, 530, 560, 530, 499].entries()) await upload(at(second, metresNorth(metres)));
    expect(await intervalsOf(vehicle)).toEqual([[2, 4]]);
  });
});

describe('rules', () => {
  it('apply to readings from their change on', async () => {
    const { vehicle, ruleId, upload } = await watch('speed', { limitKmh: 100 });
    await sql`update alarm_rule set active_from = to_timestamp(${start + 10}) where id = ${ruleId}`.execute(db);
    await upload(at(9, driving(150)), at(10, driving(150)));
    expect(await intervalsOf(vehicle)).toEqual([[10, null]]);
  });

  it('are read again once one changes, and not before', async () => {
    const { vehicle, ruleId } = await watch('speed', { limitKmh: 100 });
    const { upload } = storeOf(observed, vehicle);
    await upload(at(0, driving(90)));
    const readsOfRules = async (act: () => Promise<unknown>) => {
      statements.length = 0;
      await act();
      return statements.filter((text) => text.includes('from alarm_rule')).length;
    };
    expect(await readsOfRules(() => upload(at(1, driving(90))))).toBe(0);
    await sql`update alarm_rule set parameters = '{"limitKmh": 80}' where id = ${ruleId}`.execute(db);
    expect(await readsOfRules(() => upload(at(2, driving(90))))).toBe(1);
    expect(await intervalsOf(vehicle)).toEqual([[2, null]]);
  });

  it('for a group apply to vehicles of its subgroups while they are members', async () => {
    const vehicle = await createVehicle(db, application);
    const { upload } = storeOf(db, vehicle);
    const parentId = await createGroup(db, application);
    const child = await createGroup(db, application, { parentId });
    const ruleId = await createRule('speed', { limitKmh: 100 }, { vehicles: [] });
    await sql`insert into alarm_rule_group values (${ruleId}, ${parentId})`.execute(db);
    await upload(at(0, driving(150)));
    await sql`insert into vehicle_group_member values (${child}, ${Number(vehicle.id)})`.execute(db);
    await upload(at(1, driving(150)), at(2, driving(50)));
    await sql`update vehicle_group set parent_id = null where id = ${child}`.execute(db);
    await upload(at(3, driving(150)));
    await sql`update vehicle_group set parent_id = ${parentId} where id = ${child}`.execute(db);
    await upload(at(4, driving(150)), at(5, driving(50)));
    await sql`delete from vehicle_group where id = ${child}`.execute(db);
    await upload(at(6, driving(150)));
    expect(await intervalsOf(vehicle)).toEqual([
      [1, 2],
      [4, 5],
    ]);
  });

  it('of other applications cost a batch no statement', async () => {
    const vehicle = await createVehicle(db, await createApplication(db));
    const { upload } = storeOf(observed, vehicle);
    await upload(at(0, driving(150)));
    statements.length = 0;
    await upload(at(1, driving(150)));
    expect(statements.filter((text) => text.includes('alarm') && !text.includes('share_ingest_barrier'))).toEqual([]);
    expect(await alarmsOf(vehicle)).toEqual([]);
  });
});
