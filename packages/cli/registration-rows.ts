import { CsvError, parse } from 'csv-parse';

/** A row of a file of records, or why it cannot be read; `line` is the line on which it begins, from 1. */
export interface FileRow {
  line: number;
  record?: unknown;
  fault?: string;
}

export type Delimiter = ',' | ';' | '\t';

/** Longer than any record, and short enough for a few hundred in memory. */
export const maximumRowLength = 64 * 1024;
const tooLong = `is longer than ${maximumRowLength} characters`;

function errorCode(error: unknown): string {
  return error instanceof CsvError ? error.code : '';
}

function describeCsvError(error: unknown): string {
  const code = errorCode(error);
  if (code === 'CSV_MAX_RECORD_SIZE') return `${tooLong}; is a quote missing?`;
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'a quote is not closed';
  return /QUOTE/.test(code) ? 'a quote stands where none can be: write two for one, and quote the whole value' : code;
}

/** The cells of a row by the names of their columns, the empty ones and those of ignored columns left out. */
function toRecord(columns: readonly (string | undefined)[], cells: readonly string[]): Record<string, string> {
  const given = cells.flatMap((cell, index) => {
    const name = columns[index];
    return name === undefined || cell === '' ? [] : [[name, cell] as const];
  });
  return Object.fromEntries(given);
}

/**
 * The rows of CSV text. Values may be quoted and span lines; empty lines are no rows.
 * @param readHeader turns the first row into the names of the columns, undefined for one to be ignored; throws for a
 *   header that cannot be used
 */
export async function* csvRows(
  chunks: AsyncIterable<string>,
  delimiter: Delimiter,
  readHeader: ReadHeader,
): AsyncGenerator<FileRow> {
  // The callbacks run in the order of the rows, whether they can be read or not.
  const waiting: ParsedRow[] = [];
  const parser = parse({
    delimiter,
    bom: true,
    trim: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_records_with_error: true,
    max_record_size: maximumRowLength,
    on_record: (cells: string[], { lines }) => {
      waiting.push({ cells, lastLine: lines });
      return null;
    },
    on_skip: (error) => {
      waiting.push({ fault: describeCsvError(error), lastLine: Number(error?.['lines'] ?? 0) });
    },
  });
  parser.resume();
  const interpret = createInterpreter(readHeader);
  const drain = () => waiting.splice(0).flatMap(interpret);

  for await (const chunk of chunks) {
    await new Promise<void>((resolve, reject) => {
      parser.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
    yield* drain();
  }
  const fault = await endOf(parser);
  if (fault !== undefined) waiting.push({ fault, lastLine: 0 });
  yield* drain();
}

type ReadHeader = (cells: readonly string[]) => (string | undefined)[];

/** What the parser found: the cells of a row or its fault, and the line it ends on, 0 for the end of the file. */
interface ParsedRow {
  cells?: readonly string[];
  fault?: string;
  lastLine: number;
}

/** Turns what the parser finds, in order, into rows: the first is the header, empty lines are none. */
function createInterpreter(readHeader: ReadHeader): (parsed: ParsedRow) => FileRow[] {
  let lastLine = 0;
  let columns: (string | undefined)[] | undefined;
  return (parsed) => {
    const line = lastLine + 1;
    lastLine = Math.max(parsed.lastLine, line);
    const { cells = [], fault } = parsed;
    if (fault !== undefined) {
      if (columns === undefined) throw new Error(`the header cannot be read: ${fault}`);
      return [{ line, fault }];
    }
    if (isEmpty(cells)) return [];
    if (columns === undefined) {
      columns = readHeader(cells);
      return [];
    }
    if (cells.length > columns.length) return [{ line, fault: `has more than ${columns.length} values` }];
    return [{ line, record: toRecord(columns, cells) }];
  };
}

function isEmpty(cells: readonly string[]): boolean {
  return cells.every((cell) => cell === '');
}

/** Ends the parser. @returns what is at fault with the last row, if anything */
async function endOf(parser: ReturnType<typeof parse>): Promise<string | undefined> {
  return new Promise((resolve) => {
    parser.once('end', () => resolve(undefined));
    parser.once('error', (error) => resolve(describeCsvError(error)));
    parser.end();
  });
}

/** Names that JSON gives a meaning in JavaScript; the platform refuses a whole request that holds one. */
const refusedNames = /"(__proto__|constructor)":/;

function parseLine(text: string): { record: unknown } | { fault: string } {
  if (text.length > maximumRowLength) return { fault: tooLong };
  try {
    const record: unknown = JSON.parse(text);
    return refusedNames.test(JSON.stringify(record)) ? { fault: 'holds a field that no record has' } : { record };
  } catch {
    return { fault: 'is not JSON' };
  }
}

/** The rows of newline-delimited JSON text; empty lines are no rows. */
export async function* ndjsonRows(chunks: AsyncIterable<string>): AsyncGenerator<FileRow> {
  let line = 0;
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    // Of a line that is too long no more is kept than tells that it is.
    rest = (lines.pop() ?? '').slice(0, maximumRowLength + 1);
    for (const text of lines) {
      line += 1;
      if (text.trim() !== '') yield { line, ...parseLine(text) };
    }
  }
  if (rest.trim() !== '') yield { line: line + 1, ...parseLine(rest) };
}
