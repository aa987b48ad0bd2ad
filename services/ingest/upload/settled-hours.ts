import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import type { LinkedReading } from '../pipeline/readings.ts';

const hourMicroseconds = 3_600_000_000;

type CountedReading = Pick<LinkedReading, 'applicationId' | 'vehicleId' | 'timeMicroseconds'>;

/** Marks the counts of hours that late readings fall into as unknown. Readings of unsettled hours cost nothing. */
export class SettledHours {
  #cached: { version: number; untilMicroseconds: number } | undefined;

  /**
   * Call it in the transaction that stores the readings.
   * @param version from shareIngestBarrier in this transaction; a settlement raises it
   */
  async markLate(db: Database, version: number, readings: readonly CountedReading[]): Promise<void> {
    if (this.#cached?.version !== version) {
      const { rows } = await sql<{ until: number }>`
        select (extract(epoch from settled_until) * 1000000)::bigint as until from reading_settlement`.execute(db);
      this.#cached = { version, untilMicroseconds: rows[0]?.until ?? Number.NEGATIVE_INFINITY };
    }
    const { untilMicroseconds } = this.#cached;
    const late = readings.filter(({ timeMicroseconds }) => timeMicroseconds < untilMicroseconds);
    if (late.length === 0) return;
    const ids = late.map(({ vehicleId }) => vehicleId);
    const hours = late.map(({ timeMicroseconds }) => Math.floor(timeMicroseconds / hourMicroseconds));
    const applications = late.map(({ applicationId }) => applicationId);
    await sql`insert into reading_count (vehicle_id, hour, application_id)
      select distinct vehicle_id, timestamptz 'epoch' + hour * interval '1 hour', application_id
      from unnest(${ids}::integer[], ${hours}::integer[], ${applications}::integer[])
        as late (vehicle_id, hour, application_id) order by 1, 2, 3
      on conflict (vehicle_id, hour, application_id) do update set count = null`.execute(db);
  }
}
