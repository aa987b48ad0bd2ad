import { Agent } from 'node:http';
import { accessService } from '@odograph/access/service';
import { brokerService } from '@odograph/broker/service';
import { commandService } from '@odograph/command/service';
import { consoleService } from '@odograph/console/service';
import { createEventService } from '@odograph/events/service';
import { hashPassword } from '@odograph/fleet/accounts/passwords';
import { fleetService } from '@odograph/fleet/service';
import { ingestService } from '@odograph/ingest/service';
import { queryService } from '@odograph/query/service';
import { registrationService } from '@odograph/registration/service';
import { createApplication, createDevice, createToken, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { testAdminToken } from '@odograph/testkit/test-platform';
import fc from 'fast-check';
import Schema from 'typebox/schema';
import { afterAll, describe, expect, it } from 'vitest';
import { readDocument } from '../flows/client.fixture.ts';
import { type FuzzedAnswer, type FuzzedRequest, requestsOf, send } from './fuzz/http-requests.fixture.ts';
import { plausibleRequest, requestsWithNul } from './fuzz/nul-requests.fixture.ts';
import { type Operation, operationsOf } from './fuzz/operations.fixture.ts';
import { runs, seed } from './fuzz/runs.fixture.ts';
import type { KnownValues } from './fuzz/values.fixture.ts';

const services = [
  ingestService,
  brokerService,
  queryService,
  fleetService,
  accessService,
  registrationService,
  commandService,
  consoleService,
  // Nothing is sent to the hosts that are made up.
  createEventService({ resolve: (_host, callback) => callback(new Error('no network'), []) }),
];
const atOnce = 8;
const agent = new Agent({ keepAlive: true, maxSockets: atOnce });

const password = 'correct horse battery';
const passwordHash = await hashPassword(password);
// Nothing listens on this port: messages are accepted, and not sent.
const mail = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'fleet@odograph.example' };
// The test's generators block the event loop for seconds, so the platform would refuse requests.
const limits = { maxLoopDelayMs: 600_000 };
const platform = await usePlatform(services, { ACK_TIMEOUT_MS: '100', ...mail }, limits);
const operations = operationsOf(Object(await readDocument(platform.httpUrl)));
afterAll(() => agent.destroy());

/** Creates an application with a user, vehicles and devices. */
async function createWorld() {
  const { db } = platform;
  const application = await createApplication(db);
  const vehicle = await createVehicle(db, application);
  const second = await createVehicle(db, application);
  const device = await createDevice(db, { applicationId: application.id });
  const { id: userId } = await db
    .insertInto('user_account')
    .values({ application_id: application.id, username: 'driver', password_hash: passwordHash })
    .returning('id')
    .executeTakeFirstOrThrow();
  await db
    .insertInto('vehicle_grant')
    .values({ user_id: userId, vehicle_id: Number(vehicle.id) })
    .execute();
  const vehicles = [vehicle.id, second.id];
  const devices = [vehicle.deviceId, device.deviceId];
  const known: KnownValues = {
    id: [...vehicles, ...vehicles, ...devices, userId],
    ids: [vehicles, [userId]],
    vehicleId: vehicles,
    vehicle_id: vehicles,
    deviceId: devices,
    userId: [userId],
    user: [userId],
    appId: [application.appId],
    appKey: [application.appKey],
    username: ['driver'],
    password: [password],
    oldPassword: [password],
    model: ['generic', 'tracker'],
  };
  return { known, tokens: [application.token, await createToken(db, application.id, userId)] };
}

const sharedWorld = await createWorld();

/** Returns the shared world for reads, and a new one for operations that may change it. */
const worldOf = async ({ method }: Operation) => (method === 'GET' ? sharedWorld : createWorld());

/**
 * Adds the identifier that an operation's path names, of an object created from plausible values where those are
 * enough.
 */
async function withCreated(
  { path }: Operation,
  known: KnownValues,
  headers: Readonly<Record<string, string>>,
): Promise<KnownValues> {
  const [, collection, name = ''] = /^(.*?)\/\{(\w+)\}/.exec(path) ?? [];
  const creation = operations.find((one) => one.method === 'POST' && one.path === collection);
  if (creation === undefined) return known;
  const request = plausibleRequest(creation, known);
  const answer = await send(platform.httpUrl, agent, { ...request, headers: { ...request.headers, ...headers } });
  const id: unknown = answer.status === 200 ? Object(JSON.parse(answer.text))[name] : undefined;
  return typeof id === 'string' ? { ...known, [name]: [id, ...(known[name] ?? [])] } : known;
}

const leaks = /\n\s+at |node_modules|\.ts:\d|SQLSTATE|syntax error at|violates [a-z ]*constraint|ECONNREFUSED/;
/** Statuses that the server may answer for any request, with a failure object. */
const general = new Set([400, 401, 404, 429, 431]);

/** Describes the fault of an answer; undefined for a correct one. */
function faultOf({ answers }: Operation, { status, contentType, text }: FuzzedAnswer): string | undefined {
  if (status === 500 || status === 502 || status === 503) return `status ${status}`;
  if (status >= 400 && leaks.test(text)) return 'it discloses internals';
  const schema = answers.get(String(status));
  if (schema === undefined && !answers.has(String(status)) && !general.has(status))
    return `status ${status} is not declared`;
  if (status >= 400 && !contentType.startsWith('application/json')) return `a failure of type ${contentType}`;
  if (!contentType.startsWith('application/json')) return undefined;
  const body: unknown = JSON.parse(text);
  if (status >= 400 && typeof (body as { error?: unknown }).error !== 'string') return 'a failure without a code';
  return schema === undefined || Schema.Check(schema, body) ? undefined : 'the body is not as declared';
}

function describeRequest({ method, path, headers, body }: FuzzedRequest): string {
  return `${method} ${path.slice(0, 300)} ${JSON.stringify(headers).slice(0, 200)} ${body?.toString().slice(0, 600) ?? ''}`;
}

async function judge(operation: Operation, request: FuzzedRequest): Promise<string | undefined> {
  try {
    const answer = await send(platform.httpUrl, agent, request);
    const fault = faultOf(operation, answer);
    return fault && `${fault}: ${describeRequest(request)}\n  -> ${answer.status} ${answer.text.slice(0, 300)}`;
  } catch (error) {
    // A body that is too large is refused before it is received, and the connection may break while it is being sent.
    if ((request.body?.length ?? 0) > 1024 * 1024) return undefined;
    return `${String(error)}: ${describeRequest(request)}`;
  }
}

/** Finds every fault of an operation over some requests. */
async function findFaults(operation: Operation, requests: readonly FuzzedRequest[]): Promise<string[]> {
  const faults: string[] = [];
  for (let start = 0; start < requests.length; start += atOnce) {
    const some = requests.slice(start, start + atOnce);
    const found = await Promise.all(some.map((request) => judge(operation, request)));
    faults.push(...found.filter((fault) => fault !== undefined));
  }
  return faults.slice(0, 3).map((fault) => `${operation.method} ${operation.path}: ${fault}`);
}

/** Finds faults of an operation over a number of random requests. */
async function fuzz(operation: Operation, numRuns: number): Promise<string[]> {
  const world = await worldOf(operation);
  const requests = fc.sample(requestsOf(operation, { ...world, adminToken: testAdminToken }), { numRuns, seed });
  return findFaults(operation, requests);
}

/** Finds faults of an operation over requests that are valid except for NUL in one text. */
async function fuzzNul(operation: Operation): Promise<string[]> {
  const { known, tokens } = await worldOf(operation);
  const headers: Record<string, string> = operation.path.startsWith('/v1/x/admin')
    ? { authorization: `Bearer ${testAdminToken}` }
    : { 'x-service-token': tokens[0] ?? '' };
  const requests = requestsWithNul(operation, await withCreated(operation, known, headers));
  const authorized = requests.map((request) => ({ ...request, headers: { ...request.headers, ...headers } }));
  return findFaults(operation, authorized);
}

describe(`every operation of the interface, for any request (seed ${seed})`, () => {
  it('answers as declared, never with an internal error, and discloses no internals', async () => {
    expect(operations.length).toBeGreaterThan(40);
    const faults: string[] = [];
    for (const operation of operations) faults.push(...(await fuzz(operation, runs(5, 300))));
    expect(faults).toEqual([]);
    const health = await fetch(new URL('/health', platform.httpUrl));
    expect(health.status).toBe(200);
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  }, 3_600_000);

  it('answers as declared if any one text has NUL', async () => {
    const faults: string[] = [];
    for (const operation of operations) faults.push(...(await fuzzNul(operation)));
    expect(faults).toEqual([]);
  }, 3_600_000);
});
