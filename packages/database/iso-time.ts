import { type RawBuilder, sql } from 'kysely';

const forms = { milliseconds: 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"', microseconds: 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' } as const;

/** SQL that writes a time in ISO 8601, UTC; null for null. @param time a column, or SQL */
export function isoTime(
  time: string | RawBuilder<unknown>,
  precision: keyof typeof forms = 'milliseconds',
): RawBuilder<string> {
  const value = typeof time === 'string' ? sql.ref(time) : time;
  return sql<string>`to_char(${value} at time zone 'UTC', ${sql.lit(forms[precision])})`;
}
