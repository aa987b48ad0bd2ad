import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { quantityFields, sensorFields } from '@odograph/contracts/fields';
import { type Microseconds, parseTimestamp, type Timestamp } from '@odograph/contracts/timestamps';
import { allCanValues } from '@odograph/database/can-values';
import { type RawBuilder, sql } from 'kysely';

// Positions are not series.
const { latitude: _latitude, longitude: _longitude, ...columns } = quantityFields;
export type ColumnField = keyof typeof columns;

/** The fields of readings that are columns, without the position. */
export const columnFields = Object.keys(columns) as readonly ColumnField[];

/** Returns the column of a field: max_energy for maxEnergy. */
export const columnOf = (field: keyof typeof quantityFields): string =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns the unit of a field, empty if it has none or is unknown. @param unitsByKey units of CAN data */
export function unitOf(field: string, unitsByKey: ReadonlyMap<string, string>): string {
  const [group, first = '', second = ''] = field.split('.');
  if (group === 'can') return unitsByKey.get(decode(first) ?? '') ?? '';
  if (group === 'sensors') return sensorFields[decode(second) ?? '']?.unit ?? '';
  return Object.hasOwn(columns, field) ? columns[field as ColumnField].unit : '';
}

/** A field of a reading: a column, a key of the CAN data, or a key of a sensor. */
export interface Field {
  readonly name: string;
  /** SQL of its value in `reading_in_units as reading`, as a number; null where it has none. */
  readonly value: RawBuilder<number | null>;
  /** Whether it is read from JSON, which costs much more than a column. */
  readonly isJson: boolean;
}

/** A number whose square fits into a double, so that PostgreSQL can average it: others than these are no quantity. */
export const numberPattern = '^\\s*[-+]?([0-9]{1,50}([.][0-9]{0,100})?|[.][0-9]{1,100})([eE][-+]?[0-9]{1,2})?\\s*$';

/** SQL of a text of readings as a number; null if it is none. */
const asNumber = (text: RawBuilder<unknown>) =>
  sql<
    number | null
  >`(select case when value ~ ${numberPattern} then value::float8 end from (select ${text} offset 0) as one (value))`;

/** Writes a part of a field's name, so that it contains neither the separator of parts nor of names. */
const encode = (part: string) => encodeURIComponent(part).replaceAll('.', '%2E');

/** Writes the name of a key of the CAN data. */
export const canField = (key: string): string => `can.${encode(key)}`;
/** Writes the name of a key of a sensor. */
export const sensorField = (sensor: string, key: string): string => `sensors.${encode(sensor)}.${encode(key)}`;

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/**
 * SQL of the text of a key of the CAN data or of a sensor.
 * @throws Failure INVALID_PARAMETER for a name that is no `can.KEY` or `sensors.NAME.KEY`
 */
export function parseKeyField(name: string): RawBuilder<string | null> {
  const [group, ...parts] = name.split('.').map(decode);
  const [first, second] = parts;
  const isText = parts.every((part) => part !== undefined && part !== '' && !part.includes('\0'));
  if (group === 'can' && parts.length === 1 && isText) {
    return sql`(select datum->>'value' from jsonb_array_elements(${sql.raw(allCanValues)}) as datum
      where datum->>'key' = ${first} limit 1)`;
  }
  if (group === 'sensors' && parts.length === 2 && isText) {
    return sql`(select datum->>'value' from jsonb_array_elements(reading.sensors) as sensor,
      jsonb_array_elements(sensor->'data') as datum where sensor->>'name' = ${first} and datum->>'key' = ${second} limit 1)`;
  }
  throw invalidParameter('fields', `has an unknown field: ${name.slice(0, 100)}`);
}

/** @throws Failure INVALID_PARAMETER for a name that no field has */
function parseField(name: string): Field {
  if (Object.hasOwn(columns, name)) {
    const field = name as ColumnField;
    const column = sql.ref(`reading.${columnOf(field)}`);
    return {
      name,
      value: columns[field].isFlag ? sql`${column}::integer::float8` : sql`${column}::float8`,
      isJson: false,
    };
  }
  return { name, value: asNumber(parseKeyField(name)), isJson: true };
}

const maxFields = 8;

/** Parses names of fields, separated by commas. @throws Failure INVALID_PARAMETER */
export function parseFields(text: string): Field[] {
  const names = [...new Set(text.split(','))];
  if (names.length > maxFields) throw invalidParameter('fields', `must be at most ${maxFields}`);
  return names.map(parseField);
}

/** Readings with `from <= time < until`. */
export interface SeriesInterval {
  readonly from: Microseconds;
  readonly until: Microseconds;
}

/**
 * Parses an interval.
 * @throws Failure INVALID_PARAMETER; INVALID_INTERVAL if it is empty or longer than `maxDays`
 */
export function parseInterval(query: { from: Timestamp; until: Timestamp }, maxDays: number): SeriesInterval {
  const [from, until] = [parseTimestamp('from', query.from), parseTimestamp('until', query.until)];
  if (until <= from) throw new Failure('INVALID_INTERVAL', undefined, { field: 'until' });
  if (until - from > BigInt(maxDays) * 86_400_000_000n) {
    throw new Failure('INVALID_INTERVAL', `until must lie at most ${maxDays} days after from`, { field: 'until' });
  }
  return { from, until };
}
