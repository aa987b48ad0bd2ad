import { CsvError, parse } from 'csv-parse/sync';

/** Reads the bytes of a file from its start. */
export type OpenFile = () => AsyncIterable<Uint8Array>;

/** A file that cannot be read in the expected format. */
export class UnreadableFile extends Error {
  readonly reason: 'NOT_TEXT' | 'NO_TIME' | 'INVALID_HEADER' | 'NOT_XML';

  constructor(reason: UnreadableFile['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UnreadableFile';
    this.reason = reason;
  }
}

/** A row of a file of records, or the reason why it is unreadable; `line` is its first line, from 1. */
export interface FileRow {
  line: number;
  record?: unknown;
  fault?: string;
}

type Delimiter = ',' | ';' | '\t';
/** Maps the cells of the header to field names, undefined for ignored columns; throws for an invalid header. */
export type ReadHeader = (cells: readonly string[]) => (string | undefined)[];

/** Longer than any record, yet a few hundred fit in memory. */
const maximumRowLength = 64 * 1024;
const tooLong = `is longer than ${maximumRowLength} characters`;

/** Yields the lines of text with any line ending. Lines are cut one character beyond the maximum row length. */
async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const text = rest + chunk;
    // The line feed of a CR LF may be in the next chunk.
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

/** Returns how many lines the first row spans, up to its last closing quote; undefined when more lines are needed. */
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
  return code.includes('QUOTE') ? 'has a misplaced quote: double it and quote the whole value' : 'is not valid CSV';
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

/** Takes the first row off the lines; returns undefined when it is incomplete and more lines may follow. */
function takeFirst(
  lines: readonly string[],
  delimiter: Delimiter,
  isComplete: boolean,
): { row: Cells; taken: number } | undefined {
  const count = firstRowLength(lines);
  if (count === undefined) return isComplete ? { row: { fault: 'has an unclosed quote' }, taken: 1 } : undefined;
  const row = parseCells(lines.slice(0, count).join('\n'), delimiter);
  return { row, taken: 'cells' in row ? count : 1 };
}

/**
 * Splits CSV lines into rows. After a fault the next line starts a new row: csv-parse alone would lose every row that
 * follows an unclosed quote.
 */
async function* splitRows(lines: AsyncIterable<string>, delimiter: Delimiter): AsyncGenerator<CsvRow> {
  let pending: string[] = [];
  let line = 1;
  let length = 0;

  function* takeRows(isEnd: boolean): Generator<CsvRow> {
    while (pending.length > 0) {
      const first = takeFirst(pending, delimiter, isEnd || length > maximumRowLength);
      if (first === undefined) return;
      if (pending.slice(0, first.taken).join('').trim() !== '') yield { line, ...first.row };
      pending = pending.slice(first.taken);
      line += first.taken;
      length = pending.reduce((sum, text) => sum + text.length, 0);
    }
  }

  for await (const text of lines) {
    const isInsideQuotes = pending.length > 0 && !text.includes('"');
    pending.push(text);
    length += text.length;
    if (!isInsideQuotes || length > maximumRowLength) yield* takeRows(false);
  }
  yield* takeRows(true);
}

/** Names the cells of a row by their columns; empty cells and ignored columns are left out. */
function toRecord(columns: readonly (string | undefined)[], cells: readonly string[]): Record<string, string> {
  const given = cells.flatMap((cell, index) => {
    const name = columns[index];
    return name === undefined || cell === '' ? [] : [[name, cell] as const];
  });
  return Object.fromEntries(given);
}

/** Yields the rows of CSV text after its header. Quoted values may span lines; empty lines are skipped. */
async function* csvRows(
  chunks: AsyncIterable<string>,
  delimiter: Delimiter,
  readHeader: ReadHeader,
): AsyncGenerator<FileRow> {
  let columns: (string | undefined)[] | undefined;
  for await (const row of splitRows(linesOf(chunks), delimiter)) {
    const { line } = row;
    if ('fault' in row) {
      if (columns === undefined) throw new UnreadableFile('INVALID_HEADER', `the header ${row.fault}`);
      yield row;
    } else if (columns === undefined) columns = readHeader(row.cells);
    else if (row.cells.length > columns.length) yield { line, fault: `has more than ${columns.length} values` };
    else if (row.cells.some((cell) => cell !== '')) yield { line, record: toRecord(columns, row.cells) };
  }
}

/** Member names with a special meaning in JavaScript; the platform refuses requests that contain them. */
const refusedNames = /"(__proto__|constructor)":/;

function parseLine(text: string): { record: unknown } | { fault: string } {
  if (text.length > maximumRowLength) return { fault: tooLong };
  try {
    const record: unknown = JSON.parse(text);
    return refusedNames.test(JSON.stringify(record)) ? { fault: 'contains a forbidden field name' } : { record };
  } catch {
    return { fault: 'is not JSON' };
  }
}

/** Yields the rows of newline-delimited JSON; empty lines are skipped. */
async function* ndjsonRows(chunks: AsyncIterable<string>): AsyncGenerator<FileRow> {
  let line = 0;
  for await (const text of linesOf(chunks)) {
    line += 1;
    if (text.trim() !== '') yield { line, ...parseLine(text) };
  }
}

/**
 * Decodes bytes while reading them, without their byte order mark.
 * @throws UnreadableFile for bytes that are invalid in the encoding
 */
export async function* decodeText(chunks: AsyncIterable<Uint8Array>, encoding: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch (cause) {
      throw new UnreadableFile('NOT_TEXT', `is not ${encoding} text`, { cause });
    }
  };
  for await (const chunk of chunks) yield decode(chunk);
  yield decode();
}

/** Detects the delimiter as the most frequent one in the header outside quotes. */
function delimiterOf(header: string): Delimiter {
  const bare = header.replace(/"[^"]*"/g, '');
  const count = (delimiter: string) => bare.split(delimiter).length;
  return ([';', '\t'] as const).find((delimiter) => count(delimiter) > count(',')) ?? ',';
}

/** A file of records as found by inspectText. */
export interface TextFile {
  readonly open: OpenFile;
  readonly encoding: string;
  readonly format: 'ndjson' | Delimiter;
}

/**
 * Reads a file once to find whether it is NDJSON or CSV, and with which delimiter.
 * @throws UnreadableFile when it is not text in the encoding
 */
export async function inspectText(open: OpenFile, encoding: string): Promise<TextFile> {
  let start = '';
  for await (const text of decodeText(open(), encoding)) if (start.length < 65_536) start += text;
  const firstLine = start.trimStart().split(/\r?\n|\r/, 1)[0] ?? '';
  return { open, encoding, format: firstLine.startsWith('{') ? 'ndjson' : delimiterOf(firstLine) };
}

/** Yields the rows of the file in order; throws what `readHeader` throws. */
export function rowsOf({ open, encoding, format }: TextFile, readHeader: ReadHeader): AsyncGenerator<FileRow> {
  const text = decodeText(open(), encoding);
  return format === 'ndjson' ? ndjsonRows(text) : csvRows(text, format, readHeader);
}
