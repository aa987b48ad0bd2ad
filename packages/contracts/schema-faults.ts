import type { TSchema } from 'typebox';
import Value from 'typebox/value';
import { maxNameLength, nearest } from './nearest.ts';
import { ruleOfPattern } from './text-patterns.ts';

/** One error of a schema validator, as Ajv and TypeBox report it. */
export interface SchemaFault {
  readonly keyword: string;
  /** JSON Pointer of the invalid value. */
  readonly instancePath: string;
  /** Path of the keyword in the schema. */
  readonly schemaPath: string;
  readonly params: object;
  readonly message?: string;
}

/** A field and the rule that it breaks. */
export interface SchemaRule {
  readonly field: string;
  readonly rule: string;
}

const typeNames: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
};

/** The rule that an unknown field breaks, with the known one that was probably meant. */
export function ruleOfUnknown(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return `is not a known field${meant === undefined ? '' : `; did you mean ${meant}?`}`;
}

/**
 * Describes the first error of a validation for people: the field, and the rule that its value breaks, without the value.
 * @returns `field`: names separated by dots, empty for the whole value; `rule`: "must be at most 90", "is missing"
 */
export function describeSchemaFaults(all: readonly SchemaFault[]): SchemaRule {
  const faults = ofMeantAlternative(all);
  const [first] = faults;
  if (first === undefined) return { field: '', rule: 'is malformed' };
  const path = first.instancePath.split('/').slice(1).map(unescapePointer);
  const missing = parameter(first, 'missingProperty') ?? parameter(first, 'requiredProperties');
  if (first.keyword === 'required') path.push(String(Array.isArray(missing) ? missing[0] : missing));
  const unknown = parameter(first, 'additionalProperty');
  if (typeof unknown === 'string' && unknown.length <= maxNameLength) {
    return { field: [...path, unknown].join('.'), rule: 'is not a known field' };
  }
  const union = faults.findIndex(({ keyword }) => keyword === 'anyOf');
  if (faults[union]?.instancePath !== first.instancePath) return { field: path.join('.'), rule: ruleOf(first) };
  const alternatives = faults.slice(0, union).filter(({ instancePath }) => instancePath === first.instancePath);
  return { field: path.join('.'), rule: ruleOfUnion(alternatives) };
}

/**
 * Leaves out the faults of alternatives that the value does not name, in a union of objects with a member such as `type`: a
 * malformed Polygon is not described as a Point.
 */
function ofMeantAlternative(faults: readonly SchemaFault[]): readonly SchemaFault[] {
  const union = faults.findIndex(({ keyword }) => keyword === 'anyOf');
  const path = `${faults[union]?.instancePath ?? ''}/`;
  const ofUnion = faults.slice(0, Math.max(union, 0));
  const names = ofUnion.filter(
    ({ keyword, instancePath }) =>
      /^(enum|const)$/.test(keyword) && instancePath.startsWith(path) && !instancePath.slice(path.length).includes('/'),
  );
  const alternativeOf = ({ schemaPath }: SchemaFault) => /^.*?\/anyOf\/\d+(?=\/)/.exec(schemaPath)?.[0];
  const others = new Set(names.map(alternativeOf));
  const meant = ofUnion.filter((fault) => !others.has(alternativeOf(fault)));
  const [first] = names;
  if (first === undefined || meant.length > 0) return first === undefined ? faults : meant;
  // No alternative has this name.
  return [{ ...first, keyword: 'enum', params: { allowedValues: names.flatMap(allowedValues) } }];
}

/** The keywords of a JSON Schema that say what its parts are. */
interface SchemaParts {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly items?: TSchema;
}

/** Lists every fault of a value against a JSON Schema of objects, arrays and single values, each with its field and rule. */
export function listSchemaFaults(schema: TSchema, value: unknown, path: readonly string[] = []): SchemaRule[] {
  const { type, properties = {}, required = [], additionalProperties, items }: SchemaParts = schema;
  const at = (name: string) => [...path, name];
  const fault = (name: string, rule: string): SchemaRule => ({ field: at(name).join('.'), rule });
  if (type === 'array' && items && Array.isArray(value)) {
    const inner = value.flatMap((item, index) => listSchemaFaults(items, item, at(String(index))));
    return [...describe({ ...schema, items: {} }, value, path), ...inner];
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (type !== 'object' || !isObject) return describe(schema, value, path);
  const members = Object.entries(value).flatMap(([name, member]): SchemaRule[] => {
    const part = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (part) return listSchemaFaults(part, member, at(name));
    return additionalProperties === false ? [fault(name, ruleOfUnknown(name, Object.keys(properties)))] : [];
  });
  const missing = required.filter((name) => !Object.hasOwn(value, name));
  return [...members, ...missing.map((name) => fault(name, 'is missing'))];
}

function describe(schema: TSchema, value: unknown, path: readonly string[]): SchemaRule[] {
  const errors = Value.Errors(schema, value);
  return errors.length === 0 ? [] : [{ field: path.join('.'), rule: describeSchemaFaults(errors).rule }];
}

const unescapePointer = (name: string): string => name.replaceAll('~1', '/').replaceAll('~0', '~');

function parameter(fault: SchemaFault, name: string): unknown {
  return Object.entries(fault.params).find(([key]) => key === name)?.[1];
}

/** The rule of a value that fits none of several alternatives. */
function ruleOfUnion(alternatives: readonly SchemaFault[]): string {
  const values = alternatives.flatMap(allowedValues);
  if (values.length > 0) return oneOf(values);
  // The value has the type of the alternative that breaks another rule than the type.
  const closest = alternatives.find(({ keyword }) => keyword !== 'type');
  return closest ? ruleOf(closest) : `must be ${alternatives.map(typeOf).join(' or ')}`;
}

function allowedValues(fault: SchemaFault): unknown[] {
  if (fault.keyword === 'const') return [parameter(fault, 'allowedValue')];
  const values = parameter(fault, 'allowedValues');
  return fault.keyword === 'enum' && Array.isArray(values) ? values : [];
}

function oneOf(values: readonly unknown[]): string {
  const words = values.map((value) => (value === '' ? '""' : String(value)));
  return words.length === 1 ? `must be ${words[0]}` : `must be one of ${words.join(', ')}`;
}

function typeOf(fault: SchemaFault): string {
  const types = String(parameter(fault, 'type')).split(',');
  return types.map((type) => typeNames[type] ?? type).join(' or ');
}

function ruleOf(fault: SchemaFault): string {
  const limit = Number(parameter(fault, 'limit'));
  const count = (unit: string) => `${limit} ${unit}${limit === 1 ? '' : 's'}`;
  switch (fault.keyword) {
    case 'required':
      return 'is missing';
    case 'type':
      return `must be ${typeOf(fault)}`;
    case 'const':
    case 'enum':
      return oneOf(allowedValues(fault));
    case 'minimum':
      return `must be at least ${limit}`;
    case 'maximum':
      return `must be at most ${limit}`;
    case 'exclusiveMinimum':
      return `must be greater than ${limit}`;
    case 'exclusiveMaximum':
      return `must be less than ${limit}`;
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${count('character')}`;
    case 'maxLength':
      return `must have at most ${count('character')}`;
    case 'minItems':
      return limit === 1 ? 'must not be empty' : `must have at least ${count('element')}`;
    case 'maxItems':
      return `must have at most ${count('element')}`;
    case 'uniqueItems':
      return 'must not hold an element twice';
    case 'additionalProperties':
      return 'holds an unknown field';
    case 'boolean':
      return 'is not a known field';
    case 'pattern':
      return ruleOfPattern(String(parameter(fault, 'pattern')));
    default:
      return fault.message ?? 'is malformed';
  }
}
