import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';

/** A row of a file of records, or why it cannot be read; `line` is the line on which it begins, from 1. */
export interface FileRow {
  line: number;
  record?: unknown;
  fault?: string;
}

export type Delimiter = ',' | ';' | '\t';
/** The names of the columns, undefined for one to be ignored; throws for a header that cannot be used. */
export type ReadHeader = (cells: readonly string[]) => (string | undefined)[];

/** Longer than any record, and short enough for a few hundred in memory. */
const maximumRowLength = 64 * 1024;
const tooLong = `is longer than ${maximumRowLength} characters`;

/** The lines of text, whichever way they end. Of one that is too long no more is kept than tells that it is. */
async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const text = rest + chunk;
    // A line feed may follow in the next chunk.
    const end = text.endsWith('\r') ? -1 : text.length;
    const lines = text.slice(0, end).split(/\r\n|\n|\r/);
    rest = (lines.pop() ?? '').slice(0, maximumRowLength + 1) + (end === -1 ? '\r' : '');
    for (const line of lines) yield line.slice(0, maximumRowLength + 1);
  }
  if (rest !== '') yield rest.replace(/\r$/, '');
}

function countQuotes(text: string): number {
  return text.split('"').length - 1;
}

/** How many of the lines make the first row: up to where every quote is closed. Undefined when more lines are needed. */
function firstRowLength(lines: readonly string[]): number | undefined {
  let quotes = 0;
  const index = lines.findIndex((line) => {
    quotes += countQuotes(line);
    return quotes % 2 === 0;
  });
  return index < 0 ? undefined : index + 1;
}

function describeCsvError(error: unknown): string {
  const code = error instanceof CsvError ? error.code : '';
  return code.includes('QUOTE')
    ? 'has a quote where none can be: write two for one, and quote the whole value'
    : 'cannot be read as CSV';
}

function parseCells(text: string, delimiter: Delimiter): Cells {
  if (text.length > maximumRowLength) return { fault: tooLong };
  try {
    const rows = parse(text, { delimiter, trim: true, record_delimiter: '\n', relax_column_count: true });
    const [cells] = rows;
    return cells && rows.length === 1 ? { cells } : { fault: describeCsvError(undefined) };
  } catch (error) {
    return { fault: describeCsvError(error) };
  }
}

type Cells = { cells: string[] } | { fault: string };
type CsvRow = { line: number } & Cells;

/** The first row of the lines and how many of them it takes; undefined when it goes on and may. */
function takeFirst(
  lines: readonly string[],
  delimiter: Delimiter,
  mustEnd: boolean,
): { row: Cells; taken: number } | undefined {
  const count = firstRowLength(lines);
  if (count === undefined) return mustEnd ? { row: { fault: 'has a quote that is not closed' }, taken: 1 } : undefined;
  const row = parseCells(lines.slice(0, count).join('\n'), delimiter);
  return { row, taken: 'cells' in row ? count : 1 };
}

/**
 * The rows of CSV lines. A fault costs one line: after it the next line begins a row, so that a stray quote does not
 * swallow what follows.
 */
async function* splitRows(lines: AsyncIterable<string>, delimiter: Delimiter): AsyncGenerator<CsvRow> {
  let waiting: string[] = [];
  let line = 1;
  let length = 0;

  function* settle(isEnd: boolean): Generator<CsvRow> {
    while (waiting.length > 0) {
      const first = takeFirst(waiting, delimiter, isEnd || length > maximumRowLength);
      if (first === undefined) return;
      if (waiting.slice(0, first.taken).join('').trim() !== '') yield { line, ...first.row };
      waiting = waiting.slice(first.taken);
      line += first.taken;
      length = waiting.reduce((sum, text) => sum + text.length, 0);
    }
  }

  for await (const text of lines) {
    const isInsideQuotes = waiting.length > 0 && !text.includes('"');
    waiting.push(text);
    length += text.length;
    if (!isInsideQuotes || length > maximumRowLength) yield* settle(false);
  }
  yield* settle(true);
}

/** The cells of a row by the names of their columns, the empty ones and those of ignored columns left out. */
function toRecord(columns: readonly (string | undefined)[], cells: readonly string[]): Record<string, string> {
  const given = cells.flatMap((cell, index) => {
    const name = columns[index];
    return name === undefined || cell === '' ? [] : [[name, cell] as const];
  });
  return Object.fromEntries(given);
}

/** The rows of CSV text below its header. Values may be quoted and span lines; empty lines are no rows. */
export async function* csvRows(
  chunks: AsyncIterable<string>,
  delimiter: Delimiter,
  readHeader: ReadHeader,
): AsyncGenerator<FileRow> {
  let columns: (string | undefined)[] | undefined;
  for await (const row of splitRows(linesOf(chunks), delimiter)) {
    const { line } = row;
    if ('fault' in row) {
      if (columns === undefined) throw new Error(`the header ${row.fault}`);
      yield row;
    } else if (columns === undefined) columns = readHeader(row.cells);
    else if (row.cells.length > columns.length) yield { line, fault: `has more than ${columns.length} values` };
    else if (row.cells.some((cell) => cell !== '')) yield { line, record: toRecord(columns, row.cells) };
  }
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
  for await (const text of linesOf(chunks)) {
    line += 1;
    if (text.trim() !== '') yield { line, ...parseLine(text) };
  }
}
