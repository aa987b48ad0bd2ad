import type { Database } from '@odograph/database/database';

const lookupsPerStatement = 1000;
const patienceMs = 5000;

interface Lookup {
  readonly deviceId: string;
  readonly resolve: (secretSha256: Buffer | undefined) => void;
  readonly reject: (error: Error) => void;
  revoked: boolean;
}

/** The stored hashes of device secrets; lookups that come together share a statement, so that a storm stays cheap. */
export class DeviceSecrets {
  readonly #db: Database;
  readonly #underWay = new Set<Lookup>();
  #waiting: Lookup[] = [];
  #running = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * The SHA-256 of a device's secret; undefined for a device that does not exist.
   * @throws when the database does not answer, or the secret was revoked while it was looked up
   */
  find(deviceId: string): Promise<Buffer | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ deviceId, resolve, reject, revoked: false });
      if (this.#running) return;
      this.#running = true;
      setImmediate(() => void this.#run());
    });
  }

  /** What is being looked up for this device may be of before the revocation, so it is not used. */
  revoke(deviceId: string): void {
    for (const lookup of this.#underWay) if (lookup.deviceId === deviceId) lookup.revoked = true;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lookups = this.#waiting.splice(0, lookupsPerStatement);
      for (const lookup of lookups) this.#underWay.add(lookup);
      await this.#answer(lookups);
      for (const lookup of lookups) this.#underWay.delete(lookup);
    }
    this.#running = false;
  }

  async #answer(lookups: readonly Lookup[]): Promise<void> {
    try {
      const secrets = await inTime(selectSecrets(this.#db, [...new Set(lookups.map(({ deviceId }) => deviceId))]));
      for (const { deviceId, revoked, resolve, reject } of lookups) {
        if (revoked) reject(new Error('the secret was revoked meanwhile'));
        else resolve(secrets.get(deviceId));
      }
    } catch (error) {
      const failure = new Error('the database does not answer', { cause: error });
      for (const { reject } of lookups) reject(failure);
    }
  }
}

async function selectSecrets(db: Database, deviceIds: string[]): Promise<Map<string, Buffer>> {
  const rows = await db
    .selectFrom('device')
    .select(['id', 'secret_sha256'])
    .where((where) => where('id', '=', where.fn.any(where.val(deviceIds))))
    .execute();
  return new Map(rows.map((row) => [row.id, row.secret_sha256]));
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${patienceMs} ms`)), patienceMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
