/** A JSON Schema, as TypeBox writes it. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly minimum?: number;
  readonly writeOnly?: boolean;
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>;
  readonly documentedAs?: JsonSchema;
}

/** Named schemas of a document, `components.schemas`. */
export type NamedSchemas = Map<string, JsonSchema>;

function mapValues(schemas: Readonly<Record<string, JsonSchema>>, map: (schema: JsonSchema) => JsonSchema) {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, map(schema)]));
}

/** The end of an interval has another example than its start: an empty interval is refused. */
function describeMember([name, schema]: [string, JsonSchema]): [string, JsonSchema] {
  const documented = asDocumented(schema);
  const isEnd = name === 'until' && String(exampleOf(documented)).startsWith('2026-03-02T08:30:00');
  return [name, isEnd ? { ...documented, examples: ['2026-03-02T17:00:00Z'] } : documented];
}

/** Replaces the keywords that the validator uses by those of `documentedAs`, in all parts of a schema. */
export function asDocumented({ documentedAs, ...schema }: JsonSchema): JsonSchema {
  const { properties, items, anyOf, patternProperties } = schema;
  const members = properties && Object.fromEntries(Object.entries(properties).map(describeMember));
  return {
    ...schema,
    ...(members && { properties: members }),
    ...(items && { items: asDocumented(items) }),
    ...(anyOf && { anyOf: anyOf.map(asDocumented) }),
    ...(patternProperties && { patternProperties: mapValues(patternProperties, asDocumented) }),
    ...documentedAs,
  };
}

/** Writes a schema for OpenAPI 3.1: each object with a title becomes a named schema, and a reference to it stays. */
export function nameSchemas(schema: JsonSchema, named: NamedSchemas): JsonSchema {
  const { title, patternProperties, ...rest } = schema;
  const inner = (one: JsonSchema) => nameSchemas(one, named);
  // TypeBox writes a map from text to values with a pattern that matches every name, which generators ignore.
  const [values] = Object.values(patternProperties ?? {});
  const written: JsonSchema = {
    ...rest,
    ...(rest.properties && { properties: mapValues(rest.properties, inner) }),
    ...(rest.items && { items: inner(rest.items) }),
    ...(rest.anyOf && { anyOf: rest.anyOf.map(inner) }),
    ...(values && { additionalProperties: inner(values) }),
  };
  if (title === undefined) return written;
  const known = named.get(title);
  if (known && JSON.stringify(known) !== JSON.stringify(written))
    throw new Error(`two schemas have the title ${title}`);
  named.set(title, written);
  return { $ref: `#/components/schemas/${title}` };
}

/** Composes an example of a schema from the examples, default values and words of its parts. */
export function exampleOf(schema: JsonSchema): unknown {
  if (schema.examples !== undefined) return schema.examples[0];
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf?.[0]) return exampleOf(schema.anyOf[0]);
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, property]) => [name, exampleOf(property)]),
      );
    case 'array':
      return schema.items ? [exampleOf(schema.items)] : [];
    case 'boolean':
      return false;
    case 'integer':
    case 'number':
      return schema.minimum ?? 0;
    case 'null':
      return null;
    default:
      return schema.format === 'date-time' ? '2026-03-02T08:30:00Z' : 'text';
  }
}

/** Tests whether a member of an object may be left out: it is known, and not required or has a default value. */
export function isOptional({ properties = {}, required = [] }: JsonSchema, name: string): boolean {
  const property = properties[name];
  return property !== undefined && (property.default !== undefined || !required.includes(name));
}

/** Removes members with a default value from the required ones of an object: a request may leave them out. */
export function withoutDefaults(schema: JsonSchema): JsonSchema {
  const { properties = {}, required = [], ...rest } = schema;
  const needed = required.filter((name) => properties[name]?.default === undefined);
  return { ...rest, properties, ...(needed.length > 0 && { required: needed }) };
}

/** Tests whether a query parameter can give a value of a schema: text, a number or a Boolean. */
export function isScalar({ type, anyOf, enum: words }: JsonSchema): boolean {
  if (anyOf !== undefined) return anyOf.every(isScalar);
  return words !== undefined || ['string', 'number', 'integer', 'boolean', 'null'].includes(String(type));
}
