import { maximumReadingBytes } from '@odograph/contracts/telemetry';
import type { Database } from '@odograph/database/database';
import { CopyData } from '@odograph/database/session';
import { CompiledQuery, type RawBuilder, sql } from 'kysely';

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

const arrayTypes = { integer: { oid: 23, bytes: 4 }, timestamptz: { oid: 1184, bytes: 8 } } as const;
const arrayHeaderBytes = 20;

/**
 * Encodes a column as an array in PostgreSQL's binary format, which is far cheaper to write and parse than a literal.
 * @param values integers, or microseconds since the Unix epoch
 */
function binaryArray(type: keyof typeof arrayTypes, values: readonly number[]): Buffer {
  const { oid, bytes } = arrayTypes[type];
  const array = Buffer.allocUnsafeSlow(arrayHeaderBytes + values.length * (lengthBytes + bytes));
  const view = new DataView(array.buffer);
  const [dimensions, hasNull, lowerBound] = [1, 0, 1];
  for (const [index, value] of [dimensions, hasNull, oid, values.length, lowerBound].entries()) {
    view.setInt32(index * 4, value);
  }
  let at = arrayHeaderBytes;
  for (const value of values) {
    view.setInt32(at, bytes);
    if (type === 'integer') view.setInt32(at + lengthBytes, value);
    else setBigint(view, at + lengthBytes, value - postgresEpochMicroseconds);
    at += lengthBytes + bytes;
  }
  return array;
}

/** Builds an array of integer. */
export const integerArray = (values: readonly number[]): RawBuilder<unknown> =>
  sql`${binaryArray('integer', values)}::integer[]`;

/** Builds an array of timestamptz. @param microseconds since the epoch */
export const instantArray = (microseconds: readonly number[]): RawBuilder<unknown> =>
  sql`${binaryArray('timestamptz', microseconds)}::timestamptz[]`;

/** Builds a timestamptz. @param microseconds since the epoch */
export const instant = (microseconds: number): RawBuilder<unknown> =>
  sql`timestamptz 'epoch' + ${microseconds}::bigint * interval '1 microsecond'`;

/** Signature, flags and extension area of PostgreSQL's binary COPY format (PostgreSQL, COPY, "File Formats"). */
const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
/** Microseconds from the UNIX epoch to PostgreSQL's, the year 2000. */
const postgresEpochMicroseconds = 946_684_800_000_000;
const jsonbVersion = 1;
const twoTo32 = 2 ** 32;
/** Bytes of the length that precedes a field. */
const lengthBytes = 4;
/** Maximum bytes of UTF-8 for a UTF-16 code unit. */
const maxBytesPerCodeUnit = 3;
/** Maximum bytes of a value of fixed length. */
const maxFixedBytes = 8;

/** Writes a safe integer as int64; several times faster than via BigInt. */
function setBigint(view: DataView, at: number, value: number): void {
  const high = Math.floor(value / twoTo32);
  view.setInt32(at, high);
  view.setUint32(at + 4, value - high * twoTo32);
}

/** Accepts rows field by field, in column order. An undefined value is null. */
export interface RowWriter {
  /** Begins a row. */
  row(fields: number): void;
  boolean(value: boolean | undefined): void;
  smallint(value: number | undefined): void;
  integer(value: number | undefined): void;
  /** @param value a safe integer */
  bigint(value: number | undefined): void;
  double(value: number | undefined): void;
  text(value: string | undefined): void;
  jsonb(value: object | undefined): void;
  /** @param microseconds since the Unix epoch; exact for the years 1747 to 2255 */
  timestamptz(microseconds: number | undefined): void;
}

/** Writes rows as one array for each column, for `unnest`. */
export class ColumnArrays implements RowWriter {
  readonly #columns: (number | boolean | string | undefined)[][] = [];
  #next = 0;

  row(fields: number): void {
    this.#next = 0;
    while (this.#columns.length < fields) this.#columns.push([]);
  }

  readonly #add = (value: number | boolean | string | undefined): void => {
    this.#columns[this.#next]?.push(value);
    this.#next += 1;
  };
  readonly boolean = this.#add;
  readonly smallint = this.#add;
  readonly integer = this.#add;
  readonly bigint = this.#add;
  readonly double = this.#add;
  readonly text = this.#add;
  /** Adds microseconds since the Unix epoch; the array is one of bigint. */
  readonly timestamptz = this.#add;

  jsonb(value: object | undefined): void {
    this.#add(value && JSON.stringify(value));
  }

  /** Returns the columns as array literals. */
  get arrays(): string[] {
    return this.#columns.map(arrayLiteral);
  }
}

/** Writes rows in PostgreSQL's binary COPY format. */
export class BinaryRows implements RowWriter {
  #bytes: Buffer;
  /** Shares the memory of the buffer; writes numbers several times faster than Buffer's methods. */
  #view: DataView;
  #length: number;
  /** Bytes reserved for the fixed-length fields of the row. */
  #reserved = 0;

  /** @param bytes initial capacity; the buffer grows */
  constructor(bytes = 64 * 1024) {
    this.#bytes = Buffer.allocUnsafeSlow(bytes + header.length);
    this.#view = new DataView(this.#bytes.buffer);
    this.#length = header.copy(this.#bytes);
  }

  row(fields: number): void {
    this.#reserved = (fields + 1) * (lengthBytes + maxFixedBytes);
    this.#reserve(0);
    this.#view.setInt16(this.#length, fields);
    this.#length += 2;
  }

  boolean(value: boolean | undefined): void {
    if (value === undefined) this.#null();
    else this.#view.setInt8(this.#field(1), value ? 1 : 0);
  }

  smallint(value: number | undefined): void {
    if (value === undefined) this.#null();
    else this.#view.setInt16(this.#field(2), value);
  }

  integer(value: number | undefined): void {
    if (value === undefined) this.#null();
    else this.#view.setInt32(this.#field(4), value);
  }

  bigint(value: number | undefined): void {
    if (value === undefined) this.#null();
    else setBigint(this.#view, this.#field(8), value);
  }

  double(value: number | undefined): void {
    if (value === undefined) this.#null();
    else this.#view.setFloat64(this.#field(8), value);
  }

  timestamptz(microseconds: number | undefined): void {
    this.bigint(microseconds === undefined ? undefined : microseconds - postgresEpochMicroseconds);
  }

  text(value: string | undefined): void {
    if (value === undefined) this.#null();
    else this.#text(value);
  }

  jsonb(value: object | undefined): void {
    if (value === undefined) this.#null();
    else this.#text(JSON.stringify(value), jsonbVersion);
  }

  /** Finishes the rows and returns the data for COPY; nothing can be added afterwards. */
  end(): Buffer {
    this.#reserve(2);
    this.#view.setInt16(this.#length, -1);
    return this.#bytes.subarray(0, this.#length + 2);
  }

  #null(): void {
    this.#view.setInt32(this.#length, -1);
    this.#length += lengthBytes;
  }

  /** Begins a field of fixed length. @returns the offset of its value */
  #field(bytes: number): number {
    const at = this.#length + lengthBytes;
    this.#view.setInt32(this.#length, bytes);
    this.#length = at + bytes;
    return at;
  }

  /** @param version a byte that precedes the text */
  #text(value: string, version?: number): void {
    const start = this.#length;
    this.#reserve(lengthBytes + 1 + value.length * maxBytesPerCodeUnit);
    let end = start + lengthBytes;
    if (version !== undefined) {
      this.#view.setInt8(end, version);
      end += 1;
    }
    end += this.#bytes.write(value, end);
    this.#view.setInt32(start, end - start - lengthBytes);
    this.#length = end;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes + this.#reserved <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#length + bytes + this.#reserved, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

/**
 * Adds rows to a table with COPY, all of them or none.
 * @param columns in the order of a row's fields
 * @throws DatabaseError
 */
export async function copyInto(
  db: Database,
  table: string,
  columns: readonly string[],
  rows: BinaryRows,
): Promise<void> {
  const statement = `copy ${table} (${columns.join(', ')}) from stdin (format binary)`;
  await db.executeQuery(CompiledQuery.raw(statement, [new CopyData(rows.end())]));
}

/**
 * Builds SQL that merges two lists: the elements of the older one that the newer one lacks, then the newer one. If both
 * together exceed the maximum size of a reading, the result is the newer list, as in mergeFields.
 * @param elementKey the member that identifies an element
 */
export const joinedLists = (older: string, newer: string, elementKey: string): string => `case
  when octet_length(${older}::text) + octet_length(${newer}::text) > ${maximumReadingBytes} then ${newer}
  else (select coalesce(jsonb_agg(element order by place), '[]')
    from jsonb_array_elements(${older}) with ordinality as older (element, place)
    where not exists (select from jsonb_array_elements(${newer}) as newer (element)
      where newer.element->>'${elementKey}' = older.element->>'${elementKey}')) || ${newer} end`;
