import type { Database } from '@odograph/database/database';
import { Gauge, type Registry } from '@odograph/runtime/metrics';
import { countGaps } from './write-gaps.ts';

/** How much is missing, asked of the database when metrics are read. */
export function createGapMetrics(registry: Registry, db: Database): void {
  new Gauge({
    name: 'odograph_ingest_open_gaps',
    help: 'Gaps in the sequences of devices that are open',
    registers: [registry],
    async collect() {
      this.set(
        await countGaps(db).then(
          ({ gaps }) => gaps,
          () => Number.NaN,
        ),
      );
    },
  });
  new Gauge({
    name: 'odograph_ingest_missing_readings',
    help: 'Readings that are missing in open gaps',
    registers: [registry],
    async collect() {
      this.set(
        await countGaps(db).then(
          ({ missing }) => missing,
          () => Number.NaN,
        ),
      );
    },
  });
}
