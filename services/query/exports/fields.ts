import { invalidParameter } from '@odograph/contracts/failures';
import { quantityFields } from '@odograph/contracts/fields';
import { allCanValues } from '@odograph/database/can-values';
import { type RawBuilder, sql } from 'kysely';
import { formulaStart } from '../shared/csv.ts';
import { columnOf, numberPattern, parseKeyField } from '../shared/fields.ts';

/** A column of exported readings. */
export interface ExportField {
  readonly name: string;
  readonly type: 'number' | 'boolean' | 'text' | 'json';
  /** SQL of its value in `reading_in_units as reading`, null where it has none: text for `json`. */
  readonly value: RawBuilder<unknown>;
}

const ownColumn = (name: keyof typeof quantityFields): ExportField => ({
  name,
  type: quantityFields[name].isFlag ? 'boolean' : 'number',
  value: sql`${sql.ref(`reading.${columnOf(name)}`)}`,
});

/** The fields that need no search in lists; `can` and `sensors` are these lists as JSON. */
const namedFields: ReadonlyMap<string, ExportField> = new Map(
  [
    ...(Object.keys(quantityFields) as (keyof typeof quantityFields)[]).map(ownColumn),
    { name: 'device', type: 'text', value: sql`reading.device_id` } as const,
    { name: 'can', type: 'json', value: sql`(${sql.raw(allCanValues)})::text` } as const,
    { name: 'sensors', type: 'json', value: sql`reading.sensors::text` } as const,
  ].map((field) => [field.name, field]),
);

const usualFields: readonly ExportField[] = [...namedFields.values()].filter(
  ({ type }) => type === 'number' || type === 'boolean',
);

const maxFields = 100;

/** Parses names of fields, separated by commas; without any, all quantities. @throws Failure INVALID_PARAMETER */
export function parseExportFields(text: string | undefined): readonly ExportField[] {
  if (text === undefined) return usualFields;
  const names = [...new Set(text.split(','))];
  if (names.length > maxFields) throw invalidParameter('fields', `must be at most ${maxFields}`);
  return names.map((name) => namedFields.get(name) ?? { name, type: 'text', value: parseKeyField(name) });
}

/**
 * SQL of a text as a cell of CSV (RFC 4180). As `writeCell`, it puts an apostrophe before what a spreadsheet would execute
 * as a formula, but not before numbers.
 */
function textCell(value: RawBuilder<unknown>): RawBuilder<unknown> {
  const harmless = sql`case when raw.value ~ ${sql.lit(formulaStart.source)} and raw.value !~ ${sql.lit(numberPattern)}
    then '''' || raw.value else raw.value end`;
  return sql`(select case when cell.value ~ '[",\\r\\n]' then '"' || replace(cell.value, '"', '""') || '"' else cell.value end
    from (select ${harmless} as value from (select ${value} as value offset 0) as raw offset 0) as cell)`;
}

const booleanText = (value: RawBuilder<unknown>) =>
  sql`case when ${value} then 'true' when not ${value} then 'false' end`;

/** SQL of a line of CSV with the cells of these fields, without its end. */
export function cellsOf(fields: readonly ExportField[]): RawBuilder<string> {
  const cells = fields.map(({ type, value }) => {
    if (type === 'number') return value;
    return type === 'boolean' ? booleanText(value) : textCell(value);
  });
  return sql<string>`concat(${sql.join(cells, sql`, ',', `)})`;
}

/** SQL of the members of a JSON object with these fields, each with a comma in front. */
export function membersOf(fields: readonly ExportField[]): RawBuilder<string> {
  const members = fields.flatMap(({ name, type, value }) => [
    sql`${sql.lit(`,${JSON.stringify(name)}:`)}`,
    sql`coalesce(${type === 'text' ? sql`to_json(${value})` : value}::text, 'null')`,
  ]);
  return sql<string>`concat(${sql.join(members)})`;
}
