import fc, { type Arbitrary } from 'fast-check';

/** The subset of JSON Schema that the interface's description uses. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly format?: string;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly examples?: readonly unknown[];
}

/** Strings that commonly break programs: SQL, paths, prototypes, control characters, lone surrogates. */
export const nastyStrings: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\udfff\ud800',
  '\u202eabc',
  '💥'.repeat(50),
  "'",
  "' or '1'='1",
  "'; drop table vehicle; --",
  '"; select pg_sleep(5); --',
  "\\'; truncate audit; --",
  '$1',
  '%s%n%x',
  '%00',
  '%',
  '_%',
  '{}',
  '[]',
  '[1,2',
  '(,)',
  'empty',
  'infinity',
  '-infinity',
  'NaN',
  'null',
  'undefined',
  'true',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '../../etc/passwd',
  '..',
  '<script>alert(1)</script>',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: not a template on purpose
  '${7*7}',
  '\r\nset-cookie: a=b',
  '\ufeff',
  '0',
  '-0',
  '-1',
  '1e400',
  '1e-400',
  '0x10',
  '١٢٣',
  '1.7976931348623157e309',
  '9007199254740993',
  '2147483648',
  '9223372036854775808',
  '1000000001',
  '9999999999',
  '00000000-0000-0000-0000-000000000000',
  '1970-01-01T00:00:00Z',
  '0000-01-01',
  '9999-12-31T23:59:59.999999Z',
  '+275760-09-13T00:00:00.000Z',
  '2024-02-30',
  '2025-01-01T00:00:00+99:99',
  'x'.repeat(257),
  'x'.repeat(5000),
];

const edgeNumbers: readonly number[] = [
  0,
  -0,
  1,
  -1,
  0.1,
  1e-7,
  59,
  1e10,
  1.7e9,
  1.7e12,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31),
  2 ** 32,
  2 ** 53,
  2 ** 53 + 2,
  2 ** 63,
  -(2 ** 63),
  1e21,
  1e300,
  5e-324,
  -1.5,
  253_402_300_799,
  253_402_300_800,
  8.64e15,
];

function deep(levels: number, leaf: unknown): unknown {
  let value = leaf;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

const nastyString = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...nastyStrings) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ maxLength: 300 }) },
);

/** Generates any JSON value, wrong for most fields. */
export const anyValue: Arbitrary<unknown> = fc.oneof(
  nastyString,
  fc.constantFrom(...edgeNumbers),
  fc.constantFrom(null, true, false, [], {}, [[]], [null], { __proto__: null }),
  fc.constant(JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}') as unknown),
  fc.oneof(fc.nat(300), fc.constant(2000)).map((levels) => deep(levels, 1)),
  fc.jsonValue({ maxDepth: 3 }),
  fc.nat(3000).map((length) => Array.from({ length }, (_, index) => index)),
);

const moment = fc
  .integer({ min: -86_400 * 40, max: 86_400 * 400 })
  .chain((seconds) =>
    fc.constantFrom<unknown>(
      new Date((1_763_712_000 + seconds) * 1000).toISOString(),
      1_763_712_000 + seconds,
      (1_763_712_000 + seconds) * 1000,
    ),
  );

function ofText({ minLength = 0, maxLength = 300 }: Schema): Arbitrary<unknown> {
  const edge = fc.constantFrom(minLength, maxLength, maxLength + 1, Math.max(0, minLength - 1));
  return fc.oneof(
    fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 30) }),
    edge.map((length) => 'x'.repeat(Math.min(length, 20_000))),
    nastyString,
    moment,
  );
}

function ofNumber({ minimum = -1000, maximum = 1e6 }: Schema): Arbitrary<unknown> {
  const edges = [minimum, maximum, minimum - 1, maximum + 1, (minimum + maximum) / 2];
  return fc.oneof(fc.constantFrom(...edges), fc.constantFrom(...edgeNumbers), fc.integer({ min: 0, max: 100 }), moment);
}

/** Parameters with one meaning in the whole interface, with values that exist. */
export type KnownValues = Readonly<Record<string, readonly unknown[]>>;

function ofObject(schema: Schema, known: KnownValues): Arbitrary<unknown> {
  const properties = Object.entries(schema.properties ?? {});
  const model = Object.fromEntries(properties.map(([name, property]) => [name, valuesFor(property, known, name)]));
  const whole = fc.record(model, { requiredKeys: schema.required?.filter((name) => name in model) ?? [] });
  const extra = fc.dictionary(fc.oneof(nastyString, fc.constantFrom('id', 'applicationId', 'userId')), anyValue, {
    maxKeys: 2,
  });
  return fc.oneof(
    { weight: 6, arbitrary: whole },
    { weight: 1, arbitrary: fc.record(model, { requiredKeys: [] }) },
    { weight: 1, arbitrary: fc.tuple(whole, extra).map(([some, more]) => ({ ...some, ...more })) },
  );
}

function ofType(schema: Schema, known: KnownValues): Arbitrary<unknown> {
  const [type] = Array.isArray(schema.type) ? (schema.type as readonly string[]) : [schema.type];
  if (type === 'string') return ofText(schema);
  if (type === 'number' || type === 'integer') return ofNumber(schema);
  if (type === 'boolean') return fc.constantFrom<unknown>(true, false, 'true', 'false', 1);
  if (type === 'object') return ofObject(schema, known);
  if (type === 'array') {
    return fc.array(valuesFor(schema.items ?? {}, known), { maxLength: Math.min((schema.maxItems ?? 5) + 1, 12) });
  }
  return anyValue;
}

/** Generates values for a schema: most are valid or nearly valid, some of another type. */
export function valuesFor(schema: Schema, known: KnownValues, name = ''): Arbitrary<unknown> {
  const fitting =
    schema.const !== undefined
      ? fc.constant(schema.const)
      : schema.enum !== undefined
        ? fc.constantFrom(...schema.enum)
        : schema.anyOf !== undefined
          ? fc.oneof(...schema.anyOf.map((one) => valuesFor(one, known)))
          : ofType(schema, known);
  const existing = Object.hasOwn(known, name) ? known[name] : undefined;
  return fc.oneof(
    { weight: 8, arbitrary: fitting },
    { weight: 2, arbitrary: anyValue },
    ...(existing === undefined ? [] : [{ weight: 12, arbitrary: fc.constantFrom(...existing) }]),
  );
}
