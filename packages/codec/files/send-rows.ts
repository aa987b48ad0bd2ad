import type { HistoryRow } from './history-rows.ts';

/** The vehicles or devices that the rows of a file belong to. */
export interface ImportTargets {
  readonly appId?: string | undefined;
  /** Applies to all rows and takes precedence over the ids in them. */
  readonly vehicleId?: string | undefined;
  readonly deviceId?: string | undefined;
  /** Ids of devices by the ids of vehicles or devices in the file. */
  readonly devices: ReadonlyMap<string, string>;
}

export interface ImportProgress {
  /** Number of rows processed. */
  readonly rows: number;
  readonly accepted: number;
  readonly faults: number;
}

/** The reason why a row, or a value in it, is not stored. */
export interface RowFault {
  readonly line: number;
  readonly column: string;
  readonly message: string;
}

type Subject = NonNullable<HistoryRow['subject']>;

/** The body of POST /v1/x/admin/import. */
export type ImportRequest = Subject & {
  readonly appId?: string;
  readonly readings: readonly unknown[];
  readonly first: boolean;
};

/** The answer of POST /v1/x/admin/import. */
export interface ImportAnswer {
  readonly accepted: number;
  readonly faults: readonly { readonly index: number; readonly field?: string; readonly message: string }[];
}

/** The vehicle, device or application of a request does not exist; its message says which. */
export class UnknownSubject extends Error {}

export interface SendOptions {
  readonly rows: AsyncIterable<HistoryRow>;
  readonly targets: ImportTargets;
  /** Progress of an earlier import of the file, whose rows are skipped. */
  readonly done: ImportProgress;
  /** Sends a request, with retries until the platform accepts it. @throws UnknownSubject */
  readonly post: (request: ImportRequest) => Promise<ImportAnswer>;
  /** Receives the progress after each part, and the faults of that part in the order of their lines. */
  readonly onPart: (progress: ImportProgress, faults: readonly RowFault[]) => Promise<void> | void;
}

/** Limits of one request; the platform accepts 1,000 readings and 1 MiB. */
const maxRows = 1000;
const maxBytes = 512 * 1024;
const encoder = new TextEncoder();

export const noProgress: ImportProgress = { rows: 0, accepted: 0, faults: 0 };

/**
 * Sends the rows of a file in parts, with one request for each vehicle or device in a part. Sending rows again changes
 * nothing.
 * @throws what `rows`, `post` and `onPart` throw; earlier parts are complete
 */
export async function sendRows({ rows, targets, done, post, onPart }: SendOptions): Promise<ImportProgress> {
  let progress = done;
  let isFirst = done.rows === 0;
  const postPart: PostReadings = async (readings) => {
    const { appId } = targets;
    const answer = await post({ ...(appId !== undefined && { appId }), ...readings, first: isFirst });
    isFirst = false;
    return answer;
  };
  let seen = 0;
  let part = new Part(targets, postPart);
  const flush = async () => {
    const { accepted, faults } = await part.send();
    const { rows: before, accepted: acceptedBefore, faults: faultsBefore } = progress;
    progress = {
      ...{ rows: before + part.rows, accepted: acceptedBefore + accepted },
      faults: faultsBefore + faults.length,
    };
    await onPart(progress, faults);
    part = new Part(targets, postPart);
  };
  for await (const row of rows) {
    seen += 1;
    if (seen <= done.rows) continue;
    part.add(row);
    if (part.isFull) await flush();
  }
  if (part.rows > 0) await flush();
  return progress;
}

type PostReadings = (request: Subject & Pick<ImportRequest, 'readings'>) => Promise<ImportAnswer>;

/** Rows that are sent together. */
class Part {
  readonly #targets: ImportTargets;
  readonly #post: PostReadings;
  readonly #groups = new Map<string, { subject: Subject; rows: HistoryRow[] }>();
  readonly #faults: RowFault[] = [];
  #rows = 0;
  #bytes = 0;

  constructor(targets: ImportTargets, post: PostReadings) {
    this.#targets = targets;
    this.#post = post;
  }

  get rows(): number {
    return this.#rows;
  }

  get isFull(): boolean {
    return this.#rows >= maxRows || this.#bytes >= maxBytes;
  }

  add(row: HistoryRow): void {
    this.#rows += 1;
    const subject = this.#subjectOf(row);
    if (row.fault) this.#faults.push({ line: row.line, ...row.fault });
    else if (subject === undefined)
      this.#faults.push({ line: row.line, column: '', message: 'has no vehicle or device; choose one for all rows' });
    else this.#addTo(subject, row);
  }

  async send(): Promise<{ accepted: number; faults: readonly RowFault[] }> {
    let accepted = 0;
    for (const { subject, rows } of this.#groups.values()) {
      accepted += await this.#sendGroup(subject, rows);
    }
    // Rows are sent by vehicle, so faults arrive grouped by vehicle.
    return { accepted, faults: this.#faults.sort((one, other) => one.line - other.line) };
  }

  #addTo(subject: Subject, row: HistoryRow): void {
    this.#bytes += encoder.encode(JSON.stringify(row.reading)).length;
    const name = JSON.stringify(subject);
    const group = this.#groups.get(name) ?? { subject, rows: [] };
    group.rows.push(row);
    this.#groups.set(name, group);
  }

  #subjectOf({ subject }: HistoryRow): Subject | undefined {
    const { vehicleId, deviceId, devices } = this.#targets;
    if (vehicleId !== undefined) return { vehicleId };
    if (deviceId !== undefined) return { deviceId };
    if (subject === undefined) return undefined;
    const mapped = devices.get('vehicleId' in subject ? subject.vehicleId : subject.deviceId);
    return mapped === undefined ? subject : { deviceId: mapped };
  }

  /** Sends the readings of one vehicle or device. @returns the number of accepted readings */
  async #sendGroup(subject: Subject, rows: readonly HistoryRow[]): Promise<number> {
    const readings = rows.map(({ reading }) => reading);
    try {
      const answer = await this.#post({ ...subject, readings });
      for (const { index, field = '', message } of answer.faults) {
        const { line = 0, origin } = rows[index] ?? {};
        this.#faults.push({ line, column: origin === undefined ? field : origin(field), message });
      }
      return answer.accepted;
    } catch (error) {
      if (!(error instanceof UnknownSubject)) throw error;
      const column = 'vehicleId' in subject ? 'vehicle' : 'device';
      for (const { line } of rows) this.#faults.push({ line, column, message: error.message });
      return 0;
    }
  }
}
