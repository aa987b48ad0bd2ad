import { asText, type FuzzedRequest } from './http-requests.fixture.ts';
import type { Operation } from './operations.fixture.ts';
import { runs } from './runs.fixture.ts';
import type { KnownValues, Schema } from './values.fixture.ts';

/** Schemas deeper than this are recursive or free. */
const maxDepth = 6;

function plausibleObject(schema: Schema, known: KnownValues): Record<string, unknown> {
  const { properties = {}, required = [] } = schema;
  const needed = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(needed.map(([name, property]) => [name, plausible(property, known, name)]));
}

/** Returns a value that is probably valid: one that exists, the first example, or the least that the schema demands. */
function plausible(schema: Schema, known: KnownValues, name = ''): unknown {
  const [existing] = (Object.hasOwn(known, name) ? known[name] : undefined) ?? [];
  const [example] = schema.examples ?? schema.enum ?? [];
  const given = existing ?? schema.const ?? schema.default ?? schema.example ?? example;
  if (given !== undefined) return given;
  if (schema.anyOf !== undefined) return plausible(schema.anyOf[0] ?? {}, known);
  const [type] = [schema.type].flat();
  if (type === 'object') return plausibleObject(schema, known);
  if (type === 'array') return [plausible(schema.items ?? {}, known)];
  if (type === 'number' || type === 'integer') return schema.minimum ?? 1;
  return type === 'boolean' ? true : 'x'.repeat(Math.max(1, schema.minLength ?? 1));
}

/** Returns texts with NUL within a plausible value and, in long runs, alone and after it. */
function textsWithNul(schema: Schema, known: KnownValues, name: string): string[] {
  const text = asText(plausible(schema, known, name));
  return [`${text.slice(0, 1)}\0${text.slice(1)}`, '\0', `${text}\0`].slice(0, runs(1, 3));
}

/** Returns values with NUL in one text, at every place of the schema in turn. */
function valuesWithNul(schema: Schema, known: KnownValues, name = '', depth = 0): unknown[] {
  if (depth > maxDepth) return [];
  const inner = (one: Schema, of = '') => valuesWithNul(one, known, of, depth + 1);
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap((one) => inner(one, name));
  const [type] = [schema.type].flat();
  if (type === 'array') return inner(schema.items ?? {}).map((item) => [item]);
  if (type === 'object') {
    const whole = plausibleObject(schema, known);
    const ofProperties = Object.entries(schema.properties ?? {}).flatMap(([property, one]) =>
      inner(one, property).map((value) => ({ ...whole, [property]: value })),
    );
    return [...ofProperties, { ...whole, 'a\0': 1 }];
  }
  if (type === 'string') return textsWithNul(schema, known, name);
  return type === undefined ? ['\0', { a: 'b\0' }] : [];
}

interface Parts {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Creates a request of plausible values, except for the given ones. */
export function plausibleRequest(
  { method, path, parameters, body }: Operation,
  known: KnownValues,
  { path: inPath = {}, query = {}, body: given }: Parts = {},
): FuzzedRequest {
  const segmentOf = (name: string): string => {
    const schema = parameters.find((one) => one.in === 'path' && one.name === name)?.schema ?? {};
    return inPath[name] ?? asText(plausible(schema, known, name));
  };
  const required = parameters.filter((one) => one.in === 'query' && one.required);
  const values = required.map(({ name, schema }) => [name, asText(plausible(schema, known, name))]);
  const search = new URLSearchParams({ ...Object.fromEntries(values), ...query }).toString();
  const sent = given ?? (body === undefined ? undefined : plausible(body, known));
  const address = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(segmentOf(name)));
  return {
    method,
    path: `${address}?${search}`,
    headers: sent === undefined ? {} : { 'content-type': 'application/json' },
    body: sent === undefined ? undefined : Buffer.from(JSON.stringify(sent)),
  };
}

/** Creates requests of plausible values with NUL in one text: in each parameter and each text of the body in turn. */
export function requestsWithNul(operation: Operation, known: KnownValues): FuzzedRequest[] {
  const { parameters, body } = operation;
  const ofParameters = parameters.flatMap(({ in: part, name, schema }) => {
    if (part !== 'path' && part !== 'query') return [];
    return textsWithNul(schema, known, name).map((text): Parts => ({ [part]: { [name]: text } }));
  });
  const ofBody = body === undefined ? [] : valuesWithNul(body, known).map((one): Parts => ({ body: one }));
  return [...ofParameters, ...ofBody].map((parts) => plausibleRequest(operation, known, parts));
}
