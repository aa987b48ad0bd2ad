import type { Database } from '@odograph/database/database';
import { readSettledUntil } from '@odograph/database/reading-counts/maintain';

/** How far readings are settled: a settlement gives the decisions of ingest a new version, and until then nothing is read. */
export class SettlementMemory {
  #known: { version: number; end: number } | undefined;

  /**
   * Microseconds since the epoch; no reading is earlier while nothing is settled.
   * @param version what shareIngestBarrier gave in the transaction that `db` is
   */
  async findEnd(db: Database, version: number): Promise<number> {
    if (this.#known?.version === version) return this.#known.end;
    const end = await readSettledUntil(db);
    this.#known = { version, end };
    return end;
  }
}
