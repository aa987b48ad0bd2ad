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

/** Builds an array of timestamptz in the given order. @param microseconds since the epoch */
export function instantArray(microseconds: readonly number[]): RawBuilder<unknown> {
  return sql`array(select timestamptz 'epoch' + us * interval '1 microsecond'
    from unnest(${arrayLiteral(microseconds)}::bigint[]) with ordinality as given (us, n) order by n)`;
}

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
const maxBytesOfUnit = 3;

/** Builds rows in PostgreSQL's binary COPY format, field by field in the order of the columns. */
export class BinaryRows {
  #bytes = Buffer.allocUnsafeSlow(64 * 1024);
  /** Shares the memory of the buffer; writes numbers several times faster than Buffer's methods. */
  #view = new DataView(this.#bytes.buffer);
  #length = header.copy(this.#bytes);

  /** Begins a row. */
  row(fields: number): void {
    this.#reserve(2);
    this.#view.setInt16(this.#length, fields);
    this.#length += 2;
  }

  null(): void {
    this.#reserve(lengthBytes);
    this.#view.setInt32(this.#length, -1);
    this.#length += lengthBytes;
  }

  boolean(value: boolean): void {
    const at = this.#field(1);
    this.#view.setInt8(at, value ? 1 : 0);
  }

  smallint(value: number): void {
    const at = this.#field(2);
    this.#view.setInt16(at, value);
  }

  integer(value: number): void {
    const at = this.#field(4);
    this.#view.setInt32(at, value);
  }

  /** @param value a safe integer */
  bigint(value: number): void {
    const at = this.#field(8);
    const high = Math.floor(value / twoTo32);
    this.#view.setInt32(at, high);
    this.#view.setUint32(at + 4, value - high * twoTo32);
  }

  double(value: number): void {
    const at = this.#field(8);
    this.#view.setFloat64(at, value);
  }

  /** @param microseconds since the UNIX epoch, of the years 1747 to 2255 exact */
  timestamptz(microseconds: number): void {
    this.bigint(microseconds - postgresEpochMicroseconds);
  }

  text(value: string): void {
    const start = this.#length;
    this.#reserve(lengthBytes + value.length * maxBytesOfUnit);
    const bytes = this.#bytes.write(value, start + lengthBytes);
    this.#view.setInt32(start, bytes);
    this.#length = start + lengthBytes + bytes;
  }

  /** @param json as text */
  jsonb(json: string): void {
    const start = this.#length;
    this.#reserve(lengthBytes + 1 + json.length * maxBytesOfUnit);
    this.#view.setInt8(start + lengthBytes, jsonbVersion);
    const bytes = 1 + this.#bytes.write(json, start + lengthBytes + 1);
    this.#view.setInt32(start, bytes);
    this.#length = start + lengthBytes + bytes;
  }

  /** Finishes the rows and returns the data for COPY; nothing can be added afterwards. */
  end(): Buffer {
    this.#reserve(2);
    this.#view.setInt16(this.#length, -1);
    return this.#bytes.subarray(0, this.#length + 2);
  }

  /** Begins a field and grows the buffer if needed. @returns the offset of its value */
  #field(bytes: number): number {
    this.#reserve(lengthBytes + bytes);
    const at = this.#length + lengthBytes;
    this.#view.setInt32(this.#length, bytes);
    this.#length = at + bytes;
    return at;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#length + bytes, this.#bytes.length * 2));
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
