import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

/** A gap in the sequence of a device, open or closed. */
export interface GapRow {
  deviceId: string;
  fromSequence: number;
  untilSequence: number;
  missing: number;
  state: 'OPEN' | 'ARRIVED' | 'RESTARTED' | 'GIVEN_UP';
  since: string;
  closedAt?: string;
}

interface Row {
  device_id: string;
  from_sequence: number;
  until_sequence: number;
  state: GapRow['state'];
  since: Date;
  closed_at: Date | null;
}

const mostGaps = 1000;

/**
 * Lists the open gaps and those closed in the last `closedDays` days: open ones first, the newest first in each group, at
 * most 1,000. Only gaps noticed while the device was linked to the vehicle: others belong to another vehicle.
 */
export async function listGaps(db: Database, vehicleId: number, closedDays: number): Promise<GapRow[]> {
  const { rows } = await sql<Row>`
    with links as (select device_id, period from device_link where vehicle_id = ${vehicleId}),
    gaps as (
      select links.device_id, (gap->>'from')::bigint as from_sequence, (gap->>'until')::bigint as until_sequence,
        'OPEN' as state, to_timestamp((gap->>'sinceMs')::bigint / 1000.0) as since, null::timestamptz as closed_at,
        links.period
      from links join device_sequence on device_sequence.device_id = links.device_id
      cross join lateral jsonb_array_elements(device_sequence.gaps) as gap
      union all
      select links.device_id, from_sequence, until_sequence, outcome, since, closed_at, links.period
      from links join closed_gap on closed_gap.device_id = links.device_id
      where closed_at > now() - make_interval(days => ${closedDays}))
    select device_id, from_sequence, until_sequence, state, since, closed_at from gaps where period @> since
    order by closed_at desc nulls first, since desc, device_id, from_sequence desc limit ${mostGaps}`.execute(db);
  return rows.map((row) => ({
    deviceId: row.device_id,
    fromSequence: row.from_sequence,
    untilSequence: row.until_sequence,
    missing: row.until_sequence - row.from_sequence + 1,
    state: row.state,
    since: row.since.toISOString(),
    ...(row.closed_at && { closedAt: row.closed_at.toISOString() }),
  }));
}
