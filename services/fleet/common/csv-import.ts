import { Failure } from '@odograph/contracts/failures';
import { describeSchemaFaults } from '@odograph/contracts/schema-faults';
import type { Database } from '@odograph/database/database';
import { text } from '@odograph/http/schemas';
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import Type, { type Static } from 'typebox';

/** Bounds the transaction that writes a file: if it links devices, ingest waits for it. */
export const maxLines = 1000;
const maxCharacters = 900_000;

/** Body members of an import. */
export const importBody = (example: string) => ({
  csv: text(1, maxCharacters, { examples: [example] }),
  check: Type.Boolean({ default: false, description: 'only finds the faults of all lines' }),
});

const CsvFault = Type.Object(
  {
    line: Type.Integer({ minimum: 1, description: 'counted from 1, with the header', examples: [2] }),
    column: Type.String({ description: 'empty for the whole line', examples: ['model'] }),
    message: Type.String({ examples: ['must not be empty'] }),
  },
  { title: 'CsvFault' },
);
type CsvFault = Static<typeof CsvFault>;

/** Answer members of an import that describe its file. */
export const importOutcome = {
  lines: Type.Integer({ minimum: 0, description: 'lines in the file after the header', examples: [2] }),
  faults: Type.Array(CsvFault, { description: 'at most one per line; if there is any, nothing is written' }),
};

type Line<Value> = readonly [line: number, value: Value];

/** The fault of a line without its number. */
type LineFault = Omit<CsvFault, 'line'>;

/** A compiled schema of lines. */
interface LineSchema<Value> {
  Check(line: unknown): line is Value;
  Errors(line: unknown): Parameters<typeof describeSchemaFaults>[0];
}

/** Checks a line against its schema. @returns the line, or the fault of its first invalid column */
export function checkLine<Value>(schema: LineSchema<Value>, line: unknown): { readonly value: Value } | LineFault {
  if (schema.Check(line)) return { value: line };
  const { field, rule } = describeSchemaFaults(schema.Errors(line));
  const [column = ''] = field.split('.');
  return { column, message: rule };
}

/** The columns of a file, and the resource that its lines describe. */
interface Columns<Value> {
  readonly names: readonly string[];
  readonly required: readonly string[];
  /** Reads the cells of a line that are not empty. */
  readonly read: (cells: Readonly<Record<string, string>>) => { readonly value: Value } | LineFault;
}

interface Import<Value, Created> {
  readonly columns: Columns<Value>;
  /** Creates the resource of a line. @throws Failure for a line at fault; the transaction must stay usable */
  readonly create: (trx: Database, value: Value) => Promise<Created>;
  /** Records a created resource in the audit; called only if no line is at fault. */
  readonly record: (trx: Database, created: Created) => Promise<void>;
  /** Runs the transaction that writes the file. */
  readonly transact: <T>(values: readonly Value[], write: (trx: Database) => Promise<T>) => Promise<T>;
}

/** Ends a transaction without writing anything. */
class Discarded extends Error {}

/** Converts the failure to create a resource into the fault of its line. @throws any other error */
function toFault(error: unknown): LineFault {
  if (!(error instanceof Failure)) throw error;
  const { field = '' } = error.details;
  const { message } = error;
  return {
    column: field,
    message: field && message.startsWith(`${field} `) ? message.slice(field.length + 1) : message,
  };
}

/** Creates the resources of lines in a transaction. @returns them, and the faults of the lines without one */
async function createAll<Value, Created>(
  trx: Database,
  { create }: Import<Value, Created>,
  lines: readonly Line<Value>[],
) {
  const created: Created[] = [];
  const faults: CsvFault[] = [];
  for (const [line, value] of lines) {
    try {
      created.push(await create(trx, value));
    } catch (error) {
      faults.push({ line, ...toFault(error) });
    }
  }
  return { created, faults };
}

/**
 * Creates a resource for each line of a CSV file, all of them or none.
 * @param check only finds the faults of all lines, in a transaction that is rolled back
 */
export async function importFile<Value, Created>(
  { csv, check }: { readonly csv: string; readonly check: boolean },
  options: Import<Value, Created>,
): Promise<{ lines: number; faults: CsvFault[]; created: Created[] }> {
  const { lines, faults: unreadable } = readFile(csv, options.columns);
  const count = new Set([...lines.map(([line]) => line), ...unreadable.map(({ line }) => line)]).size;
  const inOrder = (faults: readonly CsvFault[]) =>
    [...unreadable, ...faults].sort((one, other) => one.line - other.line);
  let faults: CsvFault[] = [];
  const write = async (trx: Database): Promise<Created[]> => {
    const written = await createAll(trx, options, lines);
    ({ faults } = written);
    if (check || unreadable.length + faults.length > 0) throw new Discarded();
    for (const one of written.created) await options.record(trx, one);
    return written.created;
  };
  const values = lines.map(([, value]) => value);
  const created = await options.transact(values, write).catch((error: unknown) => {
    if (error instanceof Discarded) return [];
    throw error;
  });
  return { lines: count, faults: inOrder(faults), created };
}

const wholeLine = (line: number, message: string): CsvFault => ({ line, column: '', message });

/** Finds the separator of the header: spreadsheets in many languages write semicolons. */
function findDelimiter(csv: string): string {
  const [header = ''] = csv.split(/\r?\n/, 1);
  const counts = [',', ';', '\t'].map((one) => [one, header.split(one).length] as const);
  return counts.reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

function checkHeader(header: readonly string[], { names, required }: Columns<unknown>): CsvFault[] {
  const unknown = header.filter((name) => !names.includes(name));
  const missing = required.filter((name) => !header.includes(name));
  const twice = header.filter((name, index) => header.indexOf(name) !== index);
  return [
    ...unknown.map((column) => ({ line: 1, column, message: `is not a column: use ${names.join(', ')}` })),
    ...missing.map((column) => ({ line: 1, column, message: 'is missing in the first line' })),
    ...twice.map((column) => ({ line: 1, column, message: 'must not be there twice' })),
  ];
}

interface Row {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

/** Finds the faults that prevent reading the lines of a file. */
function checkRows([header, ...rest]: readonly Row[], columns: Columns<unknown>): CsvFault[] {
  if (!header) return [wholeLine(1, 'the file is empty')];
  const faults = checkHeader(header.record, columns);
  if (faults.length > 0) return faults;
  if (rest.length === 0) return [wholeLine(1, 'no line follows the header')];
  if (rest.length <= maxLines) return [];
  return [wholeLine(1, `the file has ${rest.length} lines after the header; at most ${maxLines} are allowed`)];
}

/** Reads the rows of a CSV file. @throws CsvError */
function parseRows(csv: string): readonly Row[] {
  const options = { bom: true, trim: true, relax_column_count: true, skip_empty_lines: true, info: true } as const;
  return parse(csv, { ...options, delimiter: findDelimiter(csv) }) as unknown as readonly Row[];
}

/** Reads a CSV file: a header with names of columns, in any order, and a line for each resource. */
function readFile<Value>(csv: string, columns: Columns<Value>): { lines: Line<Value>[]; faults: CsvFault[] } {
  try {
    const rows = parseRows(csv);
    const lines: Line<Value>[] = [];
    const faults = checkRows(rows, columns);
    if (faults.length > 0) return { lines, faults };
    const [{ record: header } = { record: [] }, ...rest] = rows;
    for (const { record: cells, info } of rest) {
      const given = header.flatMap((name, index) => (cells[index] ? [[name, cells[index]]] : []));
      const tooMany = { column: '', message: `has ${cells.length} values for ${header.length} columns` };
      const read = cells.length > header.length ? tooMany : columns.read(Object.fromEntries(given));
      if ('value' in read) lines.push([info.lines, read.value]);
      else faults.push({ line: info.lines, ...read });
    }
    return { lines, faults };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = Number(error['lines'] ?? 1);
    const isQuote = error.code.includes('QUOTE');
    return { lines: [], faults: [wholeLine(line, isQuote ? 'has a misplaced quote' : 'is not valid CSV')] };
  }
}
