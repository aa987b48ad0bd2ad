import { type ApiClient, createBrowser } from '@odograph/testkit/api-client';
import { createOperator, createUnlinkedVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';
import {
  callOperatorRoute,
  createOperated,
  createUnownedDevice,
  missingOperated,
  nameOf,
  type Operated,
  type OperatedNames,
} from './operator-routes.fixture.ts';
import { callRoute, guardOf, type Route, readRoutes } from './route-table.fixture.ts';

let operated: Operated;
let foreign: Operated;

const platform = await usePlatform(await loadServices());
const routes = await readRoutes(platform.httpUrl);
[operated, foreign] = [await createOperated(platform), await createOperated(platform)];

const forOperators = () => routes.filter((route) => guardOf(route) === 'admin');

async function clientOf(options: Parameters<typeof createOperator>[1], headers: Record<string, string> = {}) {
  return createBrowser(platform.httpUrl, (await createOperator(platform.db, options)).cookie, headers);
}

/** An administrator of the application `operated` alone. */
const limited = () => clientOf({ role: 'administrator', applicationIds: [operated.applicationId] });

/** The least role that may use a route. */
function roleFor(name: string): 'viewer' | 'operator' | 'administrator' {
  if (/^\w+ (persons|operators)|audit\/verify$|reseal$|vehicles\/\{id\}\/export$/.test(name)) return 'administrator';
  if (name.startsWith('GET ')) return 'viewer';
  const isAdministration =
    /^\w+ (applications|users|groups|api-keys|notifications|report-schedules|device-models|sources|can-|gbfs)/.test(
      name,
    ) || /devices\/\{id\}\/(key|tokens)$/.test(name);
  return isAdministration ? 'administrator' : 'operator';
}

/** Routes about the platform as a whole. */
const ofPlatform =
  /^(POST applications|\w+ operators.*|PUT device-models.*|\w+ can-.*|.*reseal|GET audit\/verify|GET pipeline)$/;

describe('the role of an operator', () => {
  const roles = ['viewer', 'operator', 'administrator'] as const;

  it.each(roles)('%s may use its routes and no others', async (role) => {
    const client = await clientOf({ role });
    expect(forOperators().length).toBeGreaterThan(50);
    for (const route of forOperators()) {
      const { status, body } = await callOperatorRoute(client, route, missingOperated());
      const name = nameOf(route);
      const isPermitted = roles.indexOf(role) >= roles.indexOf(roleFor(name));
      expect([name, body.error === 'UNAUTHORIZED', status === 403]).toEqual([name, !isPermitted, !isPermitted]);
      expect([name, status === 401 || status >= 500]).toEqual([name, false]);
    }
  });
});

/** Reads what operators can change of an application. */
async function rowsOf({ applicationId, names }: Operated): Promise<string> {
  const contents: string[] = [];
  for (const table of ['vehicle', 'device', 'user_account', 'vehicle_request', 'registration_record']) {
    const { rows } = await sql`select to_jsonb(t) as row from ${sql.table(table)} as t
      where application_id = ${applicationId} order by 1`.execute(platform.db);
    contents.push(`${table} ${JSON.stringify(rows)}`);
  }
  const { rows } =
    await sql`select (select to_jsonb(t) from application as t where id = ${applicationId}) as application,
      (select to_jsonb(t) from quarantine as t where id = ${Number(names.upload)}) as upload,
      array(select to_jsonb(t) from vehicle_grant as t where user_id = ${names.user}) as grants,
      array(select to_jsonb(t) from device_key as t where device_id = ${names.device}) as keys,
      array(select to_jsonb(t) from session as t where application_id = ${applicationId} order by id) as sessions,
      (select length::integer from audit_chain where chain = ${applicationId}) as audit`.execute(platform.db);
  return [...contents, JSON.stringify(rows)].join('\n');
}

/** Calls a route, and removes the names that the caller sent, and random values, from the answer. */
async function answerTo(client: ApiClient, route: Route, { upload, ...names }: OperatedNames): Promise<string> {
  const { status, body } = await callOperatorRoute(client, route, { upload, ...names });
  const text = JSON.stringify(body).replaceAll(new RegExp(`(id |")${upload}\\b`, 'g'), '$1<name>');
  const common = Object.values(names).reduce((left, name) => left.replaceAll(name, '<name>'), text);
  return `${status} ${common.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')}`;
}

describe('an operator who is limited to applications', () => {
  it('gets the answer of a missing resource for another application on every route, and changes nothing', async () => {
    const client = await limited();
    const before = await rowsOf(foreign);
    for (const route of forOperators()) {
      const name = nameOf(route);
      const expected = await answerTo(client, route, missingOperated());
      expect([name, await answerTo(client, route, foreign.names)]).toEqual([name, expected]);
      const isHidden = expected === '404 {"error":"NOT_FOUND","message":"no such path"}';
      expect([name, isHidden]).toEqual([name, ofPlatform.test(name)]);
      expect([name, expected]).not.toEqual([name, expect.stringMatching(/^(40[13]|5)/)]);
    }
    expect(await rowsOf(foreign)).toBe(before);
  });

  it('gets it too when one of several resources is its own', async () => {
    const client = await limited();
    const [own, other, missing] = [operated.names, foreign.names, missingOperated()];
    const before = await rowsOf(foreign);
    const unowned = await createUnownedDevice(platform);
    const { vehicle: vehicleId, application: appId } = own;
    for (const { vehicle, user, device, driver, upload, plate } of [missing, other]) {
      const attempts: [method: 'get' | 'post' | 'put' | 'delete', path: string, code: string, body?: object][] = [
        ['post', `users/${own.user}/vehicles`, 'UNKNOWN_VEHICLE', { vehicleId: vehicle }],
        ['post', `users/${user}/vehicles`, 'UNKNOWN_USER', { vehicleId }],
        ['put', `devices/${own.device}/link`, 'UNKNOWN_VEHICLE', { vehicleId: vehicle }],
        ['put', `devices/${device}/link`, 'UNKNOWN_DEVICE', { vehicleId }],
        ['post', `devices/${device}/link`, 'UNKNOWN_DEVICE', { vehicleId }],
        ['get', `persons/${driver}?appId=${appId}`, 'UNKNOWN_USER'],
        ['post', 'quarantine/dismiss', 'NOT_FOUND', { ids: [own.upload, upload], reason: 'x' }],
        ['post', 'quarantine/replay', 'NOT_FOUND', { ids: [own.upload, upload] }],
        ['delete', `registrations/${plate}?appId=${appId}`, 'UNKNOWN_VEHICLE'],
        ['post', 'devices', 'UNKNOWN_VEHICLE', { id: `x-${vehicle}`, model: 'generic', vehicleId: vehicle }],
      ];
      for (const [method, path, code, body] of attempts) {
        expect([path, (await client[method](`/v1/x/admin/${path}`, body)).body.error]).toEqual([path, code]);
      }
    }
    for (const path of [`devices/${unowned}/link`, `devices/${unowned}/secret`, `devices/${unowned}/key`]) {
      const { body } = await client.post(
        `/v1/x/admin/${path}`,
        path.endsWith('/link') ? { vehicleId: own.vehicle } : {},
      );
      expect([path, body.error]).toEqual([path, 'UNKNOWN_DEVICE']);
    }
    expect(await rowsOf(foreign)).toBe(before);
  });

  it('must name an application for what else would belong to none', async () => {
    const client = await limited();
    const file = 'b'.repeat(64);
    const answers = [
      await client.post('/v1/x/admin/devices', { id: 'without-owner', model: 'generic' }),
      await client.post('/v1/x/admin/registrations', { fileSha256: file, position: 0, rows: [], last: true }),
      await client.get(`/v1/x/admin/registration-imports/${file}`),
      await client.get(`/v1/x/admin/registrations/${operated.names.plate}`),
      await client.delete(`/v1/x/admin/registrations/${operated.names.plate}`),
      await client.get('/v1/x/admin/audit'),
    ];
    for (const { body } of answers) expect([body.error, body.field]).toEqual(['INVALID_PARAMETER', 'appId']);
  });

  it('finds its own resources in the lists, and no others', async () => {
    const client = await limited();
    for (const [path, kind] of [
      ['applications', 'application'],
      ['devices', 'device'],
      ['requests', 'request'],
      ['quarantine', 'upload'],
    ] as const) {
      const text = JSON.stringify((await client.get(`/v1/x/admin/${path}`)).body);
      const shows = (names: OperatedNames) => text.includes(`"${names[kind]}"`);
      expect([path, shows(operated.names), shows(foreign.names)]).toEqual([path, true, false]);
    }
    const all = await clientOf({ role: 'viewer' });
    expect(JSON.stringify((await all.get('/v1/x/admin/quarantine')).body)).toContain(`"${foreign.names.upload}"`);
  });

  it('gets another answer for its own resources, so the comparison is meaningful', async () => {
    const client = await limited();
    for (const route of forOperators().filter(({ method }) => method === 'GET')) {
      const name = nameOf(route);
      if (ofPlatform.test(name) || name === 'GET device-models/{name}') continue;
      const { status } = await callOperatorRoute(client, route, operated.names);
      expect([name, status]).toEqual([name, 200]);
    }
  });

  it('does not see what a device uploaded in a vehicle of another application', async () => {
    const { db } = platform;
    const { device } = operated.names;
    const { rows } = await sql<{ id: string }>`insert into quarantine
        (device_id, received_at, sealed_payload, payload_bytes, payload_fingerprint, faults)
      values (${device}, '2020-01-01', '\\x02', 1, '\\x02', '[]') returning id::text`.execute(db);
    const path = `/v1/x/admin/quarantine/${rows[0]?.id}`;
    const client = await limited();
    expect((await client.get(path)).status).toBe(200);
    await sql`update device_link set period = tstzrange('2021-01-01', null) where device_id = ${device}`.execute(db);
    const vehicle = await createUnlinkedVehicle(db, { id: foreign.applicationId });
    await sql`insert into device_link (device_id, vehicle_id, period)
      values (${device}, ${Number(vehicle)}, tstzrange('2019-01-01', '2021-01-01'))`.execute(db);
    expect((await client.get(path)).body.error).toBe('NOT_FOUND');
  });
});

describe('a route of the interface', () => {
  const tokenRoutes = () => routes.filter((route) => guardOf(route) === 'token');
  const ask = async (route: Route, headers: Record<string, string>) => {
    const inPath = route.parameters.filter(({ place }) => place === 'path').map((one) => ({ ...one, value: '1' }));
    const { status, body } = await callRoute(platform.httpUrl, route, inPath, headers);
    return { status, body: body.startsWith('{"error"') ? JSON.parse(body) : {} };
  };

  it('takes the session of an operator who names an application in a header', async () => {
    const all = await createOperator(platform.db, { role: 'administrator' });
    const one = await createOperator(platform.db, { role: 'viewer', applicationIds: [operated.applicationId] });
    for (const route of tokenRoutes()) {
      const name = `${route.method} ${route.path}`;
      const headers = { cookie: all.cookie, origin: platform.httpUrl };
      const { body } = await ask(route, headers);
      // Routes that take the admin token as well show the vehicles of all applications.
      expect([name, body.field === 'X-Application']).toEqual([name, !route.tokens.includes('adminToken')]);
      const foreignApplication = { ...headers, cookie: one.cookie, 'x-application': foreign.names.application };
      // Opening a vehicle requires more than the right to read.
      const isRead = route.method === 'GET' && !route.path.startsWith('/v1/bluetooth-token');
      const refusal = isRead ? 'UNKNOWN_APPLICATION' : 'UNAUTHORIZED';
      expect([name, (await ask(route, foreignApplication)).body.error]).toEqual([name, refusal]);
      const own = await ask(route, { ...headers, cookie: one.cookie, 'x-application': operated.names.application });
      expect([name, own.status === 403]).toEqual([name, !isRead]);
      expect([name, own.status === 401 || own.status >= 500]).toEqual([name, false]);
    }
  });

  it('refuses an operator whose password someone else has chosen, unless it is about the session', async () => {
    const { id, cookie } = await createOperator(platform.db, { role: 'administrator' });
    await platform.db.updateTable('operator').set({ must_change_password: true }).where('id', '=', id).execute();
    const headers = { cookie, origin: platform.httpUrl, 'x-application': operated.names.application };
    const before = await rowsOf(operated);
    const refused = routes.filter((route) => route.tokens.includes('session') && guardOf(route) !== 'session');
    expect(refused.length).toBeGreaterThan(100);
    for (const route of refused) {
      const { status, body } = await ask(route, headers);
      const name = `${route.method} ${route.path}`;
      expect([name, status, body.error]).toEqual([name, 403, 'PASSWORD_CHANGE_REQUIRED']);
    }
    expect(await rowsOf(operated)).toBe(before);
    const client = createBrowser(platform.httpUrl, cookie);
    expect((await client.get('/v1/x/session')).body.mustChangePassword).toBe(true);
    const page = await fetch(new URL('/queues', platform.httpUrl), {
      ...{ headers: { cookie, accept: 'text/html' }, redirect: 'manual' },
    });
    expect([page.status, page.headers.get('location')]).toEqual([303, '/profile']);
    expect((await client.delete('/v1/x/session')).status).toBe(200);
  });

  it('changes nothing with a session from a page of another site, whatever its method', async () => {
    const { cookie } = await createOperator(platform.db);
    const before = await rowsOf(operated);
    const guarded = routes.filter(({ method, tokens }) => method !== 'GET' && tokens.includes('session'));
    expect(guarded.length).toBeGreaterThan(60);
    for (const route of guarded) {
      for (const origin of [{}, { origin: 'https://elsewhere.example' }]) {
        const headers = { cookie, 'x-application': operated.names.application, ...origin };
        const { status, body } = await ask(route, headers);
        expect([route.method, route.path, status, body.error]).toEqual([route.method, route.path, 403, 'UNAUTHORIZED']);
      }
    }
    expect(await rowsOf(operated)).toBe(before);
  });

  it('records the name of the operator who changes something', async () => {
    const { name, cookie } = await createOperator(platform.db, { role: 'operator' });
    const application = operated.names.application;
    const client = createBrowser(platform.httpUrl, cookie, { 'x-application': application });
    expect((await client.post('/v1/vehicle/privacy/on', { vehicleId: operated.names.vehicle })).status).toBe(200);
    await client.put(`/v1/x/admin/vehicles/${operated.names.vehicle}`, { tankLitres: 40 });
    const { body } = await client.get(`/v1/x/admin/audit?appId=${application}&limit=10000`);
    const own = body.audit.filter(({ actor }: { actor: string }) => actor === `operator:${name}`);
    expect(own.map(({ action }: { action: string }) => action)).toEqual(['privacy.on', 'vehicle.change']);
  });
});
