import { readFile } from 'node:fs/promises';
import { accessService } from '@odograph/access/service';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import { consoleService } from '@odograph/console/service';
import { openDatabase } from '@odograph/database/database';
import { eventService } from '@odograph/events/service';
import { fleetService } from '@odograph/fleet/service';
import { gatewayService } from '@odograph/gateway/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { registrationService } from '@odograph/registration/service';
import { serviceDatabaseNames } from '@odograph/runtime/settings';
import { connectDevice } from '@odograph/simulator/device-connection';
import { createApiClient } from '@odograph/testkit/api-client';
import { applyDatabaseRoles, roleSettings, urlInRole } from '@odograph/testkit/database-roles';
import { eventually } from '@odograph/testkit/eventually';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const all = [
  ingestService,
  brokerService,
  gatewayService,
  queryService,
  fleetService,
  accessService,
  registrationService,
  commandService,
  consoleService,
  eventService,
];
const services = Object.keys(serviceDatabaseNames);
const databaseUrl = testDatabaseUrl();
const owner = openDatabase({ url: databaseUrl, name: 'test', size: 2 });
const now = Math.floor(Date.now() / 1000);

afterAll(() => owner.destroy());

describe('a platform with a database role for each service', () => {
  let platform: TestPlatform;
  beforeAll(async () => {
    platform = await startTestPlatform(all, roleSettings(databaseUrl));
  });
  afterAll(() => platform?.stop());

  it('works from the first account to a command and a quarantined upload', async () => {
    const { admin } = platform;
    const enter = async (path: string, body: object) => (await admin.post(`/v1/x/admin/${path}`, body)).body;
    const application = await enter('applications', { name: 'roles' });
    const vehicle = await enter('vehicles', {
      ...{ appId: application.appId, plate: `R-${Date.now()}`, brand: 'Renault', model: 'Zoe' },
    });
    const device = await enter('devices', { id: `roles-${Date.now()}`, model: 'generic', vehicleId: vehicle.id });
    const { token } = (await platform.anonymous.post('/v1/login', application)).body;
    const api = platform.as(token);

    const rotated = await enter(`devices/${device.deviceId}/secret`, { overlapSeconds: 600 });
    const connection = await connectDevice(platform.mqttUrl, rotated);
    await expect(connectDevice(platform.mqttUrl, device)).rejects.toThrow('closed');
    await connection.obey(() => ({ ok: true, status: 'CLOSED' }));
    await connection.upload(
      [1, 2, 3].map((n) => ({ timestamp: now - n, sequence: 4 - n, status: { mileage: 100 - n } })),
    );
    await connection.upload('{"not": "a reading"}');
    const history = `/v1/vehicles/history?from=${now - 60}&until=${now}`;
    await eventually(async () => expect((await api.get(history)).body.status).toHaveLength(3));

    const source = await enter('sources', { appId: application.appId, format: 'flespi', createDevices: true });
    for (const ident of [device.deviceId, `roles-new-${Date.now()}`]) {
      const forwarded = createApiClient(platform.httpUrl, { authorization: `Bearer ${source.secret}` });
      expect((await forwarded.post('/in/flespi', { ident, timestamp: now - 4 })).status).toBe(200);
    }
    await eventually(async () => {
      const { sources } = (await admin.get(`/v1/x/admin/sources?appId=${application.appId}`)).body;
      expect(sources).toMatchObject([{ messages: 2, devices: 2, unknownMessages: 0 }]);
    });
    await eventually(async () => expect((await api.get(history)).body.status).toHaveLength(4));

    const webhook = { url: 'https://receiver.invalid/', types: ['*'] };
    const { id: webhookId } = (await api.post('/v1/x/webhooks', webhook)).body;
    expect((await api.post('/v1/vehicle/lock', { vehicleId: vehicle.id })).status).toBe(200);
    await api.post(`/v1/x/webhooks/${webhookId}/replay`, { from: now - 3600 });
    await eventually(async () => {
      const { deliveries } = (await api.get(`/v1/x/webhooks/${webhookId}/deliveries`)).body;
      expect(deliveries.map(({ type }: { type: string }) => type)).toContain('device.linked');
    }, 60_000);
    expect((await api.get('/v1/vehicles/status')).status).toBe(200);
    const quarantine = await eventually(async () => {
      const { body } = await admin.get('/v1/x/admin/quarantine');
      const own = body.quarantine.find((row: { deviceId: string }) => row.deviceId === device.deviceId);
      expect(own).toBeDefined();
      return own;
    });
    expect((await admin.post('/v1/x/admin/quarantine/replay', { ids: [quarantine.id] })).status).toBe(200);
    expect((await admin.get('/queues/api/queues')).status).toBe(200);
    expect((await fetch(new URL('/health', platform.httpUrl))).status).toBe(200);
    await connection.close();
  });
});

describe('the role of', () => {
  /** Lists the privileges of a role by table. */
  async function tablesOf(role: string, privilege: string): Promise<string[]> {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and has_any_column_privilege(${`odograph_${role}`}, oid, ${privilege}) order by 1`.execute(owner);
    return rows.map(({ name }) => name);
  }

  it('the broker reads the credentials of devices and the limits of applications, and nothing else', async () => {
    expect(await tablesOf('broker', 'SELECT')).toEqual(['application', 'device', 'migration']);
    expect(await tablesOf('broker', 'UPDATE')).toEqual([]);
  });

  it('query changes nothing', async () => {
    for (const privilege of ['INSERT', 'UPDATE']) expect(await tablesOf('query', privilege)).toEqual([]);
    const db = openDatabase({ url: urlInRole(databaseUrl, 'odograph_query'), name: 'test', size: 1 });
    await expect(sql`delete from vehicle`.execute(db)).rejects.toThrow('permission denied');
    await expect(sql`create table mine (id integer)`.execute(db)).rejects.toThrow('permission denied');
    await db.destroy();
  });

  it('only fleet reads the hashes of secrets, but for those of what connects to the broker and the gateway', async () => {
    const secrets = [
      ['application', 'app_key_sha256', ['fleet']],
      ['user_account', 'password_hash', ['fleet']],
      ['refresh_token', 'token_sha256', ['fleet']],
      ['device', 'secret_sha256', ['broker', 'fleet', 'gateway']],
      ['source', 'secret_sha256', ['fleet', 'gateway']],
      ['device', 'bluetooth_pin', ['access', 'fleet']],
      ['device_key', 'sealed_key', ['access', 'command']],
      ['webhook', 'sealed_secret', ['events']],
    ] as const;
    for (const [table, column, readers] of secrets) {
      const { rows } = await sql<{ service: string }>`select service from unnest(${services}::text[]) as service
        where has_column_privilege('odograph_' || service, ${table}, ${column}, 'SELECT') order by 1`.execute(owner);
      expect([table, column, rows.map(({ service }) => service)]).toEqual([table, column, readers]);
    }
  });

  it.each(['sealed_key', 'key_version', 'epoch'])('command does not change the %s of a device key', async (column) => {
    const { rows } = await sql<{ allowed: boolean }>`
      select has_column_privilege('odograph_command', 'device_key', ${column}, 'UPDATE') as allowed`.execute(owner);
    expect(rows).toEqual([{ allowed: false }]);
  });

  it.each(services)('%s inserts audit rows only through the function, and changes none', async (service) => {
    for (const privilege of ['INSERT', 'UPDATE']) {
      const tables = await tablesOf(service, privilege);
      expect(tables.filter((table) => table.startsWith('audit') || table === 'migration')).toEqual([]);
    }
  });
});

describe('a new table', () => {
  it('is closed to every service until database-roles.sql grants it', async () => {
    await sql`create table if not exists of_tomorrow (id integer)`.execute(owner);
    try {
      await applyDatabaseRoles(databaseUrl);
      for (const service of services) {
        const { rows } = await sql<{ open: boolean }>`
          select has_table_privilege(${`odograph_${service}`}, 'of_tomorrow', 'SELECT, INSERT, UPDATE, DELETE') as open`.execute(
          owner,
        );
        expect([service, rows[0]?.open]).toEqual([service, false]);
      }
    } finally {
      await sql`drop table of_tomorrow`.execute(owner);
    }
  });

  it('must be named in database-roles.sql', async () => {
    const roles = await readFile(new URL('../../infra/database-roles.sql', import.meta.url), 'utf8');
    const { rows } = await sql<{ name: string }>`select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`.execute(owner);
    const forgotten = rows.map(({ name }) => name).filter((name) => !new RegExp(`\\b${name}\\b`).test(roles));
    expect(forgotten).toEqual([]);
  });

  it("does not come with a function that every role can run with the owner's privileges", async () => {
    const { rows } = await sql<{ name: string }>`select proname as name from pg_proc
      where pronamespace = 'public'::regnamespace and prosecdef and has_function_privilege('public', oid, 'EXECUTE')
        and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')`.execute(owner);
    expect(rows).toEqual([]);
  });
});
