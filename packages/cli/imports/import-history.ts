import { createHash } from 'node:crypto';
import { appendFile, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { HistoryRow } from '@odograph/codec/files/history-rows';
import {
  type ImportAnswer,
  type ImportProgress,
  type ImportTargets,
  noProgress,
  type RowFault,
  sendRows,
  UnknownSubject,
} from '@odograph/codec/files/send-rows';
import { backOffMs } from '@odograph/runtime/clock';
import type { AdminApi } from '../server/admin-api.ts';
import { Refusal, Unreachable } from '../server/admin-api.ts';

export interface ImportSummary extends ImportProgress {
  readonly resumedAt: number;
  /** The file with the faults; only if there are any. */
  readonly report?: string;
}

/** A file to import. */
interface ImportFile {
  readonly path: string;
  readonly rows: AsyncIterable<HistoryRow>;
  /** How the rows are read, such as columns and encoding; an import with other options starts over. */
  readonly options: object;
}

/** How long the platform may be unreachable or overloaded before the import gives up. */
const timeoutMs = 600_000;

/**
 * Sends the rows of a file. Its progress is kept in `FILE.import.json`, so the same command continues after an interruption;
 * rows that were sent twice change nothing. Faults are collected in `FILE.faults.csv`.
 * @throws Error when the platform refuses the import as a whole, or does not answer for ten minutes
 */
export async function importHistory(
  api: AdminApi,
  { path, rows, options }: ImportFile,
  targets: ImportTargets,
  onProgress: (progress: ImportProgress) => void,
): Promise<ImportSummary> {
  const state = await openState(path, { server: api.url, ...targets, devices: [...targets.devices], options });
  const progress = await sendRows({
    ...{ rows, targets, done: state.progress },
    post: (request) => post(api, request),
    async onPart(now, faults) {
      if (faults.length > 0) await writeFaults(path, faults, now.faults === faults.length);
      await state.save(now);
      onProgress(now);
    },
  });
  await state.remove();
  const report = progress.faults > 0 ? { report: reportOf(path) } : {};
  return { ...progress, ...report, resumedAt: state.progress.rows };
}

const reportOf = (path: string): string => `${path}.faults.csv`;

/** @param parameters must be the same for the import to continue */
async function openState(path: string, parameters: object) {
  const file = `${path}.import.json`;
  const { size, mtimeMs } = await stat(path);
  const identity = JSON.stringify([size, mtimeMs, parameters]);
  const key = createHash('sha256').update(identity).digest('hex');
  const stored: unknown = JSON.parse(await readFile(file, 'utf8').catch(() => '{}'));
  const { key: storedKey, ...known } = stored as Partial<ImportProgress> & { key?: string };
  const isSame = storedKey === key;
  const progress: ImportProgress = { ...noProgress, ...(isSame && known) };
  if (!isSame) await rm(reportOf(path), { force: true });
  return {
    progress,
    async save(now: ImportProgress): Promise<void> {
      await writeFile(`${file}.new`, JSON.stringify({ key, ...now }));
      await rename(`${file}.new`, file);
    },
    remove: () => rm(file, { force: true }),
  };
}

async function writeFaults(path: string, faults: readonly RowFault[], isNew: boolean): Promise<void> {
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const lines = faults.map(({ line, column, message }) => `${line},${quote(column)},${quote(message)}\n`);
  await appendFile(reportOf(path), (isNew ? 'line,column,fault\n' : '') + lines.join(''));
}

/** Sends a request until the platform takes it. @throws UnknownSubject, Refusal, Unreachable */
async function post(api: AdminApi, body: object): Promise<ImportAnswer> {
  const end = performance.now() + timeoutMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await api.post('import', body)) as ImportAnswer;
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) throw new UnknownSubject(error.message);
      const isPassing = error instanceof Unreachable || (error instanceof Refusal && [429, 503].includes(error.status));
      if (!isPassing || performance.now() > end) throw error;
      await delay(backOffMs(attempt, { minMs: 250, maxMs: 10_000 }));
    }
  }
}
