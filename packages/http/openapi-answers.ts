import { type FailureCode, failures } from '@odograph/contracts/failures';
import type { FastifySchema } from 'fastify';
import { asDocumented, exampleOf, type JsonSchema, type NamedSchemas, nameSchemas } from './openapi-schema.ts';
import { failureSchema } from './schemas.ts';

/** An object of OpenAPI that is no schema. */
export type OpenApiObject = Readonly<Record<string, unknown>>;

/** A route with one method, as it was registered. */
export interface DescribedRoute {
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
export function namesApplication(schema: FastifySchema): boolean {
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
    ...(schemes.has('session') && (schemes.has('adminToken') || method !== 'GET') ? (['UNAUTHORIZED'] as const) : []),
    ...(schemes.has('session') && schemes.size > 1 ? (['PASSWORD_CHANGE_REQUIRED'] as const) : []),
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
export function answersOf(route: DescribedRoute, named: NamedSchemas): OpenApiObject {
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
