import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { csvRows, type Delimiter, type FileRow, ndjsonRows, type ReadHeader } from './rows.ts';

/** The text of a file as it is read; a mark of byte order is left out. @throws Error when the bytes are no such text */
async function* textOf(path: string, encoding: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  for await (const chunk of createReadStream(path)) yield decoder.decode(chunk as Buffer, { stream: true });
  yield decoder.decode();
}

function decodingFault(path: string, encoding: string, error: unknown): Error {
  if (error instanceof TypeError) {
    return new Error(`${path} is no ${encoding} text; if it comes from a spreadsheet, try --encoding windows-1252`);
  }
  return error instanceof Error ? error : new Error(String(error));
}

function checkEncoding(encoding: string): void {
  try {
    new TextDecoder(encoding);
  } catch {
    throw new Error(`--encoding ${encoding} is unknown`);
  }
}

/** What a file is, known before its first row is read. */
export interface RegistrationFile {
  path: string;
  encoding: string;
  sha256: string;
  format: 'ndjson' | Delimiter;
}

/** The delimiter that the header has most of, quoted values left out. */
function delimiterOf(header: string): Delimiter {
  const bare = header.replace(/"[^"]*"/g, '');
  const count = (delimiter: string) => bare.split(delimiter).length;
  return ([';', '\t'] as const).find((delimiter) => count(delimiter) > count(',')) ?? ',';
}

/**
 * Reads a file once to know it: its hash, that it is text, and whether it is NDJSON or CSV with which delimiter.
 * @throws Error when it cannot be read, or is no text of the encoding
 */
export async function inspectFile(path: string, encoding: string): Promise<RegistrationFile> {
  checkEncoding(encoding);
  const decoder = new TextDecoder(encoding, { fatal: true });
  const hash = createHash('sha256');
  let start = '';
  try {
    for await (const chunk of createReadStream(path)) {
      hash.update(chunk as Buffer);
      const text = decoder.decode(chunk as Buffer, { stream: true });
      if (start.length < 65_536) start += text;
    }
    decoder.decode();
  } catch (error) {
    throw decodingFault(path, encoding, error);
  }
  const firstLine = start.trimStart().split(/\r?\n|\r/, 1)[0] ?? '';
  const format = firstLine.startsWith('{') ? 'ndjson' : delimiterOf(firstLine);
  return { path, encoding, sha256: hash.digest('hex'), format };
}

/** The rows of the file, in their order. @throws whatever `readHeader` throws */
export function rowsOf({ path, encoding, format }: RegistrationFile, readHeader: ReadHeader): AsyncGenerator<FileRow> {
  const text = textOf(path, encoding);
  return format === 'ndjson' ? ndjsonRows(text) : csvRows(text, format, readHeader);
}
