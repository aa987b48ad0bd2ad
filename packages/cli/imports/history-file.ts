import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type ColumnMap, isKnownField, readCsv } from '@odograph/codec/files/csv';
import { readGpx } from '@odograph/codec/files/gpx';
import type { HistoryRow } from '@odograph/codec/files/history-rows';
import { readNdjson } from '@odograph/codec/files/ndjson';
import type { ImportTargets } from '@odograph/codec/files/send-rows';
import { UnreadableFile } from '@odograph/codec/files/text-rows';
import { type AdminApi, UsageFailure } from '../server/admin-api.ts';
import { importHistory } from './import-history.ts';
import { checkEncoding, describeUnreadable, openFile } from './row-file.ts';
import { readTraccar } from './traccar.ts';

/** How to read a file, as the options of the command give it. */
interface HistoryFile {
  readonly format: 'csv' | 'gpx' | 'ndjson' | 'traccar';
  readonly map: string | undefined;
  readonly encoding: string | undefined;
}

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

function readRows(path: string, { format, map, encoding = 'utf-8' }: HistoryFile): AsyncIterable<HistoryRow> {
  if (map !== undefined && format !== 'csv') throw new UsageFailure('--map is for CSV');
  const open = openFile(path);
  if (format === 'gpx') return readGpx(open);
  if (format === 'ndjson') return readNdjson(open);
  if (format === 'traccar') return readTraccar(path);
  const onIgnored = (column: string) => process.stderr.write(`column ${column} is ignored\n`);
  checkEncoding(encoding);
  return readCsv(open, encoding, parseColumnMap(map), onIgnored);
}

/**
 * Imports a history file and prints the progress to stderr.
 * @param deviceMap path of a file with lines THEIR_ID,DEVICE_ID
 * @throws UsageFailure, Error
 */
export async function importHistoryFile(
  api: AdminApi,
  path: string,
  options: HistoryFile,
  { deviceMap, ...target }: Omit<ImportTargets, 'devices'> & { readonly deviceMap: string | undefined },
) {
  const targets = { ...target, devices: await readDeviceMap(deviceMap) };
  let shownMs = performance.now();
  const file = { path, rows: describeFaults(path, readRows(path, options)), options };
  return importHistory(api, file, targets, (progress) => {
    if (performance.now() - shownMs < progressMs) return;
    shownMs = performance.now();
    process.stderr.write(`${progress.rows} rows, ${progress.accepted} accepted, ${progress.faults} at fault\n`);
  });
}
