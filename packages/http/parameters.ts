import type { IncomingHttpHeaders } from 'node:http';
import { type Failure, invalidParameter } from '@odograph/contracts/failures';
import { maxNameLength } from '@odograph/contracts/nearest';
import { ruleOfUnknown } from '@odograph/contracts/schema-faults';
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Http } from './http.ts';
import { isOptional, type JsonSchema } from './openapi-schema.ts';
import { isFlag, isTrue } from './schemas.ts';

const hasBody = ({ 'content-length': length = '0', 'transfer-encoding': encoding }: IncomingHttpHeaders): boolean =>
  length !== '0' || encoding !== undefined;

/**
 * Accepts only JSON bodies. An empty body counts as the empty object whatever its content type: `curl -d ''` sends that of
 * a form.
 */
export function acceptJson(http: Http): void {
  const parse = http.getDefaultJsonParser('error', 'error');
  http.removeAllContentTypeParsers();
  http.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) done(null, {});
    else void parse(request, body as string, done);
  });
  http.addContentTypeParser('*', ({ headers }, _payload, done) => {
    if (hasBody(headers)) done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE());
    else done(null, {});
  });
}

/** A body that its route reads as bytes is none. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}

/** Converts text of a query or path to the type of the body's member, where the text is of that form. */
function fromText(value: unknown, { type }: JsonSchema = {}): unknown {
  if (typeof value !== 'string' || value.trim() === '') return value;
  if ((type === 'number' || type === 'integer') && Number.isFinite(Number(value))) return Number(value);
  if (type === 'boolean' && isFlag(value)) return isTrue(value);
  return value;
}

function fromTexts(part: unknown, { properties = {} }: JsonSchema): Record<string, unknown> {
  if (!isPlainObject(part)) return {};
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, fromText(value, properties[name])]));
}

/** Leaves out optional members that are null. */
function withoutNulls(body: Record<string, unknown>, schema: JsonSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => value !== null || !isOptional(schema, name)),
  );
}

const isOpen = ({ additionalProperties = false, patternProperties }: JsonSchema): boolean =>
  additionalProperties !== false || patternProperties !== undefined;

/** Finds the first member that none of the alternatives for a value has. A value that may be anything has none. */
function findUnknown(
  alternatives: readonly JsonSchema[],
  value: unknown,
  path: readonly string[] = [],
): Failure | undefined {
  const schemas = alternatives.flatMap((schema) => schema.anyOf ?? [schema]);
  const objects = schemas.filter(({ type }) => type === 'object');
  const members = objects.flatMap(({ properties = {} }) => Object.entries<JsonSchema>(properties));
  // Recursion ends with the schema, however deep the value.
  if (schemas.length === 0) return undefined;
  const items = Array.isArray(value) ? schemas.flatMap<JsonSchema>((schema) => schema.items ?? []) : undefined;
  if (!items && (!isPlainObject(value) || objects.length === 0 || objects.some(isOpen))) return undefined;
  for (const [name, inner] of Object.entries(value as object)) {
    const at = [...path, name.slice(0, maxNameLength)];
    const known = items ?? members.filter(([member]) => member === name).map(([, schema]) => schema);
    if (!items && known.length === 0)
      return invalidParameter(at.join('.'), ruleOfUnknown(name, Object.keys(Object.fromEntries(members))));
    const fault = findUnknown(known, inner, at);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/**
 * Refuses unknown members of a body and unknown parameters of a query under /v1/x: a misspelt one would silently do something
 * else. Clients of the interface specification may send more on its own routes. A route that attaches the faults of the
 * validator names these itself.
 * @throws Failure INVALID_PARAMETER that names the member, and the nearest known one
 */
export async function refuseUnknown({ routeOptions, method, query, params, body }: FastifyRequest): Promise<void> {
  const { url = '', schema = {}, attachValidation } = routeOptions;
  if (!url.startsWith('/v1/x/') || attachValidation) return;
  const properties = Object.fromEntries(Object.keys(params as object).map((name) => [name, {}]));
  const inPath: JsonSchema = { type: 'object', properties };
  const inQuery = [inPath, (schema.querystring ?? {}) as JsonSchema];
  const inBody = [inPath, (schema.body ?? {}) as JsonSchema];
  const isRead = method === 'GET' || method === 'HEAD';
  const fault = isRead
    ? findUnknown(inQuery, query)
    : (findUnknown([...inQuery, ...inBody], query) ?? findUnknown(inBody, body));
  if (fault !== undefined) throw fault;
}

/**
 * Parameters of POST, PUT and DELETE come in the JSON body, and the query string is accepted too: the body wins, and a
 * path parameter wins over both. What the schema of the body sees is all three together.
 */
export async function mergeParameters(this: FastifyInstance, request: FastifyRequest): Promise<void> {
  if (request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS') return;
  const body = request.body === undefined ? {} : request.body;
  if (!isPlainObject(body)) return;
  const schema = (request.routeOptions.schema?.body ?? {}) as JsonSchema;
  const merged = Object.assign({}, fromTexts(request.query, schema), body, fromTexts(request.params, schema));
  request.body = withoutNulls(merged, schema);
}

/** Removes parameters that are empty or null, of the given names or all. */
function removeEmpty(part: unknown, names?: readonly string[]): void {
  if (!isPlainObject(part)) return;
  for (const name of names ?? Object.keys(part)) if (part[name] === '' || part[name] === null) delete part[name];
}

/** A preValidation hook that leaves out the named parameters if they are empty or null; all of them without names. */
export function leaveOutEmpty(...names: readonly string[]) {
  return async ({ query, body }: FastifyRequest): Promise<void> => {
    for (const part of [query, body]) removeEmpty(part, names.length > 0 ? names : undefined);
  };
}

const deepestNesting = 32;

/** Finds the first invalid value inside a parameter. */
function findFault(value: unknown, path: readonly string[]): Failure | undefined {
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : invalidParameter(path.join('.'), 'must be a finite number');
  }
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return undefined;
  if (path.length > deepestNesting) return invalidParameter(path[0] ?? '', 'is nested too deeply');
  for (const [name, one] of Object.entries(value)) {
    const fault = findFault(one, [...path, name]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/**
 * Refuses values that the validator accepts: text such as `1e999` of a query, which it coerces to Infinity, beyond every bound;
 * and values nested so deeply that recursion over them exhausts the stack.
 * @throws Failure INVALID_PARAMETER that names the parameter
 */
export async function refuseExtremes({ query, params, body }: FastifyRequest): Promise<void> {
  for (const part of [query, params, body]) {
    const fault = findFault(part, []);
    if (fault !== undefined) throw fault;
  }
}

/** Finds text with NUL, or a member whose name has one. @returns the path of the parameter */
function pathToNul(value: unknown, path: readonly string[]): readonly string[] | undefined {
  if (typeof value === 'string') return value.includes('\0') ? path : undefined;
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return undefined;
  if (path.length > deepestNesting) return undefined;
  for (const [name, one] of Object.entries(value)) {
    const found = name.includes('\0') ? path : pathToNul(one, [...path, name]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Describes text with NUL that PostgreSQL refused, whichever schema accepted it. Schemas do not reject NUL themselves:
 * passwords may contain it, and identifiers with it have their own error codes.
 * @returns undefined if the request has no text with NUL
 */
export function findNul({ query, params, body }: FastifyRequest): Failure | undefined {
  for (const part of [params, query, body]) {
    const path = pathToNul(part, []);
    if (path !== undefined) return invalidParameter(path.join('.') || 'body', 'must not contain the character NUL');
  }
  return undefined;
}
