import { describeSchemaFaults, type SchemaRule } from '@odograph/contracts/schema-faults';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { isRecord } from './source-format.ts';

/** The keywords that describe the parts of a schema. */
interface SchemaParts {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly items?: TSchema;
  readonly maxItems?: number;
}

type Report = (fault: SchemaRule) => void;

/** Copies the parts of a value that its schema allows, and reports each that it does not; undefined when none is left. */
export type ValidParts = (value: unknown, field: string, report: Report) => unknown;

/**
 * Compiles a schema of objects, arrays and single values. Unknown members are left out without a report. An object
 * without a valid value for each required member is left out as a whole. NULs at the end of a text are padding.
 */
export function compileValidParts(schema: TSchema): ValidParts {
  const { properties, required = [], items, maxItems = 0 }: SchemaParts = schema;
  if (properties) return compileMembers(properties, required);
  return items ? compileItems(items, maxItems) : compileValue(schema);
}

function compileMembers(properties: Readonly<Record<string, TSchema>>, required: readonly string[]): ValidParts {
  const parts = Object.entries(properties).map(([name, part]) => ({ name, copy: compileValidParts(part) }));
  return (value, field, report) => {
    if (!isRecord(value)) {
      report({ field, rule: 'must be an object' });
      return undefined;
    }
    const missing = required.filter((name) => value[name] === undefined);
    for (const name of missing) report({ field: pathOf(field, name), rule: 'is missing' });
    const present = parts.filter(({ name }) => value[name] !== undefined);
    const copies = present.map(({ name, copy }) => [name, copy(value[name], pathOf(field, name), report)] as const);
    const members = Object.fromEntries(copies.filter(([, copied]) => copied !== undefined));
    const isComplete = required.every((name) => name in members);
    return isComplete && Object.keys(members).length > 0 ? members : undefined;
  };
}

function compileItems(items: TSchema, maxItems: number): ValidParts {
  const copy = compileValidParts(items);
  return (value, field, report) => {
    if (!Array.isArray(value)) {
      report({ field, rule: 'must be an array' });
      return undefined;
    }
    if (value.length > maxItems) report({ field, rule: `must have at most ${maxItems} elements` });
    const valid = value.slice(0, maxItems).map((item: unknown, index) => copy(item, `${field}.${index}`, report));
    const left = valid.filter((item) => item !== undefined);
    return left.length > 0 ? left : undefined;
  };
}

function compileValue(schema: TSchema): ValidParts {
  const validator = Compile(schema);
  return (value, field, report) => {
    if (validator.Check(value)) return value;
    const text = typeof value === 'string' ? withoutPadding(value) : value;
    if (validator.Check(text)) return text;
    report({ field, rule: describeSchemaFaults(validator.Errors(text)).rule });
    return undefined;
  };
}

const pathOf = (field: string, name: string): string => (field === '' ? name : `${field}.${name}`);

/** A regular expression would take quadratic time for NULs inside a text. */
function withoutPadding(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 0) end -= 1;
  return text.slice(0, end);
}
