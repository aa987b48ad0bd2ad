import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { endSessions } from '@odograph/fleet/accounts/tokens';
import { queryService } from '@odograph/query/service';
import { hashSecret } from '@odograph/runtime/secrets';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import {
  createApplication,
  createOperator,
  createVehicle,
  type TestApplication,
  type TestVehicle,
} from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { usePlatform } from '@odograph/testkit/scopes';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import {
  answerOf,
  type ClientOptions,
  createClient,
  type FailureCode,
  type Tokens,
} from '../../packages/client/client.ts';
import { documentPath } from '../../scripts/build/interface.ts';
import { loadServices } from '../../services/platform/services.ts';
import { closePages, startBrowser, watchPage } from '../console/browser.fixture.ts';
import { answerLost, follow, Network, readAll, readDocument, refused, type Seen, type Send } from './client.fixture.ts';
import {
  bundleForBrowsers,
  installClient,
  listingProgram,
  runDocument,
  type UnpackedClient,
} from './client-package.fixture.ts';

const network = new Network();
function clientOf({ appId, appKey }: TestApplication, options: Partial<ClientOptions> = {}) {
  return createClient({ url: platform.httpUrl, credentials: { appId, appKey }, fetch: network.send, ...options });
}

/** Creates a client with the token of the application. */
const clientOn = (send: Send) =>
  createClient({ url: platform.httpUrl, fetch: send, headers: { 'x-service-token': application.token } });

const seconds = Math.floor(Date.now() / 1000) - 3600;
const platform = await usePlatform(await loadServices());
const application = await createApplication(platform.db);
const vehicle = await createVehicle(platform.db, application);
const device = await connectDevice(platform.mqttUrl, vehicle);
afterEach(() => network.reset());
afterAll(() => device.close());

it('is generated from the OpenAPI document that the platform serves', async () => {
  const document: unknown = JSON.parse(readFileSync(documentPath, 'utf8'));
  expect(document).toEqual(await readDocument(platform.httpUrl));
});

describe('the session of a client', () => {
  const expire = (token: string) =>
    platform.db
      .updateTable('access_token')
      .set({ expires_at: sql`now()` })
      .where('token_sha256', '=', hashSecret(token))
      .execute();

  it('is refreshed once when many calls at a time find its token expired, and continues from saved tokens', async () => {
    const saved: Tokens[] = [];
    const client = clientOf(application, { saveTokens: (tokens) => void saved.push(tokens) });
    const callOften = () => Promise.all(Array.from({ length: 20 }, () => answerOf(client.GET('/v1/x/vehicles'))));
    await callOften();
    await expire(saved[0]?.token ?? '');
    expect(await callOften()).toHaveLength(20);
    expect([network.callsOf('/v1/login'), network.callsOf('/v1/refreshToken'), saved.length]).toEqual([1, 1, 2]);
    await answerOf(clientOf(application, { tokens: saved[1] }).GET('/v1/x/vehicles'));
    expect(network.callsOf('/v1/login')).toBe(1);
  });

  it('survives the loss of the answer with its new tokens', async () => {
    const saved: Tokens[] = [];
    const client = clientOf(application, { saveTokens: (tokens) => void saved.push(tokens) });
    await answerOf(client.GET('/v1/x/vehicles'));
    await expire(saved[0]?.token ?? '');
    network.onTheWay = [fetch, answerLost];
    await answerOf(client.GET('/v1/x/vehicles'));
    expect([network.callsOf('/v1/login'), network.callsOf('/v1/refreshToken')]).toEqual([1, 2]);
  });

  it('is opened again after it was revoked, but not as the application when a user has no password', async () => {
    const fleet = await createApplication(platform.db);
    const saved: Tokens[] = [];
    const client = clientOf(fleet, { saveTokens: (tokens) => void saved.push(tokens) });
    await answerOf(client.GET('/v1/x/vehicles'));
    const { appId, appKey } = fleet;
    const user = clientOf(fleet, { credentials: { appId, appKey, username: 'alex' }, tokens: saved[0] });
    await endSessions(platform.db, { applicationId: fleet.id });
    await expect(answerOf(user.GET('/v1/x/vehicles'))).rejects.toMatchObject({ code: 'INVALID_TOKEN', status: 401 });
    await answerOf(client.GET('/v1/x/vehicles'));
    expect(network.callsOf('/v1/login')).toBe(2);
  });
});

describe('a list', () => {
  it('is read to its end, each item once, with readings of the same time on both sides of a page border', async () => {
    const fleet = await createApplication(platform.db);
    const vehicles: TestVehicle[] = [];
    for (const _ of [1, 2, 3, 4]) vehicles.push(await createVehicle(platform.db, fleet));
    for (const one of vehicles) {
      const connection = await connectDevice(platform.mqttUrl, one);
      for (const n of [0, 1, 2, 3, 4]) {
        await connection.upload({
          timestamp: seconds + n,
          location: { latitude: 48, longitude: 2 },
          can: [{ key: 'n', value: `${n}` }],
        });
      }
      await connection.close();
    }
    const client = clientOf(fleet);
    const query = { from: seconds, until: seconds + 60, limit: 3 };
    const expected = [0, 1, 2, 3, 4].flatMap((n) => vehicles.map(({ id }) => `${seconds + n} ${id}`));
    const namesOf = (readings: { timestamp: number; vehicle: { id: string } }[]) =>
      readings.map(({ timestamp, vehicle: { id } }) => `${timestamp} ${id}`);
    const history = await eventually(async () => {
      const all = await readAll(client.items('/v1/vehicles/history', { params: { query } }));
      expect(all).toHaveLength(20);
      return all;
    });
    expect(namesOf(history)).toEqual(expected);
    const pages = await readAll(client.pages('/v1/vehicles/history', { params: { query } }));
    expect(pages.map(({ status }) => status.length)).toEqual([3, 3, 3, 3, 3, 3, 2]);
    const can = await readAll(
      client.items('/v1/vehicles/customcan/from/{timestamp}', { params: { path: { timestamp: seconds } } }),
    );
    expect(namesOf(can)).toEqual(expected);
    // They are told once every transaction that was running has ended, those of other tests included.
    const readChanges = () => readAll(client.items('/v1/x/changes', { params: { query: { limit: 3 } } }));
    await eventually(async () => expect(namesOf(await readChanges()).sort()).toEqual(expected));
    const { cookie } = await createOperator(platform.db);
    const asked = { params: { query, header: { 'X-Application': fleet.appId } } };
    const operator = createClient({ url: platform.httpUrl, headers: { cookie } });
    expect(await readAll(operator.items('/v1/vehicles/history', asked))).toEqual(history);
    const listed = await readAll(client.items('/v1/x/vehicles', { params: { query: { limit: 1 } } }));
    expect(listed.map(({ id }) => id).sort()).toEqual(vehicles.map(({ id }) => id).sort());
  });

  it('of bookings has each booking and each request for a vehicle once, however many pages it has', async () => {
    const fleet = await createApplication(platform.db);
    const { id } = await createVehicle(platform.db, fleet);
    const client = clientOf(fleet);
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    for (const hours of [1, 2, 3]) {
      const body = { from: inHours(hours), until: inHours(hours + 1), type: 'BOOKING' as const };
      await answerOf(client.POST('/v1/vehicle/{id}/booking', { params: { path: { id } }, body }));
    }
    await answerOf(client.POST('/v1/vehicle', { body: { plate: 'RQ-100-AA', request: 'OBD device' } }));
    const query = { from: inHours(0), until: inHours(5), limit: 1 };
    const items = await readAll(client.items('/v1/x/bookings', { params: { query } }));
    const idOf = (item: (typeof items)[number]) => ('requestId' in item ? item.requestId : item.bookingId);
    expect([items.length, new Set(items.map(idOf)).size]).toEqual([4, 4]);
  });
});

describe('a request', () => {
  it('is sent again after 429 and 503, not before Retry-After', async () => {
    const client = clientOf(application);
    await answerOf(client.GET('/v1/x/vehicles'));
    network.onTheWay = [refused(429, { 'retry-after': '2' }), refused(503)];
    const start = performance.now();
    await answerOf(client.GET('/v1/x/vehicles'));
    expect(performance.now() - start).toBeGreaterThan(2000);
    expect(network.callsOf('/v1/x/vehicles')).toBe(4);
  });

  it('that creates something has a key, so it is sent again and creates once', async () => {
    const client = clientOf(await createApplication(platform.db));
    const body = { name: 'Station', address: '1 Station Square', zipcode: '75012', city: 'Paris', country: 'France' };
    await answerOf(client.GET('/v1/parkings'));
    for (const trouble of [answerLost, refused(503), refused(429)]) {
      network.onTheWay = [trouble];
      await answerOf(client.POST('/v1/parkings', { body }));
    }
    expect((await answerOf(client.GET('/v1/parkings'))).parkings).toHaveLength(3);
  });

  it('that takes no key is not sent again, unless 429 (or the 401 of a lost session) says that it was not executed', async () => {
    const client = clientOf(await createApplication(platform.db));
    await answerOf(client.GET('/v1/parkings'));
    const path = '/v1/x/admin/quarantine/dismiss';
    for (const [trouble, code, calls] of [
      [answerLost, 'UNREACHABLE', 1],
      [refused(503), 'OVERLOADED', 2],
      [refused(429), 'MISSING_TOKEN', 5],
    ] as const) {
      network.onTheWay = [trouble];
      await expect(answerOf(client.POST(path, { body: { ids: ['1'], reason: 'x' } }))).rejects.toMatchObject({ code });
      expect(network.callsOf(path)).toBe(calls);
    }
  });

  it('that is aborted ends at once, also while it waits to be sent again', async () => {
    const client = clientOf(application);
    await answerOf(client.GET('/v1/x/vehicles'));
    network.onTheWay = [refused(503, { 'retry-after': '60' })];
    const [start, signal] = [performance.now(), AbortSignal.timeout(100)];
    await expect(client.GET('/v1/x/vehicles', { signal })).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

it('a command whose answer is lost is sent again and executed once', async () => {
  const executed: string[] = [];
  await device.obey(({ id }) => {
    executed.push(id);
    return { ok: true, status: 'CLOSED' };
  });
  const client = clientOf(application);
  await answerOf(client.GET('/v1/x/vehicles'));
  network.onTheWay = [answerLost, refused(503)];
  expect(await answerOf(client.POST('/v1/vehicle/lock', { body: { vehicleId: vehicle.id } }))).toEqual({
    Status: 'CLOSED',
  });
  expect(network.callsOf('/v1/vehicle/lock')).toBe(3);
  expect(executed).toHaveLength(1);
});

describe('a failure', () => {
  it('has one of the codes that the operation can answer', async () => {
    const client = clientOf(application);
    const { data, error } = await client.POST('/v1/vehicle/lock', { body: { vehicleId: '9999999999' } });
    if (data) throw new Error('the vehicle exists');
    expectTypeOf(error.error).toExtend<FailureCode>();
    // @ts-expect-error: only the login answers this code
    expect(error.error === 'INVALID_CREDENTIALS').toBe(false);
    expect(error).toMatchObject({ error: 'UNKNOWN_VEHICLE', message: expect.any(String) });
  });

  it('of a sign-in, of a proxy and of the network is thrown with its code', async () => {
    const call = { params: { query: { limit: 1 } } };
    const ofProxy: Send = () => Promise.resolve(new Response('<html>', { status: 502 }));
    for (const [refused, code, status] of [
      [clientOf({ ...application, appKey: randomUUID() }), 'INVALID_CREDENTIALS', 401],
      [clientOf(application, { fetch: ofProxy }), 'UNEXPECTED', 502],
      [clientOf(application, { url: 'http://127.0.0.1:1', maxAttempts: 1 }), 'UNREACHABLE', undefined],
    ] as const) {
      await expect(answerOf(refused.GET('/v1/x/vehicles', call))).rejects.toMatchObject({ code, status });
    }
    const fault = answerOf(clientOf(application).GET('/v1/x/vehicles', { params: { query: { limit: -1 } } }));
    await expect(fault).rejects.toMatchObject({ code: 'INVALID_PARAMETER', field: 'limit', status: 400 });
  });
});

describe('events', () => {
  it('continue without a loss after the server restarts, and in another client behind the last id', async () => {
    const settings = { QUEUE_PREFIX: platform.config.QUEUE_PREFIX };
    let server = await startTestPlatform([queryService], settings);
    const stop = new AbortController();
    const move: Send = (request) => fetch(new Request(request.url.replace(/^http:\/\/[^/]+/, server.httpUrl), request));
    const [client, another] = [clientOn(move), clientOn(move)];
    const seen: Seen = { latitudes: [], resets: [] };
    const upload = (latitude: number) =>
      device.upload({ timestamp: Date.now() / 1000, location: { latitude, longitude: 2 } });
    const seesNext = async (latitude: number) => {
      await upload(latitude);
      await expect.poll(() => seen.latitudes.at(-1)).toBe(latitude);
    };
    try {
      const following = follow(client, seen, 48.3, { signal: stop.signal });
      await seesNext(48.1);
      await server.stop();
      await upload(48.2);
      server = await startTestPlatform([queryService], settings);
      await expect.poll(() => seen.latitudes.at(-1)).toBe(48.2);
      await seesNext(48.3);
      const lastEventId = await following;
      await upload(48.4);
      await follow(another, seen, 48.4, { signal: stop.signal, lastEventId });
      expect(seen.latitudes.at(-1)).toBe(48.4);
      expect(seen.resets).toEqual(['START']);
    } finally {
      stop.abort();
      await server.stop();
    }
  });
});

describe('the package', () => {
  let unpacked: UnpackedClient;
  beforeAll(async () => {
    unpacked = await installClient(platform.httpUrl);
  });
  afterAll(() => unpacked?.remove());

  it('has its licence, its notice and those of what it bundles', async () => {
    const folder = join(unpacked.directory, 'node_modules/@odograph/client');
    const names = readdirSync(folder);
    expect(names).toEqual(expect.arrayContaining(['LICENSE', 'NOTICE', 'README.md', 'THIRD-PARTY-LICENSES.txt']));
    expect(readFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), 'utf8')).toMatch(
      /openapi-fetch 0\.[\s\S]*MIT License/,
    );
  });

  it('has less than 15 kB with what it imports, minified and compressed', async () => {
    expect(gzipSync(await bundleForBrowsers(unpacked)).length).toBeLessThan(15_000);
  });

  it.skipIf(!hasBrowser)(
    'calls, reads lists and follows events in a browser, with the cookie of its session',
    async () => {
      const { cookie } = await createOperator(platform.db, { applicationIds: [application.id] });
      const [name = '', value = ''] = cookie.split('=');
      const browser = await startBrowser();
      try {
        const { page } = await watchPage(browser, platform.httpUrl);
        await page.context().addCookies([{ name, value, url: platform.httpUrl }]);
        await page.goto('/docs', { waitUntil: 'commit' });
        expect(await page.evaluate(await listingProgram(unpacked))).toEqual([vehicle.id, vehicle.id]);
      } finally {
        await closePages(browser);
      }
    },
  );

  it.each(['packages/client/README.md', 'docs/client.md'])('runs and checks the examples of %s', async (document) => {
    const { appId, appKey } = application;
    const settings = { ODOGRAPH_URL: platform.httpUrl, APP_ID: appId, APP_KEY: appKey, VEHICLE_ID: vehicle.id };
    expect(await runDocument(unpacked, document, settings)).toContain(vehicle.id);
  });
});
