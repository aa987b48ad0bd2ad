import { type FailureCode, failures } from '@odograph/contracts/failures';
import type { FastifySchema, RouteOptions } from 'fastify';
import {
  asDocumented,
  exampleOf,
  isOptional,
  isScalar,
  type JsonSchema,
  type NamedSchemas,
  nameSchemas,
  withoutDefaults,
} from './openapi-schema.ts';
import { failureSchema } from './schemas.ts';

declare module 'fastify' {
  interface FastifySchema {
    hide?: boolean;
    /** Instead of the derived one, for two paths that differ by `x` only. */
    operationId?: string;
    tags?: readonly string[];
    summary?: string;
    description?: string;
    /** The tokens of which one is required; none for an empty list. */
    security?: readonly { [scheme: string]: readonly string[] }[];
    /** Headers of a successful answer, by name. */
    answerHeaders?: Readonly<Record<string, JsonSchema>>;
    /** Media types of a successful answer; JSON by default. The schema of `text/event-stream` is that of its events. */
    produces?: readonly string[];
    /** Events that webhooks receive: `event` is the type, and `data` the body of the request. */
    webhooks?: readonly object[];
    /** Names of parameters of which exactly one must be given. */
    exactlyOne?: readonly string[];
  }
}

/** An object of OpenAPI that is no schema. */
type OpenApiObject = Readonly<Record<string, unknown>>;

/** A route with one method, as it was registered. */
interface DescribedRoute {
  readonly method: string;
  /** With parameters in braces. */
  readonly path: string;
  readonly schema: FastifySchema;
  readonly isLimited: boolean;
  /** Whether the route itself handles validation errors. */
  readonly isAttached: boolean;
}

/** The names of the tokens of which a route accepts one. */
const schemesOf = ({ security = [] }: FastifySchema): ReadonlySet<string> => new Set(security.flatMap(Object.keys));

/** Whether an operator names the application that a request is about in a header. */
function namesApplication(schema: FastifySchema): boolean {
  const schemes = schemesOf(schema);
  return schemes.has('serviceToken') && schemes.has('session');
}

const takesKey = ({ headers }: FastifySchema): boolean =>
  Object.hasOwn((headers as JsonSchema | undefined)?.properties ?? {}, 'idempotency-key');

/** The failures that do not depend on the resource, for each of its routes. */
function commonFailures({ method, path, schema, isLimited }: DescribedRoute): FailureCode[] {
  const schemes = schemesOf(schema);
  return [
    'INVALID_PARAMETER',
    'METHOD_NOT_ALLOWED',
    ...(schemes.size > 0 ? (['MISSING_TOKEN', 'INVALID_TOKEN'] as const) : []),
    ...(schemes.has('serviceToken') || schemes.has('session') ? (['TOKEN_EXPIRED'] as const) : []),
    ...(schemes.has('apiKey') || (schemes.has('session') && method !== 'GET') ? (['UNAUTHORIZED'] as const) : []),
    ...(schemes.has('session') && schemes.size > 1
      ? (['PASSWORD_CHANGE_REQUIRED', 'SECOND_FACTOR_MISSING'] as const)
      : []),
    ...(namesApplication(schema) ? (['UNKNOWN_APPLICATION'] as const) : []),
    ...(path.includes('{') || (schemes.has('session') && schemes.has('adminToken')) ? (['NOT_FOUND'] as const) : []),
    ...(isLimited ? (['TOO_MANY_REQUESTS'] as const) : []),
    ...(takesKey(schema) ? (['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_KEY_IN_USE'] as const) : []),
    ...(method === 'GET' ? [] : (['UNSUPPORTED_MEDIA_TYPE'] as const)),
    'INTERNAL_ERROR',
    'OVERLOADED',
  ];
}

/** The schema of the failures of a status: the one of the route, with the codes that do not depend on the resource. */
function withCodes(given: JsonSchema | undefined, codes: readonly FailureCode[]): JsonSchema {
  const { enum: listed = [] } = given?.properties?.['error'] ?? {};
  const all = [...new Set([...(listed as FailureCode[]), ...codes])];
  if (!given || given.title !== undefined) return failureSchema(all);
  return { ...given, properties: { ...given.properties, error: { ...given.properties?.['error'], enum: all } } };
}

/** The headers of answers that do not depend on the resource, `components.headers`. */
export const commonHeaders = {
  'X-Request-Id': {
    description: 'names the request in the logs: its own X-Request-Id, 1 to 128 of A-Z a-z 0-9 . _ : -, else a new one',
    schema: { type: 'string' },
  },
  'X-RateLimit-Limit': { description: 'requests a minute of a client network', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'requests left until the reset', schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'seconds until the reset', schema: { type: 'integer' } },
  'Idempotency-Replayed': {
    description: 'true for the answer of an earlier request with the same Idempotency-Key',
    schema: { type: 'string', enum: ['true'] },
  },
  'Retry-After': {
    description: 'seconds after which the same request may succeed',
    schema: { type: 'integer', minimum: 1 },
  },
  Allow: { description: 'the methods of the path', schema: { type: 'string' } },
} as const;

/** References to the headers of an answer. */
function headersOf(status: number, { isLimited, schema }: DescribedRoute): OpenApiObject {
  const names: (keyof typeof commonHeaders)[] = [
    'X-Request-Id',
    ...(isLimited ? (['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const) : []),
    ...(status === 200 && takesKey(schema) ? (['Idempotency-Replayed'] as const) : []),
    ...(status === 429 || status === 503 ? (['Retry-After'] as const) : []),
    ...(status === 405 ? (['Allow'] as const) : []),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function failureAnswer(status: number, schema: JsonSchema, route: DescribedRoute, named: NamedSchemas): OpenApiObject {
  const { properties = {}, required = [] } = schema;
  const codes = (properties['error']?.enum ?? []) as FailureCode[];
  const own = Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {})]));
  return {
    description: codes.join(', '),
    headers: headersOf(status, route),
    content: {
      'application/json': {
        schema: nameSchemas(schema, named),
        examples: Object.fromEntries(
          codes.map((code) => [code, { value: { ...own, error: code, message: failures[code][1] } }]),
        ),
      },
    },
  };
}

/** The content of a GeoJSON file: its route declares a string, as for every file, but clients parse this type as JSON. */
const geoJsonFile = { schema: { type: 'object' }, example: { type: 'FeatureCollection', features: [] } };

function successAnswer(status: number, success: JsonSchema, route: DescribedRoute, named: NamedSchemas): OpenApiObject {
  const { answerHeaders = {}, produces = ['application/json'] } = route.schema;
  const headers = Object.entries(answerHeaders).map(([name, { description, ...header }]) => [
    name,
    { description, schema: header },
  ]);
  const isEmpty = success.type === 'null';
  const contentOf = (type: string) => {
    if (type === 'text/event-stream') return { schema: nameSchemas(success, named) };
    if (!type.includes('json')) return { schema: { type: 'string' } };
    if (type === 'application/geo+json' && success.type === 'string') return geoJsonFile;
    return { schema: nameSchemas(success, named), example: exampleOf(success) };
  };
  const content = produces.map((type) => [type, contentOf(type)]);
  return {
    description: success.description ?? 'success',
    headers: { ...Object.fromEntries(headers), ...headersOf(status, route) },
    ...(!isEmpty && { content: Object.fromEntries(content) }),
  };
}

/** Describes the answers of a route by status; their named schemas are added to `named`. */
function answersOf(route: DescribedRoute, named: NamedSchemas): OpenApiObject {
  const given = (route.schema.response ?? {}) as Readonly<Record<string, JsonSchema>>;
  const common = commonFailures(route);
  const statuses = new Set([...Object.keys(given).map(Number), ...common.map((code) => failures[code][0])]);
  const written = [...statuses]
    .sort((one, other) => one - other)
    .map((status) => {
      const schema = given[status] && asDocumented(given[status]);
      const codes = common.filter((code) => failures[code][0] === status);
      const isFailure = status >= 400 && (!schema || schema.properties?.['error'] !== undefined);
      if (isFailure) return [status, failureAnswer(status, withCodes(schema, codes), route, named)];
      return [status, successAnswer(status, schema ?? {}, route, named)];
    });
  return Object.fromEntries(written);
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

const capitalize = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** Derives the id of an operation: `getVehicleByIdStatus` for GET /v1/vehicle/{id}/status; `x` is left out. */
export function operationId(method: string, path: string): string {
  const words = path
    .replace(/^\/v1\/(x\/)?/, '')
    .replaceAll(/\{(\w+)\}/g, 'by-$1')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
  return method.toLowerCase() + words.map(capitalize).join('');
}

/** Splits a route into one for each of its methods. HEAD, which Fastify adds to every GET, is not described. */
export function describedRoutes({
  method,
  url,
  schema = {},
  config,
  attachValidation = false,
}: RouteOptions): DescribedRoute[] {
  return [method]
    .flat()
    .filter((one) => one !== 'HEAD')
    .map((one) => ({
      method: one,
      path: url.replaceAll(/:(\w+)/g, '{$1}'),
      schema,
      isLimited: config?.rateLimit !== false,
      isAttached: attachValidation,
    }));
}

function pathParameters({ path, schema }: DescribedRoute): Parameter[] {
  const { properties = {} } = asDocumented((schema.params ?? {}) as JsonSchema);
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const { description, ...given } = properties[name] ?? { type: 'string' };
    const bounds = given.type === 'string' && { minLength: 1, maxLength: 256 };
    return {
      ...{ name, in: 'path' as const, required: true, ...(description !== undefined && { description }) },
      schema: { ...bounds, ...given },
    };
  });
}

function listedParameters(place: 'query' | 'header', given: unknown): Parameter[] {
  const { properties = {}, required = [] } = withoutDefaults(asDocumented((given ?? {}) as JsonSchema));
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    ...{ name: place === 'header' ? headerName(name) : name, in: place, required: required.includes(name) },
    ...(description !== undefined && { description }),
    schema,
  }));
}

const headerName = (name: string) => name.split('-').map(capitalize).join('-');

/** The body without the parameters of the path, which are merged into it. */
function bodyOf({ path, schema, isAttached }: DescribedRoute): JsonSchema | undefined {
  if (schema.body === undefined) return undefined;
  const body = withoutDefaults(asDocumented(schema.body as JsonSchema));
  const isInBody = (name: string) => !path.includes(`{${name}}`);
  const members = Object.entries(body.properties ?? {}).filter(([name]) => isInBody(name));
  const properties = Object.fromEntries(members);
  const required = (body.required ?? []).filter(isInBody);
  const { required: _, ...rest } = body;
  // As refuseUnknown does, but for routes that name their faults themselves.
  const isClosed = path.startsWith('/v1/x/') && !isAttached;
  return {
    ...rest,
    properties,
    ...(required.length > 0 && { required }),
    ...(isClosed && { additionalProperties: false }),
  };
}

const hasAlternative = (schema: JsonSchema) => isScalar(schema) && schema.writeOnly !== true;

/** The members of the body that the query may give instead; secrets have no place in a URL. */
function alternatives({ properties = {} }: JsonSchema): Parameter[] {
  return Object.entries(properties)
    .filter(([, schema]) => hasAlternative(schema))
    .map(([name, { description, ...schema }]) => ({
      ...{ name, in: 'query' as const, required: false, 'x-alternative': true },
      description: `${description === undefined ? '' : `${description}; `}instead of the member of the body, which wins`,
      schema,
    }));
}

/**
 * Adds null to the optional members of a body: it counts as left out. Not to members that require another, since JSON Schema
 * cannot say that they do not when they are null.
 */
function orNull(body: JsonSchema): JsonSchema {
  const isNullable = (name: string) => isOptional(body, name) && body.dependentRequired?.[name] === undefined;
  const members = Object.entries(body.properties ?? {}).map(([name, { description, default: standard, ...schema }]) => {
    const annotations = {
      ...(description !== undefined && { description }),
      ...(standard !== undefined && { default: standard }),
    };
    const types = schema.anyOf ?? [schema];
    return [name, isNullable(name) ? { anyOf: [...types, { type: 'null' }], ...annotations } : body.properties?.[name]];
  });
  return { ...body, properties: Object.fromEntries(members) };
}

function requestBody(body: JsonSchema, named: NamedSchemas): OpenApiObject {
  return {
    required: (body.required ?? []).length > 0,
    content: { 'application/json': { schema: nameSchemas(orNull(body), named), example: exampleOf(body) } },
  };
}

const applicationHeader: Parameter = {
  ...{ name: 'X-Application', in: 'header', required: false },
  description: 'appId of the application that an operator with a browser session acts for',
  schema: { type: 'string', minLength: 1, maxLength: 256 },
};

/** Describes one operation; its named schemas are added to `named`. */
export function describeOperation(route: DescribedRoute, named: NamedSchemas): OpenApiObject {
  const { method, path, schema } = route;
  const { tags, summary, description, security, exactlyOne } = schema;
  const id = schema.operationId ?? operationId(method, path);
  const body = method === 'GET' ? undefined : bodyOf(route);
  const parameters = [
    ...pathParameters(route),
    ...listedParameters('query', schema.querystring),
    ...(body ? alternatives(body) : []),
    ...listedParameters('header', schema.headers),
    ...(namesApplication(schema) ? [applicationHeader] : []),
  ].map(({ schema: parameterSchema, ...parameter }) => ({
    ...parameter,
    schema: nameSchemas(parameterSchema, named),
    ...(parameter.required && { example: exampleOf(parameterSchema) }),
  }));
  return {
    operationId: id,
    ...{ tags, summary, ...(description !== undefined && { description }), ...(security && { security }) },
    ...(exactlyOne && { 'x-exactly-one': exactlyOne }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: requestBody(body, named) }),
    responses: answersOf(route, named),
  };
}

/** Describes the requests that the receivers of webhooks get, by the type of the event. */
export function describeWebhooks(events: readonly JsonSchema[], named: NamedSchemas): OpenApiObject {
  const described = events.map(asDocumented).map(({ properties = {} }) => {
    const type = String(properties['event']?.enum?.[0]);
    const event = properties['data'] ?? {};
    const content = { schema: nameSchemas(event, named), example: exampleOf(event) };
    const header = (name: string, description: string) => ({
      ...{ name, in: 'header', required: true, description, schema: { type: 'string' } },
    });
    const post = {
      operationId: `receive${type.split(/[.-]/).map(capitalize).join('')}`,
      ...{ tags: ['webhooks'], summary: `The event ${type}`, security: [] },
      parameters: [
        header('webhook-id', 'id of the event, the same at each attempt'),
        header('webhook-timestamp', 'UNIX seconds of the attempt'),
        header('webhook-signature', 'signatures as Standard Webhooks defines them, separated by spaces'),
      ],
      requestBody: { required: true, content: { 'application/json': content } },
      responses: { '2XX': { description: 'received; any other answer is repeated' } },
    };
    return [type, { post }];
  });
  return Object.fromEntries(described);
}
