import { createECDH } from 'node:crypto';
import { eventually } from '@odograph/testkit/eventually';

/** A route of the interface as its OpenAPI description declares it. */
export interface Route {
  readonly method: string;
  /** With parameters in braces. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** The first of the declared tokens. */
  readonly token: string | undefined;
  /** The declared tokens, of which one is needed. */
  readonly tokens: readonly string[];
}

export interface Parameter {
  readonly name: string;
  readonly place: 'path' | 'query' | 'body' | 'header';
  /** Neither optional nor with a default. */
  readonly needed: boolean;
}

interface Schema {
  default?: unknown;
}
interface Operation {
  security?: Record<string, unknown>[];
  parameters?: { name: string; in: Parameter['place']; required?: boolean; schema: Schema }[];
  requestBody?: {
    content: { 'application/json': { schema: { properties?: Record<string, Schema>; required?: string[] } } };
  };
}

function parametersOf({ parameters = [], requestBody }: Operation): Parameter[] {
  const { properties = {}, required = [] } = requestBody?.content['application/json'].schema ?? {};
  const named = parameters.map(({ name, in: place, required: needed = false, schema }) => ({
    name,
    place,
    needed: needed && schema.default === undefined,
  }));
  const known = new Set(named.filter(({ place }) => place === 'path').map(({ name }) => name));
  const inBody = Object.entries(properties).map(([name, schema]) => ({
    name,
    place: 'body' as const,
    needed: required.includes(name) && schema.default === undefined,
  }));
  // Path parameters are repeated in the body's schema.
  return [...named, ...inBody.filter(({ name }) => !known.has(name))];
}

/** Reads the routes that a platform describes at /docs/json. */
export async function readRoutes(httpUrl: string): Promise<Route[]> {
  const { paths } = await eventually(async () => {
    const response = await fetch(new URL('/docs/json', httpUrl));
    if (!response.ok) throw new Error(`no description: ${await response.text()}`);
    return (await response.json()) as { paths: Record<string, Record<string, Operation>> };
  });
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      parameters: parametersOf(operation),
      token: Object.keys(operation.security?.[0] ?? {})[0],
      tokens: (operation.security ?? []).flatMap((one) => Object.keys(one)),
    })),
  );
}

const openPaths: ReadonlySet<string> = new Set(['/v1/login', '/v1/refreshToken', '/health', '/metrics']);

/** The token that a route must require; those not listed as open require one. */
export function guardOf({ method, path }: Route): 'nobody' | 'token' | 'admin' | 'session' {
  if (openPaths.has(path) || `${method} ${path}` === 'POST /v1/x/session') return 'nobody';
  if (path.startsWith('/v1/x/gbfs/') || path === '/v1/x/shared') return 'nobody';
  if (/^\/v1\/x\/session\/(methods|passkey|passkey\/options)$/.test(path)) return 'nobody';
  if (path.startsWith('/v1/x/session')) return 'session';
  return path.startsWith('/v1/x/admin/') ? 'admin' : 'token';
}

/** Kinds of resources that have an owner and are named by parameters. */
export type Resource =
  | 'vehicle'
  | 'plate'
  | 'device'
  | 'authorization'
  | 'booking'
  | 'parking'
  | 'trip'
  | 'driver'
  | 'registration'
  | 'geofence'
  | 'group'
  | 'alarm rule'
  | 'alarm'
  | 'webhook'
  | 'notification'
  | 'export'
  | 'api key'
  | 'share'
  | 'report schedule';

const resourceNames: Readonly<Record<string, Resource>> = {
  vehicleId: 'vehicle',
  deviceId: 'device',
  authorizationId: 'authorization',
  parkingId: 'parking',
  tripId: 'trip',
  userid: 'driver',
  plate: 'plate',
  plate_or_vin: 'registration',
};

const idsOf: readonly (readonly [prefix: string, resource: Resource])[] = [
  ['/v1/vehicle', 'vehicle'],
  ['/v1/x/vehicle', 'vehicle'],
  ['/v1/booking', 'booking'],
  ['/v1/parkings', 'parking'],
  ['/v1/x/devices', 'device'],
  ['/v1/x/geofences', 'geofence'],
  ['/v1/x/groups', 'group'],
  ['/v1/x/alarm-rules', 'alarm rule'],
  ['/v1/x/alarms', 'alarm'],
  ['/v1/x/webhooks', 'webhook'],
  ['/v1/x/notifications', 'notification'],
  ['/v1/x/exports', 'export'],
  ['/v1/x/api-keys', 'api key'],
  ['/v1/x/shares', 'share'],
  ['/v1/x/report-schedules', 'report schedule'],
];

/** The resource that a parameter names; undefined for one that names none. */
export function resourceOf({ method, path }: Route, name: string): Resource | undefined {
  // Requesting a vehicle names a new plate.
  if (name === 'plate' && method === 'POST') return undefined;
  if (name === 'id') return idsOf.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`))?.[1];
  return resourceNames[name];
}

const seconds = () => Math.floor(Date.now() / 1000);

/** Values of parameters that name no resource. */
const plainValues: Readonly<Record<string, (path: string) => unknown>> = {
  from: () => seconds() - 120,
  until: () => seconds() + 3600,
  timestamp: () => seconds() - 3600,
  state: () => true,
  archived: () => true,
  level: () => 'DRIVE',
  type: () => 'BOOKING',
  userId: () => 'a driver',
  plate: () => 'ZZ-999-ZZ',
  q: () => 'a place',
  name: () => 'a place',
  geometry: () => ({
    type: 'Polygon',
    coordinates: [
      [
        [2, 48],
        [3, 48],
        [3, 49],
        [2, 48],
      ],
    ],
  }),
  kind: () => 'crash',
  vehicleIds: () => [],
  url: () => 'https://receiver.invalid/hook',
  types: () => ['alarm.*'],
  events: () => ['alarm.*'],
  push: () => ({
    endpoint: 'https://push.invalid/1',
    keys: { p256dh: createECDH('prime256v1').generateKeys('base64url'), auth: 'A'.repeat(22) },
  }),
  scopes: () => ['read'],
  class: () => 'private',
  every: () => 'week',
  recipients: () => ['office@example.com'],
  address: () => '1 street',
  zipcode: () => '75001',
  city: () => 'Paris',
  country: () => 'France',
  oldPassword: () => 'old password',
  newPassword: () => 'new password',
  fields: () => 'speed',
  format: (path) => (path.startsWith('/v1/x/report-schedules') ? 'pdf' : 'csv'),
  systemId: () => 'none',
  file: () => 'gbfs.json',
};

/** Optional parameters without which these routes only report a missing parameter. */
const wanted: Readonly<Record<string, readonly string[]>> = {
  'POST /v1/bluetooth-token': ['from', 'until', 'level'],
  'POST /v1/bluetooth-token/{authorizationId}': ['from', 'until'],
  'POST /v1/bluetooth-token/invalidate': ['until'],
  'PUT /v1/booking/{id}': ['from', 'until'],
  'POST /v1/vehicle/{id}/booking': ['until', 'type'],
  'POST /v1/vehicle/{id}/parking': ['parkingId'],
  'POST /v1/x/webhooks/{id}/replay': ['from'],
  'POST /v1/parkings': ['name', 'address', 'zipcode', 'city', 'country'],
};

/** Selects the parameters to call a route with; of several that name the same vehicle only `chosen`. */
export function givenParameters(route: Route, chosen: string | undefined): Parameter[] {
  const extra = wanted[`${route.method} ${route.path}`] ?? [];
  return route.parameters.filter(({ name, needed }) => needed || extra.includes(name) || name === chosen);
}

/** @throws Error for an unknown parameter, so that a new route is added here */
export function plainValue({ method, path }: Route, name: string): unknown {
  const value = plainValues[name];
  if (!value) throw new Error(`add to test/flows/route-table.fixture.ts what ${name} of ${method} ${path} is`);
  return value(path);
}

/** Calls a route with a value for each of these parameters. */
export async function callRoute(
  httpUrl: string,
  { method, path }: Route,
  values: readonly (Parameter & { value: unknown })[],
  headers: Record<string, string>,
): Promise<{ status: number; body: string }> {
  const url = new URL(
    values
      .filter(({ place }) => place === 'path')
      .reduce((filled, { name, value }) => filled.replace(`{${name}}`, encodeURIComponent(String(value))), path),
    httpUrl,
  );
  for (const { name, place, value } of values) if (place === 'query') url.searchParams.set(name, String(value));
  const body = Object.fromEntries(
    values.filter(({ place }) => place === 'body').map(({ name, value }) => [name, value]),
  );
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  return { status: response.status, body: isStream ? await readSnapshot(response) : await response.text() };
}

/** Reads a live stream until its snapshot is complete, and closes it. */
async function readSnapshot({ body }: Response): Promise<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (reader && !text.includes('"complete":true')) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  await reader?.cancel();
  return text;
}
