import { eventTypes } from '@odograph/contracts/events';
import { failures } from '@odograph/contracts/failures';
import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createOperator } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fastJsonStringify, { type Schema as ResponseSchema } from 'fast-json-stringify';
import { describe, expect, it } from 'vitest';
import { loadServices } from './services.ts';

type Schema = Readonly<Record<string, unknown>>;
interface Media {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
interface Answer {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}
interface Operation {
  readonly name: string;
  readonly operationId: string;
  readonly summary?: string;
  readonly tags: readonly string[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Answer>>;
}
interface Document {
  readonly info: unknown;
  readonly servers: unknown;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, 'name'>>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Omit<Operation, 'name'> }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Copies of a value, each with an unknown member in another of its objects, and the name of that member. */
function withUnknown(value: unknown): { readonly field: string; readonly body: unknown }[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([name, member]) =>
    withUnknown(member).map(({ field, body }) => {
      const copy = Array.isArray(value) ? value.with(Number(name), body) : { ...value, [name]: body };
      return { field: `${name}.${field}`, body: copy };
    }),
  );
  return Array.isArray(value) ? inner : [{ field: 'unknwon', body: { ...value, unknwon: 1 } }, ...inner];
}

const routes: { readonly url: string; readonly schema?: { readonly response?: unknown } }[] = [];
const routeRecorder: Service<Http> = {
  name: 'route recorder',
  async start({ http }) {
    http.addHook('onRoute', (route) => void routes.push(route));
    return { health: () => ({ ok: true, state: 'running' }) };
  },
};

const platform = await usePlatform([routeRecorder, ...(await loadServices())]);
const document: Document = (await platform.anonymous.get('/docs/json')).body;
const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, name: `${method.toUpperCase()} ${path}` })),
);

const running = { ok: true, state: 'running' };
const find = (name: string) => operations.find((operation) => operation.name === name);
const failed = ({ responses }: Operation) => Object.entries(responses).filter(([status]) => Number(status) >= 400);

/** The codes of a failure answer. */
function codesOf({ content = {} }: Answer): string[] {
  return Object.keys(content['application/json']?.examples ?? {});
}

/** Checks values against schemas of the document. @returns the faults found */
function createChecker(): (where: string, schema: Schema, value: unknown) => string[] {
  const ajv = addFormats.default(new Ajv2020({ strict: false }));
  ajv.addSchema({ $id: 'document', components: document.components });
  const resolve = (schema: Schema) => JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')) as Schema;
  return (where, schema, value) => {
    const validate = ajv.compile(resolve(schema));
    return validate(value) ? [] : [`${where}: ${JSON.stringify(value)} ${ajv.errorsText(validate.errors)}`];
  };
}

/** Each example of a media type with its schema. */
function examplesOf({ schema, example, examples = {} }: Media): [Schema, unknown][] {
  const all = example === undefined ? [] : [example];
  return [...all, ...Object.values(examples).map(({ value }) => value)].map((value) => [schema, value]);
}

it('reports every service as healthy', async () => {
  await eventually(async () => {
    const { status, services } = (await platform.anonymous.get('/health')).body;
    expect([status, services]).toMatchObject(['ok', { access: running, command: running }]);
  });
});

it('every route has response schemas that compile, as it needs them at its first request only', () => {
  const schemas = new Map(
    routes.flatMap(({ url, schema }) =>
      Object.entries((schema?.response ?? {}) as Record<string, ResponseSchema>).map(
        ([status, one]) => [JSON.stringify(one), { url, status, one }] as const,
      ),
    ),
  );
  const faults = [...schemas.values()].flatMap(({ url, status, one }) => {
    try {
      fastJsonStringify(one);
      return [];
    } catch (error) {
      return [`${url} ${status}: ${String(error)}`];
    }
  });
  expect(faults).toEqual([]);
  expect(schemas.size).toBeGreaterThan(100);
});

it('every route under /v1/x refuses unknown query parameters and unknown members of its body, at any depth, and names them', async () => {
  const { token } = await createApplication(platform.db);
  const { cookie } = await createOperator(platform.db);
  const asEveryone = { cookie, origin: platform.httpUrl, 'x-service-token': token };
  const headers = { ...asEveryone, authorization: `Bearer ${testAdminToken}`, 'content-type': 'application/json' };
  const attempts = operations
    .filter(({ name }) => name.includes(' /v1/x/'))
    .flatMap(({ name, parameters = [], requestBody }) => {
      const [method = '', path = ''] = name.split(' ');
      const exampleOfParameter = (one: string) =>
        String(parameters.find((parameter) => parameter.name === one)?.example);
      const url = `${platform.httpUrl}${path.replaceAll(/\{(\w+)\}/g, (_, one) => encodeURIComponent(exampleOfParameter(one)))}`;
      const misspelt = { name, field: 'unknwon', url: `${url}?unknwon=1`, init: { method, headers } };
      const all = withUnknown(requestBody?.content['application/json']?.example ?? {});
      // These may hold anything, or the answer lists the faults of each.
      const bodies = all.filter(
        ({ field }) => !/^(readings|rows\.0\.record|commands\.[A-Z-]+\.flespi\.properties)\./.test(field),
      );
      const sent = bodies.map(({ field, body }) => ({
        ...{ name, field, url, init: { method, headers, body: JSON.stringify(body) } },
      }));
      return method === 'GET' ? [misspelt] : [misspelt, ...sent];
    });
  const faults: string[] = [];
  for (const { name, field, url, init } of attempts) {
    const response = await fetch(url, init);
    const answer = (await response.json()) as { error: string; field?: string };
    const isNamed = response.status === 400 && answer.error === 'INVALID_PARAMETER' && answer.field === field;
    if (!isNamed) faults.push(`${name} ${field}: ${response.status} ${JSON.stringify(answer)}`);
  }
  expect(faults).toEqual([]);
  expect(attempts.length).toBeGreaterThan(150);
});

describe('the OpenAPI document', () => {
  it('has the versions of platform and interface, a server, and a description of each tag', () => {
    expect(document.info).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      'x-interface-version': '1.13',
    });
    expect(document.servers).toEqual([{ url: '/', description: 'this platform' }]);
    const described = document.tags.filter(({ description }) => description.length > 10).map(({ name }) => name);
    expect(described.sort()).toEqual([...new Set(operations.flatMap(({ tags }) => tags))].sort());
  });

  it('gives each operation an id of its own and a summary', () => {
    expect(operations.length).toBeGreaterThan(130);
    expect(operations.filter(({ summary = '' }) => summary.length < 8).map(({ name }) => name)).toEqual([]);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    expect(find('GET /v1/vehicle/{id}/status')?.operationId).toBe('getVehicleByIdStatus');
  });

  it('gives each operation examples that its schemas accept, of the request and of every answer', () => {
    const check = createChecker();
    const faults = operations.flatMap(({ name, parameters = [], requestBody, responses }) => {
      const answers = Object.values(responses).flatMap(({ content = {} }) => Object.entries(content));
      const bodies = [...Object.entries(requestBody?.content ?? {}), ...answers];
      const missing = bodies.filter(([type, media]) => type.includes('json') && examplesOf(media).length === 0);
      const required = parameters.filter((parameter) => parameter.required);
      return [
        ...missing.map(([type]) => `${name}: no example of ${type}`),
        ...bodies.flatMap(([, media]) => examplesOf(media).flatMap(([schema, value]) => check(name, schema, value))),
        ...required.flatMap(({ schema, example }) => check(name, schema, example)),
      ];
    });
    expect(faults).toEqual([]);
  });

  it('has an end after the start in the example of each interval', () => {
    const intervals = (value: unknown): { from: string; until: string }[] => {
      if (typeof value !== 'object' || value === null) return [];
      const own = 'from' in value && 'until' in value ? [{ from: String(value.from), until: String(value.until) }] : [];
      return [...own, ...Object.values(value).flatMap(intervals)];
    };
    const all = operations.flatMap(({ name, parameters = [], requestBody, responses }) => {
      const contents = [requestBody, ...Object.values(responses)].flatMap((one) => Object.values(one?.content ?? {}));
      const examples = [
        Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.example])),
        ...contents.map(({ example }) => example),
      ];
      return examples.flatMap(intervals).map((interval) => ({ name, ...interval }));
    });
    expect(all.filter(({ from, until }) => until !== '' && until !== 'undefined' && from >= until)).toEqual([]);
    expect(all.length).toBeGreaterThan(20);
  });

  it('requires a body that has required members, and keeps keywords of the validator to itself', () => {
    const wrong = operations.filter(({ requestBody }) => {
      const [media] = Object.values(requestBody?.content ?? {});
      return requestBody && requestBody.required !== ((media?.schema['required'] ?? []) as unknown[]).length > 0;
    });
    expect(wrong.map(({ name }) => name)).toEqual([]);
    expect(JSON.stringify(document)).not.toContain('documentedAs');
  });

  it('describes the requests to webhooks, one for each type of event', () => {
    expect(Object.keys(document.webhooks).sort()).toEqual([...eventTypes].sort());
    const check = createChecker();
    const faults = Object.entries(document.webhooks).flatMap(([type, { post }]) => {
      const [media] = Object.values(post.requestBody?.content ?? {});
      expect(media?.example).toMatchObject({ type });
      return media ? check(type, media.schema, media.example) : [type];
    });
    expect(faults).toEqual([]);
  });

  it('lists the failures of each operation under the statuses of their codes, as an enumeration', () => {
    const statusOf: Readonly<Record<string, readonly [number, string]>> = failures;
    const faults = operations.flatMap((operation) =>
      failed(operation).flatMap(([status, answer]) => {
        const wrong = codesOf(answer).filter((code) => statusOf[code]?.[0] !== Number(status));
        const isListed = codesOf(answer).length > 0 || operation.name === 'GET /health';
        return wrong.length === 0 && isListed ? [] : [`${operation.name} ${status}: ${wrong.join()}`];
      }),
    );
    expect(faults).toEqual([]);
    expect(codesOf(find('GET /v1/vehicle/{id}/status')?.responses['404'] ?? {})).toEqual([
      ...['UNKNOWN_VEHICLE', 'NO_DATA', 'UNKNOWN_APPLICATION', 'NOT_FOUND'],
    ]);
    expect(codesOf(find('POST /v1/bluetooth-token')?.responses['409'] ?? {})).toEqual([
      ...['VEHICLE_ARCHIVED', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_KEY_IN_USE'],
    ]);
    expect(codesOf(find('PUT /v1/booking/{id}')?.responses['400'] ?? {})).not.toContain('DRIVER_WITHOUT_ACCOUNT');
    const missing = operations
      .filter(({ responses }) => !['400', '500', '503'].every((status) => status in responses))
      .map(({ name }) => name);
    expect(missing).toEqual([]);
  });

  it('documents the headers of lists in pages, of throttled requests and of remote actions', () => {
    expect(Object.keys(find('GET /v1/vehicles/history')?.responses['200']?.headers ?? {})).toEqual(
      expect.arrayContaining(['X-Has-More', 'Link']),
    );
    const common = ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
    const headersOf = ({ headers = {} }: Answer) => Object.keys(headers);
    const lacking = operations.filter(({ name, responses }) => {
      const expected = /\/(health|metrics)$/.test(name) ? common.slice(0, 1) : common;
      return !Object.values(responses).every((answer) => expected.every((one) => headersOf(answer).includes(one)));
    });
    expect(lacking.map(({ name }) => name)).toEqual([]);
    expect(operations.filter(({ responses }) => !headersOf(responses['405'] ?? {}).includes('Allow'))).toEqual([]);
    const throttled = operations.filter(({ responses }) => '429' in responses);
    expect(throttled.length).toBeGreaterThan(100);
    expect(throttled.every(({ responses }) => 'Retry-After' in (responses['429']?.headers ?? {}))).toBe(true);
    const key = find('POST /v1/vehicle/lock')?.parameters?.find(({ name }) => name === 'Idempotency-Key');
    expect(key).toMatchObject({
      in: 'header',
      required: false,
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    });
  });

  it('describes no body for responses without one', () => {
    expect(find('POST /v1/vehicle/honk')?.responses['200']?.content).toBeUndefined();
  });

  it('offers each member of a body that is no secret as a query parameter', () => {
    const alternatives = (name: string) =>
      find(name)
        ?.parameters?.filter((parameter) => parameter.in === 'query')
        .map((parameter) => parameter.name);
    expect(alternatives('POST /v1/vehicle/{id}/towing')).toEqual(['state']);
    expect(find('POST /v1/vehicle/{id}/towing')?.requestBody?.required).toBe(true);
    expect(alternatives('POST /v1/login')).toEqual(['appId', 'username']);
    expect(find('POST /v1/login')?.requestBody?.required).toBe(true);
  });

  it('lets every POST take an idempotency key, except sign-ins, and what is harmless to repeat', () => {
    const without = operations
      .filter(
        ({ name, parameters = [] }) =>
          name.startsWith('POST') && !parameters.some(({ name: one }) => one === 'Idempotency-Key'),
      )
      .map(({ name }) => name.replace('POST ', ''));
    expect(without.sort()).toEqual([
      ...['/v1/login', '/v1/refreshToken', '/v1/x/admin/import', '/v1/x/admin/quarantine/dismiss'],
      ...['/v1/x/admin/quarantine/replay', '/v1/x/admin/quarantine/reseal', '/v1/x/admin/quarantine/{id}/open'],
      ...['/v1/x/admin/registrations', '/v1/x/session', '/v1/x/session/passkey', '/v1/x/session/passkey/options'],
      ...['/v1/x/session/passkeys', '/v1/x/session/passkeys/options', '/v1/x/session/password'],
      ...['/v1/x/session/second-factor', '/v1/x/session/second-factor/confirm'],
    ]);
  });

  it('names the records of the interface', () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining([
        ...['Vehicle', 'Location', 'CanDatum', 'Status', 'Electric', 'Sensor', 'VehicleState', 'Trip'],
        ...['FleetVehicle', 'FleetVehicleDetail', 'FleetVehicleStatus', 'Authorization', 'Booking', 'ParkingSpot'],
        ...['DriverVehicle', 'DeviceCommands', 'RegistrationRecord', 'Certificate', 'AdditionalInformation', 'Fluids'],
        ...['ElectricData', 'Tires'],
      ]),
    );
  });

  it('describes both lookups of registration data with the record', () => {
    for (const path of ['/v1/siv/fr/{plate_or_vin}', '/v1/vehicle/{id}/siv']) {
      const operation = find(`GET ${path}`);
      expect(operation?.tags).toEqual(['registration data']);
      const { schema } = operation?.responses['200']?.content?.['application/json'] ?? {};
      expect(schema?.['$ref']).toMatch(/RegistrationRecord$/);
    }
    const { properties } = document.components.schemas['RegistrationRecord'] ?? {};
    const parts = ['certificate', 'additional_information', 'fluids', 'electric', 'tires'];
    expect(Object.keys(properties ?? {})).toEqual(parts);
  });
});
