import { createHash } from 'node:crypto';
import { appendFile, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { backOffMs } from '@odograph/runtime/clock';
import type { AdminApi } from '../server/admin-api.ts';
import { Refusal, Unreachable } from '../server/admin-api.ts';
import type { HistoryRow } from './rows.ts';

/** Which vehicle or device the rows of a file belong to. */
export interface ImportTargets {
  readonly appId?: string | undefined;
  /** For all rows, whatever they name. */
  readonly vehicleId?: string | undefined;
  readonly deviceId?: string | undefined;
  /** Ids of devices by the ids of vehicles or devices in the file. */
  readonly devices: ReadonlyMap<string, string>;
}

interface Progress {
  /** Rows of the file that are done. */
  readonly rows: number;
  readonly accepted: number;
  readonly faults: number;
}

export interface ImportSummary extends Progress {
  readonly resumedAt: number;
  /** The file with the faults; only if there are any. */
  readonly report?: string;
}

interface ImportAnswer {
  readonly accepted: number;
  readonly faults: readonly { readonly index: number; readonly field?: string; readonly message: string }[];
}

/** Of one request; the platform accepts 1,000 readings and 1 MiB. */
const maxRows = 1000;
const maxBytes = 512 * 1024;
/** How long the platform may be unreachable or overloaded before the import gives up. */
const timeoutMs = 600_000;

/**
 * Sends the rows of a file. Its progress is kept in `FILE.import.json`, so the same command continues after an interruption;
 * rows that were sent twice change nothing. Faults are collected in `FILE.faults.csv`.
 * @throws Error when the platform refuses the import as a whole, or does not answer for ten minutes
 */
export async function importHistory(
  api: AdminApi,
  path: string,
  rows: AsyncIterable<HistoryRow>,
  targets: ImportTargets,
  onProgress: (progress: Progress) => void,
): Promise<ImportSummary> {
  const state = await openState(path, targets);
  const sender = new RowSender(api, path, targets, state.progress);
  let seen = 0;
  for await (const row of rows) {
    seen += 1;
    if (seen <= state.progress.rows) continue;
    sender.add(row);
    if (!sender.isFull) continue;
    await sender.flush();
    await state.save(sender.progress);
    onProgress(sender.progress);
  }
  await sender.flush();
  await state.remove();
  const { progress } = sender;
  const report = progress.faults > 0 ? { report: reportOf(path) } : {};
  return { ...progress, ...report, resumedAt: state.progress.rows };
}

const reportOf = (path: string): string => `${path}.faults.csv`;

async function openState(path: string, targets: ImportTargets) {
  const file = `${path}.import.json`;
  const { size, mtimeMs } = await stat(path);
  const identity = JSON.stringify([size, mtimeMs, { ...targets, devices: [...targets.devices] }]);
  const key = createHash('sha256').update(identity).digest('hex');
  const stored: unknown = JSON.parse(await readFile(file, 'utf8').catch(() => '{}'));
  const { key: storedKey, ...known } = stored as Partial<Progress> & { key?: string };
  const isSame = storedKey === key;
  const progress: Progress = { rows: 0, accepted: 0, faults: 0, ...(isSame && known) };
  if (!isSame) await rm(reportOf(path), { force: true });
  return {
    progress,
    async save(now: Progress): Promise<void> {
      await writeFile(`${file}.new`, JSON.stringify({ key, ...now }));
      await rename(`${file}.new`, file);
    },
    remove: () => rm(file, { force: true }),
  };
}

type Subject = NonNullable<HistoryRow['subject']>;

/** Sends rows in requests, one for each vehicle or device among them. */
class RowSender {
  readonly #api: AdminApi;
  readonly #path: string;
  readonly #targets: ImportTargets;
  #progress: Progress;
  #isFirst: boolean;
  #groups = new Map<string, { subject: Subject; rows: HistoryRow[] }>();
  #faults: { readonly line: number; readonly text: string }[] = [];
  #rows = 0;
  #bytes = 0;

  constructor(api: AdminApi, path: string, targets: ImportTargets, progress: Progress) {
    this.#api = api;
    this.#path = path;
    this.#targets = targets;
    this.#progress = progress;
    this.#isFirst = progress.rows === 0;
  }

  get progress(): Progress {
    return this.#progress;
  }

  get isFull(): boolean {
    return this.#rows >= maxRows || this.#bytes >= maxBytes;
  }

  add(row: HistoryRow): void {
    this.#rows += 1;
    const subject = this.#subjectOf(row);
    if (row.fault) this.#report(row.line, row.fault.column, row.fault.message);
    else if (subject === undefined)
      this.#report(row.line, '', 'names no vehicle or device; give --vehicle or --device');
    else this.#addTo(subject, row);
  }

  #addTo(subject: Subject, row: HistoryRow): void {
    this.#bytes += JSON.stringify(row.reading).length;
    const name = Object.values(subject).join();
    const group = this.#groups.get(name) ?? { subject, rows: [] };
    group.rows.push(row);
    this.#groups.set(name, group);
  }

  async flush(): Promise<void> {
    let accepted = 0;
    for (const { subject, rows } of this.#groups.values()) accepted += await this.#send(subject, rows);
    if (this.#faults.length > 0) await this.#writeFaults();
    const { rows, accepted: before, faults } = this.#progress;
    this.#progress = { rows: rows + this.#rows, accepted: before + accepted, faults: faults + this.#faults.length };
    this.#groups = new Map();
    this.#faults = [];
    this.#rows = 0;
    this.#bytes = 0;
  }

  #subjectOf({ subject }: HistoryRow): Subject | undefined {
    const { vehicleId, deviceId, devices } = this.#targets;
    if (vehicleId !== undefined) return { vehicleId };
    if (deviceId !== undefined) return { deviceId };
    if (subject === undefined) return undefined;
    const mapped = devices.get('vehicleId' in subject ? subject.vehicleId : subject.deviceId);
    return mapped === undefined ? subject : { deviceId: mapped };
  }

  async #send(subject: Subject, rows: readonly HistoryRow[]): Promise<number> {
    const { appId } = this.#targets;
    const readings = rows.map(({ reading }) => reading);
    const body = { ...(appId !== undefined && { appId }), ...subject, readings, first: this.#isFirst };
    let answer: ImportAnswer;
    try {
      answer = await post(this.#api, body);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 404) throw error;
      const column = 'vehicleId' in subject ? 'vehicle' : 'device';
      for (const { line } of rows) this.#report(line, column, error.message);
      return 0;
    }
    this.#isFirst = false;
    for (const { index, field = '', message } of answer.faults) {
      const { line = 0, origin } = rows[index] ?? {};
      this.#report(line, origin === undefined ? field : origin(field), message);
    }
    return answer.accepted;
  }

  #report(line: number, column: string, message: string): void {
    const text = `${line},"${column.replaceAll('"', '""')}","${message.replaceAll('"', '""')}"\n`;
    this.#faults.push({ line, text });
  }

  async #writeFaults(): Promise<void> {
    const isNew = this.#progress.faults === 0;
    // Rows are sent by vehicle, so faults arrive grouped by vehicle.
    const inOrder = this.#faults.toSorted((one, other) => one.line - other.line).map(({ text }) => text);
    await appendFile(reportOf(this.#path), (isNew ? 'line,column,fault\n' : '') + inOrder.join(''));
  }
}

/** Sends a request until the platform takes it. @throws Refusal, Unreachable */
async function post(api: AdminApi, body: object): Promise<ImportAnswer> {
  const end = performance.now() + timeoutMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await api.post('import', body)) as ImportAnswer;
    } catch (error) {
      const isPassing = error instanceof Unreachable || (error instanceof Refusal && [429, 503].includes(error.status));
      if (!isPassing || performance.now() > end) throw error;
      await delay(backOffMs(attempt, { minMs: 250, maxMs: 10_000 }));
    }
  }
}
