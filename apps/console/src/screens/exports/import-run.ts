import { backOffMs, delay } from '@odograph/client/retry';
import { isKnownField, readColumns, readCsv } from '@odograph/codec/files/csv';
import { readGpx } from '@odograph/codec/files/gpx';
import type { HistoryRow } from '@odograph/codec/files/history-rows';
import { readNdjson } from '@odograph/codec/files/ndjson';
import {
  type ImportAnswer,
  type ImportProgress,
  type ImportRequest,
  type ImportTargets,
  type RowFault,
  sendRows,
  UnknownSubject,
} from '@odograph/codec/files/send-rows';
import type { OpenFile } from '@odograph/codec/files/text-rows';
import { answerOf, api, CallFailure } from '../../api/client.ts';

/** Bytes read at a time. */
const chunkBytes = 256 * 1024;
const maxPauseMs = 10_000;

const formats: Readonly<Record<string, 'csv' | 'ndjson' | 'gpx'>> = {
  ...{ csv: 'csv', txt: 'csv', ndjson: 'ndjson', jsonl: 'ndjson', gpx: 'gpx' },
};

/** Returns the format of a file by its name; undefined for an unknown one. */
export const formatOf = ({ name }: File) => formats[name.split('.').at(-1)?.toLowerCase() ?? ''];

/** Opens a chosen file. @param onRead receives the number of bytes read */
function openFile(file: File, onRead: (bytes: number) => void): OpenFile {
  return async function* read() {
    for (let at = 0; at < file.size; at += chunkBytes) {
      onRead(Math.min(file.size, at + chunkBytes));
      yield new Uint8Array(await file.slice(at, at + chunkBytes).arrayBuffer());
    }
  };
}

/** Lists the CSV columns without a field. @returns also whether a column is the time. @throws UnreadableFile */
export async function findColumns(file: File, encoding: string) {
  const columns = await readColumns(
    openFile(file, () => undefined),
    encoding,
  );
  return { unknown: columns.filter((name) => name !== '' && !isKnownField(name)), hasTime: columns.includes('time') };
}

/** A file with the choices of the person who imports it. */
export interface ChosenFile {
  readonly file: File;
  readonly encoding: string;
  /** The field of each CSV column with another name. */
  readonly fields: ReadonlyMap<string, string>;
}

function readRows({ file, encoding, fields }: ChosenFile, onRead: (bytes: number) => void): AsyncIterable<HistoryRow> {
  const open = openFile(file, onRead);
  const format = formatOf(file);
  if (format === 'gpx') return readGpx(open);
  return format === 'ndjson' ? readNdjson(open) : readCsv(open, encoding, fields, () => undefined);
}

async function* stoppable(rows: AsyncIterable<HistoryRow>, signal: AbortSignal): AsyncGenerator<HistoryRow> {
  for await (const row of rows) {
    signal.throwIfAborted();
    yield row;
  }
}

/** Tells whether a failure is temporary: no answer, overload, an expired session, or a proxy without a platform. */
const passing = ['UNREACHABLE', 'OVERLOADED', 'TOO_MANY_REQUESTS', 'MISSING_TOKEN', 'INVALID_TOKEN', 'TOKEN_EXPIRED'];
const passes = ({ code }: CallFailure): boolean => passing.includes(code) || /^50[234]$/.test(code);
const isUnknown = ({ code }: CallFailure): boolean => ['UNKNOWN_VEHICLE', 'UNKNOWN_DEVICE'].includes(code);

interface RunOptions {
  readonly chosen: ChosenFile;
  readonly targets: ImportTargets;
  /** Progress of the stopped import of this file, whose rows are skipped. */
  readonly done: ImportProgress;
  readonly signal: AbortSignal;
  /** Receives the reason when the platform stops accepting requests, undefined when it accepts them again. */
  readonly onWaiting: (reason: string | undefined) => void;
  /** @param share part of the file that has been read, from 0 to 1 */
  readonly onPart: (progress: ImportProgress, share: number, faults: readonly RowFault[]) => void;
}

/** Sends a request, with retries until it is accepted. @throws UnknownSubject, CallFailure, the abort reason */
async function post(
  body: ImportRequest,
  { signal, onWaiting }: Pick<RunOptions, 'signal' | 'onWaiting'>,
): Promise<ImportAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      const answer = await answerOf(
        api.POST('/v1/x/admin/import', { body: { ...body, readings: [...body.readings] } }),
      );
      onWaiting(undefined);
      return answer;
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      if (isUnknown(error)) throw new UnknownSubject(`${error.code}: ${error.message}`);
      if (!passes(error)) throw error;
      onWaiting(error.message);
      await delay(backOffMs(attempt, maxPauseMs), signal);
    }
  }
}

/**
 * Sends the rows of a file to the platform; waits while the platform accepts no requests.
 * @throws UnreadableFile, CallFailure, the abort reason; earlier parts are complete
 */
export async function runImport({ chosen, targets, done, onPart, ...options }: RunOptions): Promise<void> {
  let bytes = 0;
  const rows = readRows(chosen, (read) => {
    bytes = read;
  });
  await sendRows({
    ...{ rows: stoppable(rows, options.signal), targets, done },
    post: (request) => post(request, options),
    onPart: (progress, faults) => onPart(progress, bytes / chosen.file.size, faults),
  });
}
