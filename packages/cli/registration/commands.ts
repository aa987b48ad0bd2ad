import { type AdminApi, segment } from '../admin-api.ts';
import type { Command } from '../command.ts';
import { inspectFile, type RegistrationFile, rowsOf } from './file.ts';
import type { FileRow } from './rows.ts';

/** The answer of GET /v1/x/admin/registration-imports/{sha256}. */
interface ImportState {
  position: number;
  changed: number;
  unchanged: number;
  bad: number;
  finished: boolean;
  faults: { line: number; field: string; message: string }[];
}

const maximumBatchRows = 500;
/** The platform takes bodies of at most 1 MiB. */
const maximumBatchBytes = 512 * 1024;

/** Names of columns for readHeader: full paths of fields, or names without the section, of which the first counts. */
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
      throw new Error(`no field of a record: ${listed}; rename these columns, or give --ignore for each`);
    }
    const twice = columns.filter((name, index) => name !== undefined && columns.indexOf(name) !== index);
    if (twice.length > 0) throw new Error(`the column "${twice[0]}" is there twice`);
    return columns;
  };
}

/** Sends the rows after `position` in parts; what the platform has already is not sent again. */
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
    // Another import of the same file went ahead of this one.
    batch = next > position + batch.length ? [] : batch.slice(next - position);
    if (batch.length > 0 && next <= position) throw new Error('the import was begun anew by somebody else');
    position = next;
    bytes = Buffer.byteLength(JSON.stringify(batch));
  };
  for await (const row of rows) {
    seen += 1;
    if (seen <= position) continue;
    const rowBytes = Buffer.byteLength(JSON.stringify(row)) + 1;
    if (batch.length >= maximumBatchRows || bytes + rowBytes > maximumBatchBytes) await flush(false);
    if (seen <= position) continue;
    batch.push(row);
    bytes += rowBytes;
  }
  await flush(true);
}

async function importFile(
  api: AdminApi,
  file: RegistrationFile,
  appId: string | undefined,
  ignored: readonly string[],
) {
  const path = `registration-imports/${file.sha256}`;
  const state = async () => (await api.get(path, { appId })) as ImportState;
  const before = await state();
  if (!before.finished) {
    const { fields } = (await api.get('registration-fields')) as { fields: Record<string, string> };
    const send = async (batch: object) => {
      const answer = await api.post('registrations', { fileSha256: file.sha256, appId, ...batch });
      return (answer as { position: number }).position;
    };
    await sendRows(rowsOf(file, createHeaderReader(fields, ignored)), send, before.position);
  }
  const { position, ...after } = before.finished ? before : await state();
  return { rows: position, resumedAt: before.position, ...after };
}

export const registrationCommands: readonly Command[] = [
  {
    name: 'registration import',
    summary: 'import records from a CSV or NDJSON file; the same file again goes on where it was, or does nothing',
    words: 'FILE',
    optional: ['app', 'encoding'],
    lists: ['ignore'],
    flags: ['again'],
    async run(api, { words, text, lists, flags }) {
      const [path] = words;
      if (path === undefined || words.length > 1) throw new Error('give one FILE');
      const file = await inspectFile(path, text.encoding ?? 'utf-8');
      if (flags.has('again')) await api.delete(withApplication(`registration-imports/${file.sha256}`, text.app));
      const summary = await importFile(api, file, text.app, lists.ignore ?? []);
      for (const { line, field, message } of summary.faults) {
        process.stderr.write(`${path}:${line}: ${field === '' ? 'the row' : field} ${message}\n`);
      }
      if (summary.bad > 0) process.exitCode = 1;
      return { file: path, ...summary };
    },
  },
  {
    name: 'registration show',
    summary: 'look up a vehicle, with the source of each field and what its VIN says',
    words: 'PLATE_OR_VIN',
    optional: ['app'],
    run: (api, { words, text }) => api.get(`registrations/${onePlateOrVin(words)}`, { appId: text.app }),
  },
  {
    name: 'registration remove',
    summary: 'remove the imported records of a vehicle and the kept answers of the provider',
    words: 'PLATE_OR_VIN',
    optional: ['app'],
    run: (api, { words, text }) => api.delete(withApplication(`registrations/${onePlateOrVin(words)}`, text.app)),
  },
];

function onePlateOrVin(words: readonly string[]): string {
  if (words.length !== 1) throw new Error('give one PLATE_OR_VIN, quoted if it holds spaces');
  return segment(words[0]);
}

function withApplication(path: string, appId: string | undefined): string {
  return appId === undefined ? path : `${path}?${new URLSearchParams({ appId }).toString()}`;
}
