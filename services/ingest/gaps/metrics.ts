import type { Database } from '@odograph/database/database';
import { Gauge, type Registry } from '@odograph/runtime/metrics';
import { sql } from 'kysely';

interface GapCounts {
  gaps: number;
  missing: number;
}

/** Counts open gaps and the readings missing in them. */
export async function countGaps(db: Database): Promise<GapCounts> {
  const { rows } = await sql<GapCounts>`
    select coalesce(sum(open_gaps), 0)::bigint as gaps, coalesce(sum(missing_readings), 0)::bigint as missing
    from device_sequence where open_gaps > 0`.execute(db);
  return rows[0] ?? { gaps: 0, missing: 0 };
}

/** Registers the gap metrics. They are NaN while the database is unavailable. */
export function createGapMetrics(registry: Registry, db: Database): void {
  let running: Promise<GapCounts> | undefined;
  // Both gauges are collected at once and share one aggregate.
  const count = (): Promise<GapCounts> => {
    running ??= countGaps(db)
      .catch(() => ({ gaps: Number.NaN, missing: Number.NaN }))
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  new Gauge({
    name: 'odograph_ingest_open_gaps',
    help: 'Gaps in the sequences of devices that are open',
    registers: [registry],
    async collect() {
      this.set((await count()).gaps);
    },
  });
  new Gauge({
    name: 'odograph_ingest_missing_readings',
    help: 'Readings that are missing in open gaps',
    registers: [registry],
    async collect() {
      this.set((await count()).missing);
    },
  });
}
