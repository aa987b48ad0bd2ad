import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import type { StoredCredentials } from './stored-credentials.ts';

const lookupsPerStatement = 1000;
/** From one statement to the next, at least. */
const gatherMs = 10;
const patienceMs = 5000;

interface Lookup {
  readonly deviceId: string;
  readonly resolve: (stored: StoredCredentials | undefined) => void;
  readonly reject: (error: Error) => void;
}

/**
 * What is stored of devices to know them by; lookups that come within 10 ms share a statement, so that a storm stays cheap.
 */
export class CredentialStore {
  readonly #db: Database;
  /** The lookups of the statement that runs now. */
  readonly #underWay = new Set<Lookup>();
  #waiting: Lookup[] = [];
  #running = false;
  #lastAtMs = Number.NEGATIVE_INFINITY;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * What a device is known by; undefined for a device that does not exist.
   * @throws when the database does not answer
   */
  find(deviceId: string): Promise<StoredCredentials | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ deviceId, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      setImmediate(() => void this.#run());
    });
  }

  /** What is being looked up for this device may be of before the change, so it is looked up again. */
  changed(deviceId: string): void {
    for (const lookup of this.#underWay) if (lookup.deviceId === deviceId) this.#lookUpAgain(lookup);
  }

  /** Changes were missed, of whatever device. */
  anyChanged(): void {
    for (const lookup of this.#underWay) this.#lookUpAgain(lookup);
  }

  #lookUpAgain(lookup: Lookup): void {
    this.#underWay.delete(lookup);
    this.#waiting.push(lookup);
  }

  /** Ends the time in which the secret before this one holds too. @throws when the database does not answer */
  async confirm(deviceId: string, secretSha256: Buffer): Promise<void> {
    await inTime(sql`select confirm_device_secret(${deviceId}, ${secretSha256})`.execute(this.#db));
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const restMs = this.#lastAtMs + gatherMs - performance.now();
      if (restMs > 0) await delay(restMs);
      this.#lastAtMs = performance.now();
      for (const lookup of this.#waiting.splice(0, lookupsPerStatement)) this.#underWay.add(lookup);
      await this.#answer();
      this.#underWay.clear();
    }
    this.#running = false;
  }

  async #answer(): Promise<void> {
    try {
      const deviceIds = new Set([...this.#underWay].map(({ deviceId }) => deviceId));
      const found = await inTime(selectCredentials(this.#db, [...deviceIds]));
      for (const { deviceId, resolve } of this.#underWay) resolve(found.get(deviceId));
    } catch (error) {
      const failure = new Error('the database does not answer', { cause: error });
      for (const { reject } of this.#underWay) reject(failure);
    }
  }
}

async function selectCredentials(db: Database, deviceIds: string[]): Promise<Map<string, StoredCredentials>> {
  const rows = await db
    .selectFrom('device')
    .select([
      'id',
      'secret_sha256 as secretSha256',
      'previous_secret_sha256 as previousSha256',
      'previous_secret_until as previousUntil',
      'certificates_issued_from as certificatesFrom',
    ])
    .where((where) => where('id', '=', where.fn.any(where.val(deviceIds))))
    .execute();
  return new Map(
    rows.map(({ id, secretSha256, previousSha256, previousUntil, certificatesFrom }) => [
      id,
      {
        secretSha256,
        previousSha256: previousSha256 ?? undefined,
        previousUntilMs: previousUntil?.getTime() ?? 0,
        certificatesFromMs: certificatesFrom?.getTime() ?? 0,
      },
    ]),
  );
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${patienceMs} ms`)), patienceMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
