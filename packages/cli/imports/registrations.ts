import { type FileRow, rowsOf } from '@odograph/codec/files/text-rows';
import type { AdminApi } from '../server/admin-api.ts';
import { inspectFile } from './row-file.ts';

/** The answer of GET /v1/x/admin/registration-imports/{sha256}. */
interface ImportState {
  position: number;
  changed: number;
  unchanged: number;
  bad: number;
  finished: boolean;
  faults: { line: number; field: string; message: string }[];
}

interface RegistrationOptions {
  /** The application that sees the records; all of them when undefined. */
  readonly appId: string | undefined;
  readonly encoding: string;
  /** Names of columns to ignore. */
  readonly ignore: readonly string[];
  readonly again: boolean;
}

const maxBatchRows = 500;
/** The platform accepts bodies of at most 1 MiB. */
const maxBatchBytes = 512 * 1024;

/** Returns a test for column names: full paths of fields, or names without their section. */
function knownNames(fields: Record<string, string>): (name: string) => boolean {
  const names = new Set(Object.keys(fields).flatMap((path) => [path, path.slice(path.lastIndexOf('.') + 1)]));
  return (name) => names.has(name.replace(/^tires\.\d\./, 'tires.0.'));
}

function createHeaderReader(fields: Record<string, string>, ignored: readonly string[]) {
  const isKnown = knownNames(fields);
  return (cells: readonly string[]) => {
    const columns = cells.map((cell) => (ignored.includes(cell) ? undefined : cell));
    const unknown = columns.filter((name) => name !== undefined && !isKnown(name));
    if (unknown.length > 0) {
      const listed = unknown.map((name) => `"${name}"`).join(', ');
      throw new Error(`not fields of a record: ${listed}; rename these columns or pass --ignore for each`);
    }
    const twice = columns.filter((name, index) => name !== undefined && columns.indexOf(name) !== index);
    if (twice.length > 0) throw new Error(`duplicate column "${twice[0]}"`);
    return columns;
  };
}

/** Sends the rows after `done` in parts; rows that the platform has already are skipped. */
async function sendRows(
  rows: AsyncIterable<FileRow>,
  send: (batch: { position: number; rows: FileRow[]; last: boolean }) => Promise<number>,
  done: number,
): Promise<void> {
  let position = done;
  let seen = 0;
  let batch: FileRow[] = [];
  let bytes = 0;
  const flush = async (last: boolean) => {
    const next = await send({ position, rows: batch, last });
    // A concurrent import of the same file may be ahead of this one.
    batch = next > position + batch.length ? [] : batch.slice(next - position);
    if (batch.length > 0 && next <= position) throw new Error('the import was reset concurrently');
    position = next;
    bytes = Buffer.byteLength(JSON.stringify(batch));
  };
  for await (const row of rows) {
    seen += 1;
    if (seen <= position) continue;
    const rowBytes = Buffer.byteLength(JSON.stringify(row)) + 1;
    if (batch.length >= maxBatchRows || bytes + rowBytes > maxBatchBytes) await flush(false);
    if (seen <= position) continue;
    batch.push(row);
    bytes += rowBytes;
  }
  await flush(true);
}

/**
 * Imports a CSV or NDJSON file of registration records, from where an earlier import of the same bytes ended.
 * @param again import it from its first row
 * @throws Error when the file is unreadable, or the platform refuses it
 */
export async function importRegistrations(
  api: AdminApi,
  path: string,
  { appId, encoding, ignore, again }: RegistrationOptions,
) {
  const file = await inspectFile(path, encoding);
  const route = `registration-imports/${file.sha256}`;
  if (again) await api.delete(route, { appId });
  const state = async () => (await api.get(route, { appId })) as ImportState;
  const before = await state();
  if (!before.finished) {
    const { fields } = (await api.get('registration-fields')) as { fields: Record<string, string> };
    const send = async (batch: object) => {
      const answer = await api.post('registrations', { fileSha256: file.sha256, appId, ...batch });
      return (answer as { position: number }).position;
    };
    await sendRows(rowsOf(file, createHeaderReader(fields, ignore)), send, before.position);
  }
  const { position, ...after } = before.finished ? before : await state();
  return { rows: position, resumedAt: before.position, ...after };
}
