import { ensureAdminToken } from '@odograph/runtime/admin-token';
import { eventually } from '@odograph/testkit/eventually';
import { usePlatform } from '@odograph/testkit/scopes';
import { afterAll, expect, it } from 'vitest';
import { loadServices } from '../services.ts';
import { demoDriver, startDemo } from './seed.ts';

let demo: Awaited<ReturnType<typeof startDemo>>;

/** Starts the demo with few vehicles and one day, as the first start and each later one do. */
async function start() {
  const { httpUrl, mqttUrl, config } = platform;
  const adminToken = await ensureAdminToken(config);
  return startDemo({ httpUrl, mqttUrl, adminToken, dataDirectory: config.DATA_DIR, vehicleCount: 2, days: 1 });
}

const platform = await usePlatform(await loadServices());
demo = await start();
afterAll(() => Promise.all(demo.devices.map((device) => device.stop())));

interface Operation {
  parameters?: { name: string; in: string }[];
}

/** Whether a JSON value holds information: text, a number other than 0, or true. */
function isFilled(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.values(value).some(isFilled) : Boolean(value);
}

/**
 * Excluded: the live stream does not end, a token has no session, alarms require a drive that breaks a rule, and the demo has no
 * public feeds, notifications, report schedules, mileage log, router or deliveries.
 */
const isLeftOut = (path: string): boolean =>
  /^\/v1\/x\/(?:admin\/|gbfs\/|session|notifications|report-schedules|webhooks\/\{id\}\/|(?:events|alarms|shared)$)/.test(
    path,
  ) || /\/(?:mileage|snapped)$/.test(path);

it('every GET of the interface answers with data', { timeout: 60_000 }, async () => {
  const { body: login } = await platform.anonymous.post('/v1/login', demo.fleet);
  const api = platform.as(login.token);
  const vehicle = demo.fleet.vehicles[0];
  const until = demo.fleet.historyUntilSeconds;
  const vehiclePath = `/v1/vehicle/${vehicle?.id}`;
  const interval = `from=${until - 86_400}&until=${until}`;
  const values: Record<string, string | undefined> = {
    ...{ id: vehicle?.id, vehicleId: vehicle?.id, plate_or_vin: vehicle?.plate, userid: demoDriver, timestamp: '0' },
    ...{ from: String(until - 86_400), until: String(until), fields: 'speed' },
    tripId: (await api.get(`${vehiclePath}/trips?${interval}`)).body.trips[0].trip_id,
    authorizationId: (await api.get(`${vehiclePath}/authorizations/current`)).body.authorizations[0].authorizationId,
  };
  const { body: exported } = await api.post('/v1/x/exports', { format: 'csv', from: until - 86_400, until });
  await eventually(async () => expect((await api.get(`/v1/x/exports/${exported.id}`)).body.state).toBe('DONE'), 30_000);
  const { body: webhook } = await api.post('/v1/x/webhooks', { url: 'https://receiver.invalid/', types: ['trip.*'] });
  const { body: group } = await api.post('/v1/x/groups', { name: 'Vans' });
  await api.post('/v1/x/api-keys', { name: 'reports', scopes: ['read'] });
  await api.post('/v1/x/shares', { vehicleId: vehicle?.id, until: Math.floor(Date.now() / 1000) + 3600 });
  const ids: Record<string, string> = {
    '/v1/x/groups/{id}': group.id,
    '/v1/x/webhooks/{id}': webhook.id,
    '/v1/booking/{id}': (await api.get('/v1/bookings')).body.bookings[0].id,
    '/v1/x/devices/{id}': vehicle?.device.deviceId ?? '',
    '/v1/x/exports/{id}': exported.id,
    '/v1/x/exports/{id}/file': exported.id,
    '/v1/parkings/{id}': (await api.get('/v1/parkings')).body.parkings[0].id,
  };
  const { body: document } = await api.get('/docs/json');
  const empty: string[] = [];
  let count = 0;
  for (const [path, { get }] of Object.entries(document.paths as Record<string, { get?: Operation }>)) {
    if (get === undefined || !path.startsWith('/v1/') || isLeftOut(path)) continue;
    const query = (get.parameters ?? []).filter((parameter) => parameter.in === 'query' && values[parameter.name]);
    const url = path.replace(/\{(\w+)\}/g, (_match, name: string) => ids[path] ?? values[name] ?? '');
    const search = new URLSearchParams(Object.fromEntries(query.map(({ name }) => [name, values[name] ?? ''])));
    if (path.endsWith('/export')) search.set('format', 'csv');
    if (path === '/v1/x/places') search.set('q', 'Vaduz');
    // Those of the demo begin after its history.
    if (path === '/v1/x/bookings') search.set('until', String(until + 30 * 86_400));
    const { status, body } = await api.get(`${url}?${search.toString()}`);
    count += 1;
    if (status !== 200 || !isFilled(body)) empty.push(`${path}: ${status} ${JSON.stringify(body).slice(0, 200)}`);
  }
  expect(empty).toEqual([]);
  expect(count).toBeGreaterThan(35);
});

it('a second start adds nothing but live readings', { timeout: 60_000 }, async () => {
  const read = async () => {
    const paths = ['vehicles?view=fleet', 'bookings', 'parkings', 'vehicles/authorizations/current'];
    const until = demo.fleet.historyUntilSeconds;
    const history = `vehicles/history?from=0&until=${until}&limit=10000`;
    return Promise.all([...paths, history].map((path) => demo.client.get(`/v1/${path}`)));
  };
  const before = await read();
  await Promise.all(demo.devices.map((device) => device.stop()));
  demo = await start();
  expect(await read()).toEqual(before);
});
