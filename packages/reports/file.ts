import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Failure } from '@odograph/contracts/failures';
import { writeTimestamp } from '@odograph/database/trips';
import { createLocalClock, formatMinute } from './local-time.ts';
import { maxReportRows, type Report } from './report.ts';

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

/** A report file. */
export interface ReportFile {
  readonly name: string;
  readonly mediaType: string;
  readonly content: Buffer;
}

const maxWorkers = 2;
const maxWaitMs = 30_000;
const pollMs = 200;
const workerTimeoutMs = 120_000;
const workerMemoryMb = 768;
/** The script that bundles and runs a module. The image omits it: its Node.js runs TypeScript directly. */
const runner = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url));
const workerScript = fileURLToPath(new URL('file-worker.ts', import.meta.url));
let runningWorkers = 0;

/** Formats the file name of a report, with the first and last day of its interval. */
export function fileNameOf({ kind, scope: { from, until, timeZone } }: Report, format: ReportFileFormat): string {
  const clock = createLocalClock(timeZone);
  const days = [from, until - 1n].map((moment) => formatMinute(clock(writeTimestamp(moment))).slice(0, 10));
  return `${kind}-${days.join('-')}.${format}`;
}

/**
 * Writes a report as a file in a worker thread, because the libraries block for seconds and retain 300 MB of memory.
 * @throws Failure OVERLOADED if no worker is free within 30 s, or if the worker exceeds its time or memory limit
 */
export async function writeReportFile(job: FileJob): Promise<ReportFile> {
  for (let waitedMs = 0; runningWorkers >= maxWorkers; waitedMs += pollMs) {
    if (waitedMs >= maxWaitMs)
      throw new Failure('OVERLOADED', 'too many reports are being written', { retryAfterSeconds: 5 });
    await delay(pollMs);
  }
  runningWorkers += 1;
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
    runningWorkers -= 1;
    await worker.terminate();
  }
}
