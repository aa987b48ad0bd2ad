import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { inspectText, type OpenFile, type TextFile, UnreadableFile } from '@odograph/codec/files/text-rows';

/** Opens a local file. */
export const openFile =
  (path: string): OpenFile =>
  () =>
    createReadStream(path);

/** A file of records, with the hash of its bytes. */
export interface RegistrationFile extends TextFile {
  readonly path: string;
  readonly sha256: string;
}

/** Describes a file that cannot be read, with the option that may help. */
export function describeUnreadable(path: string, { reason, message }: UnreadableFile): string {
  if (reason === 'NOT_TEXT') return `${path} ${message}; for a spreadsheet export try --encoding windows-1252`;
  return reason === 'NO_TIME' ? `${message}; name it with --map time=COLUMN` : message;
}

/**
 * Inspects a file: hash, encoding, and whether it is NDJSON or CSV with which delimiter.
 * @throws Error when it is unreadable or not text in the encoding
 */
export async function inspectFile(path: string, encoding: string): Promise<RegistrationFile> {
  checkEncoding(encoding);
  const hash = createHash('sha256');
  async function* open() {
    for await (const chunk of createReadStream(path)) {
      hash.update(chunk as Buffer);
      yield chunk as Buffer;
    }
  }
  try {
    const { format } = await inspectText(open, encoding);
    return { path, open: openFile(path), encoding, format, sha256: hash.digest('hex') };
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    throw new Error(describeUnreadable(path, error), { cause: error });
  }
}

/** Checks the name of an encoding. @throws Error for an unknown one */
export function checkEncoding(encoding: string): void {
  try {
    new TextDecoder(encoding);
  } catch {
    throw new Error(`unknown --encoding ${encoding}`);
  }
}
