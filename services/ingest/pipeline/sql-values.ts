import { type RawBuilder, sql } from 'kysely';

function element(value: number | boolean | string | undefined): string {
  if (value === undefined) return 'NULL';
  if (typeof value !== 'string') return String(value);
  return `"${value.replace(/[\\"]/g, '\\$&')}"`;
}

/**
 * Formats a column of values as an array literal (PostgreSQL, "Array Value Input"). A column of undefined values only is
 * the empty array, which `unnest` pads with nulls.
 */
export function arrayLiteral(values: readonly (number | boolean | string | undefined)[]): string {
  if (values.every((value) => value === undefined)) return '{}';
  return `{${values.map(element).join(',')}}`;
}

/** Builds an array of timestamptz in the given order. @param microseconds since the epoch */
export function instantArray(microseconds: readonly number[]): RawBuilder<unknown> {
  return sql`array(select timestamptz 'epoch' + us * interval '1 microsecond'
    from unnest(${arrayLiteral(microseconds)}::bigint[]) with ordinality as given (us, n) order by n)`;
}

/** Builds a timestamptz. @param microseconds since the epoch */
export const instant = (microseconds: number): RawBuilder<unknown> =>
  sql`timestamptz 'epoch' + ${microseconds}::bigint * interval '1 microsecond'`;
