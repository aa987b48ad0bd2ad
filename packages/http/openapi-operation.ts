import type { RouteOptions } from 'fastify';
import { answersOf, type DescribedRoute, namesApplication, type OpenApiObject } from './openapi-answers.ts';
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
