import { readdir, readFile } from 'node:fs/promises';
import { checkReports } from '@odograph/cli/doctor/database';
import {
  createReportLogin,
  deleteReportLogin,
  findExcessRights,
  rotateReportLogin,
} from '@odograph/cli/installation/report-logins';
import { type Database, openDatabase } from '@odograph/database/database';
import { queryService } from '@odograph/query/service';
import { serviceDatabaseNames } from '@odograph/runtime/settings';
import { applyDatabaseRoles } from '@odograph/testkit/database-roles';
import { createApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { createOwnDatabase } from '@odograph/testkit/global-setup';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { at, createFleet, type Fleet, grafanaMacros, runAs } from './reports.fixture.ts';

let own: Fleet;
let foreign: Fleet;
/** Sees `own`; another login sees both. */
let login: string;
let loginOfAll: string;
let password: string;
const logins: string[] = [];

const views = ['alarms', 'bookings', 'commands', 'devices', 'gaps', 'positions', 'readings', 'trips', 'vehicles'];
async function createLogin(appId?: string): Promise<{ login: string; password: string }> {
  const created = await createReportLogin(db, appId);
  logins.push(created.login);
  return created;
}

const platform = await usePlatform([queryService]);
const db = platform.db;
const { rows } = await sql<{ user: string }>`select session_user::text as user`.execute(db);
const owner = rows[0]?.user ?? '';
[own, foreign] = [await createFleet(db), await createFleet(db)];
({ login, password } = await createLogin(own.application.appId));
({ login: loginOfAll } = await createLogin());
afterAll(async () => {
  for (const one of logins) await deleteReportLogin(db, one).catch(() => undefined);
});

const as = <Result>(reader: string, run: (trx: Database) => Promise<Result>) => runAs(db, { reader, owner }, run);
type Row = Record<string, unknown>;
const read = (reader: string, query: string): Promise<Row[]> =>
  as(reader, async (trx) => (await sql.raw<Row>(query).execute(trx)).rows);
const ofBoth = () => `vehicle_id in (${own.vehicle.id}, ${foreign.vehicle.id})`;
const isNative = inject('isNativeDatabase');

describe('the views of the schema fleet', () => {
  it.each(views)(
    'show in fleet.%s what belongs to the application of the login, and nothing of another',
    async (view) => {
      const query = `select distinct vehicle_id from fleet.${view} where ${ofBoth()} order by 1`;
      expect(await read(login, query)).toEqual([{ vehicle_id: Number(own.vehicle.id) }]);
      expect(await read(loginOfAll, query)).toHaveLength(2);
    },
  );

  it('show no application but that of the login, and none to a user who is no report login', async () => {
    expect(await read(login, 'select app_id from fleet.applications')).toEqual([{ app_id: own.application.appId }]);
    const { rows } = await sql`select from fleet.applications`.execute(db);
    expect(rows).toEqual([]);
  });

  it('show nothing of an application once it is deleted', async () => {
    const application = await createApplication(db);
    const { login: last } = await createLogin(application.appId);
    expect(await read(last, 'select app_id from fleet.applications')).toHaveLength(1);
    await sql`update application set deleted_at = now() where id = ${application.id}`.execute(db);
    expect(await read(last, 'select app_id from fleet.applications')).toEqual([]);
  });

  it('show vehicles as the interface does', async () => {
    const api = platform.admin;
    const shown = async () => {
      const { body } = await api.get(
        `/v1/x/vehicles?state=moving,parked,silent,private,archived&appId=${own.application.appId}`,
      );
      const [{ state, location, speed, mileage, soc, range }] = body.vehicles;
      const [latitude = null] = [location?.latitude];
      return { state, latitude, speed: speed ?? null, mileage, soc, range: range ?? null };
    };
    const viewed = async () => {
      const [row] = await read(
        login,
        `select state, latitude, speed_kmh as speed, mileage_km as mileage, soc_percent as soc,
        range_km as range from fleet.vehicles where vehicle_id = ${own.vehicle.id}`,
      );
      return row;
    };
    const changes = [
      sql`select`,
      sql`update vehicle_latest set status = '{"ignition": false, "mileage": 5}', location = '{"latitude": 1, "longitude": 2}'`,
      sql`update vehicle_latest set fleet = '{"speed": 33, "mileage": 7, "ChargeLevel": 4, "RemainingRange": 9}', fleet_time = now(), electric = '{}'`,
      sql`update vehicle_latest set received_at = now() - interval '2 days'`,
    ];
    const states: unknown[] = [];
    for (const change of changes) {
      await sql`${change} ${change === changes[0] ? sql`` : sql`where vehicle_id = ${own.vehicle.id}::integer`}`.execute(
        db,
      );
      const row = await viewed();
      expect(row).toEqual(await shown());
      states.push(row?.['state']);
    }
    expect(states).toEqual(['moving', 'parked', 'moving', 'silent']);
    await sql`update vehicle set archived_at = now() where id = ${own.vehicle.id}::integer`.execute(db);
    expect(await viewed()).toEqual(await shown());
    await sql`update vehicle set archived_at = null where id = ${own.vehicle.id}::integer`.execute(db);
  });

  it('show no position of a privacy interval, also of one that is entered later', async () => {
    const positions = () => read(login, 'select time from fleet.positions');
    expect(await positions()).toHaveLength(30);
    await sql`insert into privacy_period
      values (${own.vehicle.id}::integer, tstzrange(${at(10)}, ${at(25)}))`.execute(db);
    expect(await positions()).toHaveLength(15);
    expect(await read(login, 'select latitude from fleet.alarms')).toEqual([{ latitude: null }]);
    expect(await read(login, 'select count(*)::integer as count from fleet.readings')).toEqual([{ count: 30 }]);
    await sql`insert into privacy_period values (${own.vehicle.id}::integer, tstzrange(${at(26)}, null))`.execute(db);
    expect(await read(login, 'select first_latitude as first, last_latitude as last from fleet.trips')).toEqual([
      { first: 48, last: null },
    ]);
    expect(await read(login, 'select state, latitude, speed_kmh as speed from fleet.vehicles')).toEqual([
      { state: 'private', latitude: null, speed: null },
    ]);
    await sql`delete from privacy_period where vehicle_id = ${own.vehicle.id}::integer`.execute(db);
  });

  it('have a comment on each view and unit', async () => {
    const { rows } = await sql<{
      missing: string;
    }>`select relname || '.' || coalesce(attname, '') as missing from pg_class
      left join pg_attribute on attrelid = pg_class.oid and attnum > 0
        and attname ~ '_(kmh|km|percent|a|v|kwh|c|minutes|seconds|litres|degrees|m)$' and attname !~ '_(cell|lifetime)_|^(min|max)_cell|^lifetime'
      where relnamespace = 'fleet'::regnamespace and (obj_description(pg_class.oid) is null
        or attnum is not null and col_description(pg_class.oid, attnum) is null)`.execute(db);
    expect(rows).toEqual([]);
  });
});

describe('a report login', () => {
  it.each([
    ['a setting', "select set_config('app.id', '1', true)"],
    ['its group', 'set local role odograph_reports'],
    ['a view of the same name', `set local search_path = pg_temp, public, fleet`],
  ])('sees no more by %s', async (_, statement) => {
    const rows = await as(login, async (trx) => {
      await sql.raw('savepoint before').execute(trx);
      await sql
        .raw(statement)
        .execute(trx)
        .catch(() => sql.raw('rollback to savepoint before').execute(trx));
      return (await sql.raw<Row>(`select vehicle_id from fleet.vehicles where ${ofBoth()}`).execute(trx)).rows;
    });
    expect(rows).toEqual([{ vehicle_id: Number(own.vehicle.id) }]);
  });

  it.each(['vehicles', 'positions', 'trips', 'alarms'])(
    'learns nothing of foreign rows in fleet.%s from the failure of an expression',
    async (view) => {
      const divide = (vehicle: TestVehicle) =>
        read(login, `select 1 from fleet.${view} where 1 / (vehicle_id - ${vehicle.id}) > 1000 and plate <> ''`);
      await expect(divide(own.vehicle)).rejects.toThrow('division by zero');
      expect(await divide(foreign.vehicle)).toEqual([]);
    },
  );

  it.each([
    'select * from public.reading',
    'select * from public.vehicle',
    'select * from public.report_login',
    'select * from public.report_scope',
    'select app_key_sha256 from public.application',
    "update fleet.vehicles set plate = 'x'",
    'delete from fleet.devices',
    'create temporary table mine (id integer)',
    'create table public.mine (id integer)',
    'create view fleet.mine as select 1',
    'select pg_advisory_xact_lock(7305114903)',
    'select pg_try_advisory_lock_shared(1, 2)',
    'select lo_create(0)',
    "select pg_logical_emit_message(false, 'x', 'y')",
    "select end_long_reports('0')",
    'select raise_ingest_barrier()',
  ])('may not: %s', async (statement) => {
    await expect(read(login, statement)).rejects.toThrow(
      /permission denied|must be owner|cannot (delete from|update) view/,
    );
  });

  it('has no right on any table, chunk or privileged function', async () => {
    const { rows } = await sql<{ name: string }>`
      select oid::regclass::text as name from pg_class where relkind in ('r', 'p', 'v', 'm')
        and relnamespace::regnamespace::text in ('public', '_timescaledb_internal')
        and has_any_column_privilege(${login}, oid, 'select, insert, update, references')
        and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')
      union all select oid::regprocedure::text from pg_proc where prosecdef and pronamespace = 'public'::regnamespace
        and has_function_privilege(${login}, oid, 'execute')`.execute(db);
    expect(rows).toEqual([]);
    expect(await findExcessRights(db, login)).toEqual([]);
  });

  it('is reported when someone grants it more', async () => {
    await sql`grant select on vehicle to ${sql.id(login)}`.execute(db);
    expect(await findExcessRights(db, login)).toEqual(['vehicle']);
    await sql`revoke select on vehicle from ${sql.id(login)}`.execute(db);
  });

  it('that changes its own settings is named by the doctor until its password is rotated', async () => {
    const findings = async () => (await checkReports(db)).filter(({ detail }) => detail.includes(login));
    expect(await findings()).toEqual([]);
    const changes = ["set work_mem = '1GB'", 'set statement_timeout = 0', 'reset lock_timeout'];
    await as(login, async (trx) => {
      for (const change of changes) await sql.raw(`alter role ${login} ${change}`).execute(trx);
    });
    await expect(read(login, `alter role ${login} connection limit 100`)).rejects.toThrow('permission denied');
    const detail = `${login} has another lock_timeout, statement_timeout, work_mem`;
    expect(await findings()).toMatchObject([{ result: 'warning', detail }]);
    ({ password } = await rotateReportLogin(db, login));
    expect(await findings()).toEqual([]);
  });

  it('has no password in clear in the catalog', async () => {
    const { rows } = await sql<{
      stored: string;
    }>`select rolpassword as stored from pg_authid where rolname = ${login}`.execute(db);
    expect(rows[0]?.stored).toMatch(/^SCRAM-SHA-256\$4096:/);
  });
});

describe.skipIf(!isNative)('a report login at a server', () => {
  it('leaves the advisory lock functions to the services, whether their roles are created before or after the login', async () => {
    const database = await createOwnDatabase('reports');
    const own = openDatabase({ url: database.url, name: 'test', size: 1 });
    const findLocked = async () => {
      const { rows } = await sql`select rolname, proname from pg_roles cross join pg_proc
        where rolname = any(${Object.keys(serviceDatabaseNames).map((service) => `odograph_${service}`)})
          and proname ~ '^pg_(try_)?advisory_' and not has_function_privilege(rolname, pg_proc.oid, 'execute')`.execute(
        own,
      );
      return rows;
    };
    try {
      // As if an owner without superuser rights had created the roles.
      await sql`revoke execute on function pg_try_advisory_lock(integer, integer) from odograph_ingest`.execute(own);
      logins.push((await createReportLogin(own, undefined)).login);
      expect(await findLocked()).toEqual([]);
      await sql`revoke execute on function pg_try_advisory_lock(integer, integer) from odograph_ingest`.execute(own);
      expect(await findLocked()).toHaveLength(1);
      await applyDatabaseRoles(database.url);
      expect(await findLocked()).toEqual([]);
    } finally {
      await own.destroy();
      await database.drop();
    }
  });

  const connect = async (user: string, secret: string) => {
    const url = new URL(platform.config.DATABASE_URL);
    url.username = user;
    url.password = secret;
    const client = new Client({ connectionString: url.href });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };

  it('has limits that protect the platform, and loses its session when it is deleted', async () => {
    const { login: name, password: first } = await createLogin(own.application.appId);
    const client = await connect(name, first);
    const { rows } =
      await client.query(`select current_setting('statement_timeout') as timeout, session_user::text as user,
      current_setting('default_transaction_read_only') as read_only, (select rolconnlimit from pg_roles where rolname = session_user) as most`);
    expect(rows).toEqual([{ timeout: '1min', user: name, read_only: 'on', most: 5 }]);
    expect((await client.query('select count(*)::integer as count from fleet.positions')).rows).toEqual([
      { count: 30 },
    ]);
    await expect(client.query('set session authorization postgres')).rejects.toThrow(
      /permission denied|does not exist/,
    );
    const { password: second } = await rotateReportLogin(db, name);
    expect(second).not.toBe(first);
    const ended = new Promise((resolve) => client.once('end', resolve));
    await deleteReportLogin(db, name);
    await ended;
    await expect(connect(name, second)).rejects.toThrow();
  });

  it('loses a transaction that stays open, for which the change feed would wait', async () => {
    const client = await connect(login, password);
    const ended = new Promise((resolve) => client.once('end', resolve));
    await client.query('set idle_in_transaction_session_timeout = 0; begin; select from fleet.vehicles');
    const { rows: kept } = await sql<{ count: number }>`select end_long_reports('10 minutes') as count`.execute(db);
    expect(kept).toEqual([{ count: 0 }]);
    const { rows } = await sql<{ count: number }>`select end_long_reports('0 seconds') as count`.execute(db);
    expect(rows).toEqual([{ count: 1 }]);
    await ended;
  });
});

describe('the dashboards of the fleet', () => {
  const expand = (query: string) =>
    grafanaMacros
      .reduce((text, [macro, expansion]) => text.replaceAll(macro, expansion), query)
      .replaceAll('$app', `'${own.application.appId}'`)
      .replaceAll('$vehicle', own.vehicle.id);

  it('have panels and variables whose SQL finds the rows of this login', async () => {
    const directory = new URL('../../infra/grafana/dashboards/', import.meta.url);
    const files = (await readdir(directory)).filter((name) => name.startsWith('odograph-'));
    expect(files.toSorted((left, right) => left.localeCompare(right))).toHaveLength(3);
    for (const file of files) {
      const { panels, templating } = JSON.parse(await readFile(new URL(file, directory), 'utf8'));
      const queries: [string, string, string?][] = [
        ...templating.list.map(({ name, query }: { name: string; query: string }) => [name, query]),
        ...panels.map(
          ({
            title,
            targets: [{ rawSql, format }],
          }: {
            title: string;
            targets: [{ rawSql: string; format: string }];
          }) => [title, rawSql, format],
        ),
      ];
      for (const [title, query, format] of queries) {
        expect([title, expand(query)]).toEqual([title, expect.not.stringContaining('$')]);
        const rows = await read(login, expand(query)).catch((error: Error) => [{ failure: error.message }]);
        expect([file, title, rows.length > 0, rows[0]]).toEqual([
          file,
          title,
          true,
          expect.not.objectContaining({ failure: expect.anything() }),
        ]);
        const [first] = format === 'time_series' ? Object.keys(rows[0] ?? {}) : ['time'];
        expect([title, first]).toEqual([title, 'time']);
      }
    }
  });
});
