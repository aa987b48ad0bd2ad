import { type Database, openDatabase } from '@odograph/database/database';
import {
  createApplication,
  createDevice,
  createGroup,
  createVehicle,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import {
  clearExpired,
  clearSilent,
  clearUnanswered,
  keepWatch,
  raiseSilent,
  raiseUnanswered,
  recordConnections,
  recordSilences,
} from './watch.ts';

const { DATABASE_URL: url } = await testConfig();
const db = openDatabase({ url, name: 'test-alarm-watch', size: 1 });
afterAll(() => db.destroy());

const ago = (minutes: number) => sql`now() - ${minutes}::float8 * interval '1 minute'`;

interface Watched {
  readonly trx: Database;
  readonly vehicle: TestVehicle;
  /** The alarms of the vehicle: minutes since they were raised and cleared. */
  alarms(): Promise<(readonly [raised: number, cleared: number | null])[]>;
}

const linkedAgo = (trx: Database, { id }: TestVehicle, minutes: number) =>
  sql`update event set stored_at = ${ago(minutes)} where vehicle_id = ${Number(id)} and type = 'device.linked'`.execute(
    trx,
  );

/** Runs a test in a transaction that is rolled back: the checks concern all vehicles of the database. */
async function withRule(kind: string, parameters: object, test: (watched: Watched) => Promise<void>): Promise<void> {
  const rolledBack = new Error('rolled back');
  const run = db.transaction().execute(async (trx) => {
    const application = await createApplication(trx);
    const vehicle = await createVehicle(trx, application);
    await sql`update vehicle set created_at = ${ago(1000)} where id = ${Number(vehicle.id)}`.execute(trx);
    await linkedAgo(trx, vehicle, 1000);
    await sql`insert into alarm_rule (application_id, name, kind, parameters, all_vehicles, active_from)
      values (${application.id}, 'rule', ${kind}, ${JSON.stringify(parameters)}, true, ${ago(1000)})`.execute(trx);
    await sql`delete from alarm_watch`.execute(trx);
    await sql`insert into alarm_watch (since, checked_at) values (${ago(1000)}, now())`.execute(trx);
    await test({
      trx,
      vehicle,
      async alarms() {
        const minutes = (column: string) => sql`(extract(epoch from now() - ${sql.ref(column)}) / 60)::float8`;
        const { rows } = await sql<{ raised: number; cleared: number | null }>`
          select ${minutes('raised_at')} as raised, ${minutes('cleared_at')} as cleared from alarm
          where vehicle_id = ${Number(vehicle.id)} order by raised_at`.execute(trx);
        return rows.map(({ raised, cleared }) => [raised, cleared] as const);
      },
    });
    throw rolledBack;
  });
  await run.catch((error: unknown) => {
    if (error !== rolledBack) throw error;
  });
}

const contact = (trx: Database, { id }: TestVehicle, minutesAgo: number) =>
  sql`insert into vehicle_latest (vehicle_id, time, received_at) values (${Number(id)}, now(), ${ago(minutesAgo)})
    on conflict (vehicle_id) do update set received_at = excluded.received_at`.execute(trx);

describe('a device without contact', () => {
  it('raises one alarm after the minutes of the rule, which ends at the next contact', () =>
    withRule('silent', { afterMinutes: 30 }, async ({ trx, vehicle, alarms }) => {
      await contact(trx, vehicle, 29);
      await raiseSilent(trx);
      expect(await alarms()).toEqual([]);
      await contact(trx, vehicle, 50);
      await raiseSilent(trx);
      await raiseSilent(trx);
      await clearSilent(trx);
      expect(await alarms()).toEqual([[20, null]]);
      await contact(trx, vehicle, 2);
      await clearSilent(trx);
      await raiseSilent(trx);
      expect(await alarms()).toEqual([[20, 2]]);
    }));

  it('raises the alarm only for a rule whose group contains the vehicle', () =>
    withRule('silent', { afterMinutes: 30 }, async ({ trx, vehicle, alarms }) => {
      const { id, application_id } = await trx
        .selectFrom('vehicle')
        .select(['id', 'application_id'])
        .where('id', '=', Number(vehicle.id))
        .executeTakeFirstOrThrow();
      const parentId = await createGroup(trx, { id: application_id });
      await createGroup(trx, { id: application_id }, { parentId, vehicleIds: [vehicle.id] });
      const other = await createGroup(trx, { id: application_id });
      await sql`update alarm_rule set all_vehicles = false where application_id = ${application_id}`.execute(trx);
      await contact(trx, vehicle, 50);
      for (const [group, raised] of [
        [other, 0],
        [parentId, 1],
      ] as const) {
        await sql`insert into alarm_rule_group
          select id, ${group}::uuid from alarm_rule where application_id = ${application_id}`.execute(trx);
        await raiseSilent(trx);
        expect((await alarms()).length, `vehicle ${id}`).toBe(raised);
      }
    }));

  it('raises no alarm for an outage of the platform', () =>
    withRule('silent', { afterMinutes: 30 }, async ({ trx, vehicle, alarms }) => {
      await contact(trx, vehicle, 50);
      await sql`update alarm_watch set checked_at = ${ago(40)}`.execute(trx);
      await keepWatch(trx, false);
      await raiseSilent(trx);
      expect(await alarms()).toEqual([]);
    }));

  it('raises no alarm while received uploads are waiting to be stored', () =>
    withRule('silent', { afterMinutes: 30 }, async ({ trx, vehicle, alarms }) => {
      await contact(trx, vehicle, 50);
      await keepWatch(trx, true);
      await raiseSilent(trx);
      expect(await alarms()).toEqual([]);
    }));

  it('raises an alarm when the platform has watched without a pause', () =>
    withRule('silent', { afterMinutes: 30 }, async ({ trx, vehicle, alarms }) => {
      await contact(trx, vehicle, 50);
      await keepWatch(trx, false);
      await raiseSilent(trx);
      expect(await alarms()).toEqual([[20, null]]);
    }));

  it('raises the alarm even if it has never had contact, counted from its link', () =>
    withRule('silent', { afterMinutes: 30 }, async ({ trx, vehicle, alarms }) => {
      await linkedAgo(trx, vehicle, 10);
      await raiseSilent(trx);
      expect(await alarms()).toEqual([]);
      await linkedAgo(trx, vehicle, 50);
      await raiseSilent(trx);
      await clearSilent(trx);
      expect(await alarms()).toEqual([[20, null]]);
      await contact(trx, vehicle, 2);
      await clearSilent(trx);
      expect(await alarms()).toEqual([[20, 2]]);
    }));

  it('raises no alarm for a device that has just replaced one without contact', () =>
    withRule('silent', { afterMinutes: 30 }, async ({ trx, vehicle, alarms }) => {
      await contact(trx, vehicle, 500);
      await linkedAgo(trx, vehicle, 10);
      await raiseSilent(trx);
      expect(await alarms()).toEqual([]);
      await linkedAgo(trx, vehicle, 50);
      await raiseSilent(trx);
      expect(await alarms()).toEqual([[20, null]]);
    }));

  it('ends the alarm by an upload received before it and stored after it', () =>
    withRule('silent', { afterMinutes: 30 }, async ({ trx, vehicle, alarms }) => {
      await contact(trx, vehicle, 50);
      await raiseSilent(trx);
      await contact(trx, vehicle, 25);
      await clearSilent(trx);
      await raiseSilent(trx);
      expect(await alarms()).toEqual([[20, 20]]);
    }));

  it('ends the alarm when its vehicle is archived, and raises another one once the vehicle is reactivated', () =>
    withRule('silent', { afterMinutes: 30 }, async ({ trx, vehicle, alarms }) => {
      await contact(trx, vehicle, 50);
      await raiseSilent(trx);
      await sql`update vehicle set archived_at = now() where id = ${Number(vehicle.id)}`.execute(trx);
      await clearSilent(trx);
      await raiseSilent(trx);
      expect(await alarms()).toEqual([[20, 0]]);
      await sql`update vehicle set archived_at = null where id = ${Number(vehicle.id)}`.execute(trx);
      await raiseSilent(trx);
      expect(await alarms()).toEqual([
        [20, 0],
        [0, null],
      ]);
    }));
});

describe('a crash alarm', () => {
  it('ends an hour after the last reading with `alarms`, if the device keeps reporting', () =>
    withRule('crash', {}, async ({ trx, vehicle, alarms }) => {
      await sql`insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at)
        select rule.application_id, rule.id, vehicle.id, rule.kind, ${ago(100)}
        from vehicle join alarm_rule as rule using (application_id) where vehicle.id = ${Number(vehicle.id)}`.execute(
        trx,
      );
      await contact(trx, vehicle, 0);
      const report = async (minutesAgo: number, alarmsAgo: number) => {
        await sql`update vehicle_latest set time = ${ago(minutesAgo)}, alarms_time = ${ago(alarmsAgo)}
          where vehicle_id = ${Number(vehicle.id)}`.execute(trx);
        await clearExpired(trx);
        return alarms();
      };
      expect(await report(100, 100)).toEqual([[100, null]]);
      expect(await report(0, 59)).toEqual([[100, null]]);
      expect(await report(30, 90)).toEqual([[100, 30]]);
    }));
});

describe('a command', () => {
  const end = async (trx: Database, { id, deviceId }: TestVehicle, state: string, minutesAgo: number) => {
    const { rows } = await sql<{ id: string }>`
      insert into command (application_id, vehicle_id, device_id, action, state, expires_at, ended_at)
      select application_id, id, ${deviceId}, 'LOCK', ${state}, now(), ${ago(minutesAgo)} from vehicle
      where id = ${Number(id)} returning id`.execute(trx);
    return rows[0]?.id;
  };

  it('without an answer raises one alarm, which a late answer ends', () =>
    withRule('unanswered-command', {}, async ({ trx, vehicle, alarms }) => {
      await end(trx, vehicle, 'refused', 20);
      const id = await end(trx, vehicle, 'unknown', 10);
      await raiseUnanswered(trx);
      await clearUnanswered(trx);
      await raiseUnanswered(trx);
      expect(await alarms()).toEqual([[10, null]]);
      await sql`update command set state = 'acknowledged', ended_at = ${ago(5)} where id = ${id}`.execute(trx);
      await clearUnanswered(trx);
      await raiseUnanswered(trx);
      expect(await alarms()).toEqual([[10, 5]]);
    }));

  it('that the device answers later ends the alarms of those before', () =>
    withRule('unanswered-command', {}, async ({ trx, vehicle, alarms }) => {
      await end(trx, vehicle, 'expired', 10);
      await end(trx, vehicle, 'unknown', 9);
      await raiseUnanswered(trx);
      await end(trx, vehicle, 'acknowledged', 1);
      await clearUnanswered(trx);
      expect(await alarms()).toEqual([
        [10, 1],
        [9, 1],
      ]);
    }));
});

describe('a connection', () => {
  it('of a linked device is an event when it began and when it ended, once each', () =>
    withRule('silent', { afterMinutes: 9999 }, async ({ trx, vehicle }) => {
      const { deviceId: unlinked } = await createDevice(trx);
      const events = async () => {
        const { rows } = await sql<{ type: string; subject: string }>`select type, subject from event
          where subject in (${vehicle.deviceId}, ${unlinked}) and type like 'device.%connected'
          order by id`.execute(trx);
        return rows.map(({ type, subject }) => [type, subject]);
      };
      const connected = ['device.connected', vehicle.deviceId];
      for (const _ of [1, 2]) await recordConnections(trx, [vehicle.deviceId, unlinked, 'unknown']);
      expect(await events()).toEqual([connected]);
      for (const _ of [1, 2]) await recordConnections(trx, [unlinked]);
      expect(await events()).toEqual([connected, ['device.disconnected', vehicle.deviceId]]);
      await recordConnections(trx, [vehicle.deviceId]);
      expect(await events()).toHaveLength(3);
    }));
});

describe('a silent vehicle', () => {
  const silences = async (trx: Database, { id }: TestVehicle) => {
    await recordSilences(trx);
    const { rows } = await sql`select type, subject from event where vehicle_id = ${Number(id)}
      and type = 'device.silent'`.execute(trx);
    return rows.length;
  };

  it('is an event once for each silence: 25 hours after the last contact, 10 minutes while it moves', () =>
    withRule('silent', { afterMinutes: 9999 }, async ({ trx, vehicle }) => {
      await sql`update alarm_watch set since = ${ago(9999)}`.execute(trx);
      await contact(trx, vehicle, 60);
      expect(await silences(trx, vehicle)).toBe(0);
      await contact(trx, vehicle, 25 * 60 + 1);
      expect([await silences(trx, vehicle), await silences(trx, vehicle)]).toEqual([1, 1]);
      await contact(trx, vehicle, 9);
      await sql`update vehicle_latest set status = '{"ignition": true}'
        where vehicle_id = ${Number(vehicle.id)}`.execute(trx);
      expect(await silences(trx, vehicle)).toBe(1);
      await contact(trx, vehicle, 11);
      expect([await silences(trx, vehicle), await silences(trx, vehicle)]).toEqual([2, 2]);
    }));

  it('is no event while its location is private, or after an outage of the platform', () =>
    withRule('silent', { afterMinutes: 9999 }, async ({ trx, vehicle }) => {
      await sql`update alarm_watch set since = ${ago(60)}`.execute(trx);
      await contact(trx, vehicle, 26 * 60);
      expect(await silences(trx, vehicle)).toBe(0);
      await sql`update alarm_watch set since = ${ago(9999)}`.execute(trx);
      await sql`insert into privacy_period values (${Number(vehicle.id)}, tstzrange(now(), null))`.execute(trx);
      expect(await silences(trx, vehicle)).toBe(0);
    }));
});
