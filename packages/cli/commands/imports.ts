import { createReadStream } from 'node:fs';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { type ColumnMap, isKnownField, readCsv } from '@odograph/codec/files/csv';
import { readGpx } from '@odograph/codec/files/gpx';
import type { HistoryRow } from '@odograph/codec/files/history-rows';
import { readNdjson } from '@odograph/codec/files/ndjson';
import { type FileRow, rowsOf, UnreadableFile } from '@odograph/codec/files/text-rows';
import { importHistory } from '../imports/import-history.ts';
import {
  checkEncoding,
  describeUnreadable,
  inspectFile,
  openFile,
  type RegistrationFile,
} from '../imports/row-file.ts';
import { readTraccar } from '../imports/traccar.ts';
import { type AdminApi, segment, UsageFailure } from '../server/admin-api.ts';
import { restoreArchive } from './archive.ts';
import { command, flag, list, optional } from './command.ts';

const formats = ['csv', 'gpx', 'ndjson', 'traccar'] as const;
const byExtension: Readonly<Record<string, string>> = {
  ...{ '.csv': 'csv', '.gpx': 'gpx', '.ndjson': 'ndjson', '.jsonl': 'ndjson', '.sql': 'traccar' },
};
const progressMs = 2000;

/** Reads lines of two ids, separated by a comma. @throws UsageFailure */
async function readDeviceMap(path: string | undefined): Promise<ReadonlyMap<string, string>> {
  const devices = new Map<string, string>();
  if (path === undefined) return devices;
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const [theirs = '', ours = '', ...rest] = line.split(',').map((cell) => cell.trim());
    if (line.trim() === '') continue;
    if (theirs === '' || ours === '' || rest.length > 0)
      throw new UsageFailure(`${path}: ${line} is not THEIR_ID,DEVICE_ID`);
    devices.set(theirs, ours);
  }
  return devices;
}

/** Parses `--map time=fixtime,latitude=lat`. @throws UsageFailure */
function parseColumnMap(text: string | undefined): ColumnMap {
  const pairs = (text?.split(',') ?? []).map((pair): [string, string] => {
    const at = pair.indexOf('=');
    const [field, column] = [pair.slice(0, at), pair.slice(at + 1)];
    if (at < 1 || column === '' || !isKnownField(field)) throw new UsageFailure(`--map: ${pair} is not FIELD=COLUMN`);
    return [column, field];
  });
  return new Map(pairs);
}

/** Passes rows on, and describes an unreadable file with the option that may help. @throws UsageFailure, Error */
async function* describeFaults(path: string, rows: AsyncIterable<HistoryRow>): AsyncGenerator<HistoryRow> {
  try {
    yield* rows;
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    const message = describeUnreadable(path, error);
    throw error.reason === 'NO_TIME' ? new UsageFailure(message) : new Error(message, { cause: error });
  }
}

function readRows(
  path: string,
  {
    format,
    map,
    encoding = 'utf-8',
  }: { format: string | undefined; map: string | undefined; encoding: string | undefined },
): AsyncIterable<HistoryRow> {
  const chosen = format ?? byExtension[extname(path).toLowerCase()];
  if (map !== undefined && chosen !== 'csv') throw new UsageFailure('--map is for CSV');
  const open = openFile(path);
  if (chosen === 'gpx') return readGpx(open);
  if (chosen === 'ndjson') return readNdjson(open);
  if (chosen === 'traccar') return readTraccar(path);
  if (chosen !== 'csv') throw new UsageFailure(`give --format, one of ${formats.join(', ')}`);
  const onIgnored = (column: string) => process.stderr.write(`column ${column} is ignored\n`);
  checkEncoding(encoding);
  return readCsv(open, encoding, parseColumnMap(map), onIgnored);
}

/** History of another system. */
export const importCommands = [
  command({
    name: 'import',
    summary:
      'import readings from a file of another system, or of an archive; the same command again continues, or changes nothing',
    examples: [
      'import march.csv --vehicle 1000000001 --map time=fixtime,latitude=lat,longitude=lon',
      'import traccar.sql --device-map devices.csv',
      'import /srv/archive/readings-2024-03-07-2024-03-14-1a2b3c4d-1.parquet',
    ],
    operand: 'FILE',
    options: {
      app: optional('appId of the application that the vehicles must belong to'),
      vehicle: optional('vehicle of all rows; without it, each row names its own'),
      device: optional('device of all rows, instead of a vehicle'),
      format: optional(`${formats.join(', ')}; by default by the name of the file`, formats),
      map: optional('columns of a CSV with other names, such as time=fixtime,latitude=lat'),
      'device-map': optional('file with lines THEIR_ID,DEVICE_ID', 'file'),
      encoding: optional('encoding of a CSV, such as windows-1252; utf-8 without it'),
    },
    async run(
      { api, config, operand: path },
      { app, vehicle, device, format, map, encoding, 'device-map': deviceMap },
    ) {
      if (extname(path).toLowerCase() === '.parquet') {
        const given = { app, vehicle, device, format, map, encoding, 'device-map': deviceMap };
        const [option] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
        if (option !== undefined) throw new UsageFailure(`--${option} does not apply to archive files`);
        return restoreArchive(config, path);
      }
      if (vehicle !== undefined && device !== undefined) throw new UsageFailure('give --vehicle or --device, not both');
      const targets = { appId: app, vehicleId: vehicle, deviceId: device, devices: await readDeviceMap(deviceMap) };
      let shownMs = performance.now();
      const rows = describeFaults(path, readRows(path, { format, map, encoding }));
      const summary = await importHistory(api, path, rows, targets, (progress) => {
        if (performance.now() - shownMs < progressMs) return;
        shownMs = performance.now();
        process.stderr.write(`${progress.rows} rows, ${progress.accepted} accepted, ${progress.faults} at fault\n`);
      });
      if (summary.faults > 0) process.exitCode = 1;
      return { file: path, ...summary };
    },
  }),
];

/** The answer of GET /v1/x/admin/registration-imports/{sha256}. */
interface ImportState {
  position: number;
  changed: number;
  unchanged: number;
  bad: number;
  finished: boolean;
  faults: { line: number; field: string; message: string }[];
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

const app = optional('appId of the application that sees the records; without it, all applications do');

/** Registration data. */
export const registrationCommands = [
  command({
    name: 'registration import',
    summary: 'import records from a CSV or NDJSON file; importing the same file again resumes, or changes nothing',
    examples: [
      'registration import records.csv',
      'registration import records.csv --app app-7f3a --encoding windows-1252 --ignore remarks',
    ],
    operand: 'FILE',
    options: {
      app,
      encoding: optional('encoding of the file, such as windows-1252; utf-8 without it'),
      ignore: list('name of a column to ignore'),
      again: flag('import the file from its first row'),
    },
    async run({ api, operand: path }, { app: appId, encoding = 'utf-8', ignore = [], again }) {
      const file = await inspectFile(path, encoding);
      if (again) await api.delete(`registration-imports/${file.sha256}`, { appId });
      const summary = await importFile(api, file, appId, ignore);
      for (const { line, field, message } of summary.faults) {
        process.stderr.write(`${path}:${line}: ${field === '' ? 'the row' : field} ${message}\n`);
      }
      if (summary.bad > 0) process.exitCode = 1;
      return { file: path, ...summary };
    },
  }),
  command({
    name: 'registration show',
    summary: 'look up a vehicle, with the source of each field and the decoded VIN',
    examples: ['registration show AB-123-CD'],
    operand: 'PLATE_OR_VIN',
    options: { app },
    run: ({ api, operand }, { app: appId }) => api.get(`registrations/${segment(operand)}`, { appId }),
  }),
  command({
    name: 'registration remove',
    summary: 'remove the imported records of a vehicle and the cached answers of the provider',
    examples: ['registration remove VF1AG000000000001'],
    operand: 'PLATE_OR_VIN',
    options: { app },
    run: ({ api, operand }, { app: appId }) => api.delete(`registrations/${segment(operand)}`, { appId }),
  }),
];
