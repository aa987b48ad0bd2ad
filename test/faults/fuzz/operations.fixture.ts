import type { Schema } from './values.fixture.ts';

/** One operation of the OpenAPI description. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { name: string; in: string; required?: boolean; schema: Schema }[];
  readonly body: Schema | undefined;
  /** By status. */
  readonly answers: ReadonlyMap<string, Schema | undefined>;
}

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Replaces each `$ref` by its target. */
function inline(value: unknown, components: Json): unknown {
  if (Array.isArray(value)) return value.map((one) => inline(one, components));
  if (!isObject(value)) return value;
  const reference = value['$ref'];
  if (typeof reference === 'string') return inline(components[reference.split('/').at(-1) ?? ''], components);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inline(one, components)]));
}

/** Finds the schema of a body or an answer; undefined without one, or for other types than JSON. */
function contentSchema(part: unknown): Schema | undefined {
  const content = isObject(part) ? part['content'] : undefined;
  const json = isObject(content) ? content['application/json'] : undefined;
  return isObject(json) ? (json['schema'] as Schema) : undefined;
}

/** Lists every operation of an OpenAPI document. */
export function operationsOf(document: Json): Operation[] {
  const { schemas } = (document['components'] ?? {}) as { schemas?: Json };
  const paths = inline(document['paths'], schemas ?? {}) as Record<string, Record<string, Json>>;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      parameters: (operation['parameters'] ?? []) as Operation['parameters'],
      body: contentSchema(operation['requestBody']),
      answers: new Map(
        Object.entries((operation['responses'] ?? {}) as Json).map(([status, answer]) => [
          status,
          contentSchema(answer),
        ]),
      ),
    })),
  );
}
