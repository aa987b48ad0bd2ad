import { invalidParameter } from '@odograph/contracts/failures';
import { writeCell } from '../csv.ts';
import { sortTypeOf, type TableKey } from './queries.ts';
import type { CsvColumn, SortColumn, TableVehicle } from './schemas.ts';

/** Writes the parameter `after` that continues behind a vehicle. */
export function writeKey({ value, id }: TableKey): string {
  return Buffer.from(JSON.stringify([value, id])).toString('base64url');
}

/** How the values of each type are written; each of these texts is one. */
const valueForms = {
  text: /^[^\0]*$/,
  float8: /^-?\d{1,300}(\.\d{1,300})?(e[+-]\d\d)?$/,
  // microseconds, up to the year 9999
  timestamptz: /^-?\d{1,18}$/,
} as const;

/** Reads the parameter `after`. @throws Failure INVALID_PARAMETER for a value that no answer with this sort contained */
export function readKey(text: string, column: SortColumn): TableKey {
  const failure = invalidParameter('after', 'must be taken from the Link of an answer with the same sort');
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    throw failure;
  }
  if (!Array.isArray(parts) || parts.length !== 2) throw failure;
  const [value, id]: unknown[] = parts;
  if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id > 2_147_483_647) throw failure;
  if (value === null) return { value, id };
  if (typeof value !== 'string' || !valueForms[sortTypeOf(column)].test(value)) throw failure;
  return { value, id };
}

function cellOf(vehicle: TableVehicle, column: CsvColumn): string | number | boolean | undefined {
  if (column === 'latitude' || column === 'longitude') return vehicle.location?.[column];
  if (column === 'flags') return vehicle.flags.join(' ');
  return vehicle[column];
}

/** Writes the table as CSV in UTF-8 with a byte order mark, without which spreadsheets assume another character set. */
export async function* writeCsv(
  parts: AsyncIterable<readonly TableVehicle[]>,
  columns: readonly CsvColumn[],
): AsyncGenerator<string> {
  yield `\uFEFF${columns.join(',')}\r\n`;
  for await (const part of parts) {
    yield part
      .map((vehicle) => `${columns.map((column) => writeCell(cellOf(vehicle, column))).join(',')}\r\n`)
      .join('');
  }
}
