import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Failure } from '@odograph/contracts/failures';
import type { Addresses } from '@odograph/database/addresses';
import type { Tables } from '@odograph/database/tables';
import { writeTimestamp } from '@odograph/database/trips';
import type { Kysely } from 'kysely';
import type { ReportKind } from './columns.ts';
import { createLocalClock, formatMinute } from './local-time.ts';
import { maxReportRows, type Report, readReport } from './report.ts';
import type { ReportScope } from './scope.ts';

/** The file formats and their media types. */
export const reportFileTypes = {
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pdf: 'application/pdf',
} as const;
export type ReportFileFormat = keyof typeof reportFileTypes;

/** Maximum rows of a table by format; a PDF of this size takes seconds of CPU time. */
export const maxFileRows: Readonly<Record<ReportFileFormat, number>> = { xlsx: maxReportRows, pdf: 5000 };

/** The input of a worker. */
export interface FileJob {
  readonly report: Report;
  readonly format: ReportFileFormat;
  readonly language: string;
}

interface FileRequest extends Omit<FileJob, 'report'> {
  readonly kind: ReportKind;
  readonly scope: ReportScope;
}

/** A report file. */
export interface ReportFile {
  readonly name: string;
  readonly mediaType: string;
  readonly content: Buffer;
}

const maxFiles = 2;
const maxWaitMs = 30_000;
const pollMs = 200;
const workerTimeoutMs = 120_000;
const workerMemoryMb = 768;
/** The script that bundles and runs a module. The image omits it: its Node.js runs TypeScript directly. */
const runner = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url));
const workerScript = fileURLToPath(new URL('file-worker.ts', import.meta.url));
let filesInProgress = 0;

/** Formats the file name of a report, with the first and last day of its interval. */
export function fileNameOf({ kind, scope: { from, until, timeZone } }: Report, format: ReportFileFormat): string {
  const clock = createLocalClock(timeZone);
  const days = [from, until - 1n].map((moment) => formatMinute(clock(writeTimestamp(moment))).slice(0, 10));
  return `${kind}-${days.join('-')}.${format}`;
}

/**
 * Reads a report and writes it as a file; a process handles at most two reports at once.
 * @throws Failure OVERLOADED if two files are still being written after 30 s, or if writing exceeds its time or memory
 * limit; INVALID_PARAMETER as readReport
 */
export async function writeReportFile(
  db: Kysely<Tables>,
  addresses: Addresses,
  { kind, scope, format, language }: FileRequest,
): Promise<{ readonly report: Report; readonly file: ReportFile }> {
  for (let waitedMs = 0; filesInProgress >= maxFiles; waitedMs += pollMs) {
    if (waitedMs >= maxWaitMs)
      throw new Failure('OVERLOADED', 'too many reports are being written', { retryAfterSeconds: 5 });
    await delay(pollMs);
  }
  filesInProgress += 1;
  try {
    const report = await readReport(db, kind, scope, { addresses, maxRows: maxFileRows[format] });
    return { report, file: await writeFile({ report, format, language }) };
  } finally {
    filesInProgress -= 1;
  }
}

/** Writes a file in a worker thread, because the libraries block for seconds and retain 300 MB of memory. */
async function writeFile(job: FileJob): Promise<ReportFile> {
  const isBundled = existsSync(runner);
  const worker = new Worker(isBundled ? runner : workerScript, {
    ...{
      argv: isBundled ? [workerScript] : [],
      execArgv: [],
      workerData: job,
      resourceLimits: { maxOldGenerationSizeMb: workerMemoryMb },
    },
  });
  try {
    const [content] = (await once(worker, 'message', { signal: AbortSignal.timeout(workerTimeoutMs) })) as [Uint8Array];
    return {
      ...{ name: fileNameOf(job.report, job.format), mediaType: reportFileTypes[job.format] },
      content: Buffer.from(content),
    };
  } catch (cause) {
    const exceedsLimit = ['ABORT_ERR', 'ERR_WORKER_OUT_OF_MEMORY'].includes(String(Object(cause).code));
    if (!exceedsLimit) throw cause;
    throw new Failure(
      'OVERLOADED',
      'the report is too large for this server at the moment',
      { retryAfterSeconds: 60 },
      { cause },
    );
  } finally {
    await worker.terminate();
  }
}
