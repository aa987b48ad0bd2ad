import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Failure } from '@odograph/contracts/failures';
import { writeTimestamp } from '@odograph/database/trips';
import { clockOf, writeMinute } from './local-time.ts';
import { maxReportRows, type Report } from './report.ts';

/** The formats of files, with their media types. */
export const reportFileTypes = {
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pdf: 'application/pdf',
} as const;
export type ReportFileFormat = keyof typeof reportFileTypes;

/** The most rows of a table in each format; a PDF of so many takes seconds of CPU time. */
export const maxFileRows: Readonly<Record<ReportFileFormat, number>> = { xlsx: maxReportRows, pdf: 5000 };

/** What a worker is to write. */
export interface FileOrder {
  readonly report: Report;
  readonly format: ReportFileFormat;
  readonly language: string;
}

/** A file with its name. */
export interface ReportFile {
  readonly name: string;
  readonly mediaType: string;
  readonly content: Buffer;
}

const maxAtOnce = 2;
const maxWaitMs = 30_000;
const pollMs = 200;
const timeLimitMs = 120_000;
const memoryLimitMb = 768;
/** Bundles a module; missing in the image, whose Node.js runs TypeScript. */
const runner = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url));
const program = fileURLToPath(new URL('file-worker.ts', import.meta.url));
let running = 0;

/** The name of the file of a report, with the first and the last day of its interval. */
export function fileNameOf({ kind, scope: { from, until, timeZone } }: Report, format: ReportFileFormat): string {
  const clock = clockOf(timeZone);
  const days = [from, until - 1n].map((moment) => writeMinute(clock(writeTimestamp(moment))).slice(0, 10));
  return `${kind}-${days.join('-')}.${format}`;
}

/**
 * Writes a report as a file, in a thread of its own: the libraries take seconds of CPU time and 300 MB, which end with it.
 * @throws Failure OVERLOADED when two others are being written for 30 s, or when this one takes too long or too much memory
 */
export async function writeReportFile(order: FileOrder): Promise<ReportFile> {
  for (let waitedMs = 0; running >= maxAtOnce; waitedMs += pollMs) {
    if (waitedMs >= maxWaitMs)
      throw new Failure('OVERLOADED', 'other reports are being written', { retryAfterSeconds: 5 });
    await delay(pollMs);
  }
  running += 1;
  const isBundled = existsSync(runner);
  const worker = new Worker(isBundled ? runner : program, {
    ...{
      argv: isBundled ? [program] : [],
      execArgv: [],
      workerData: order,
      resourceLimits: { maxOldGenerationSizeMb: memoryLimitMb },
    },
  });
  try {
    const [content] = (await once(worker, 'message', { signal: AbortSignal.timeout(timeLimitMs) })) as [Uint8Array];
    return {
      ...{ name: fileNameOf(order.report, order.format), mediaType: reportFileTypes[order.format] },
      content: Buffer.from(content),
    };
  } catch (cause) {
    const isTooMuch = ['ABORT_ERR', 'ERR_WORKER_OUT_OF_MEMORY'].includes(String(Object(cause).code));
    if (!isTooMuch) throw cause;
    throw new Failure(
      'OVERLOADED',
      'the report is too large for this server at the moment',
      { retryAfterSeconds: 60 },
      { cause },
    );
  } finally {
    running -= 1;
    await worker.terminate();
  }
}
