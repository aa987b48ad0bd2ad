import type { Caller } from '@odograph/contracts/caller';
import type { Database } from '@odograph/database/database';
import { accessibleTo } from '@odograph/database/vehicle-access';
import { sql } from 'kysely';

interface Interval {
  /** ISO 8601. */
  readonly from: string;
  readonly until: string;
}

/** Vehicles, and the privacy intervals that apply to an interval of theirs. */
export interface Coverage {
  readonly vehicleIds?: readonly number[];
  /** Fingerprint of the intervals; the end of one does not count. */
  readonly privacy?: string;
}

/** Finds what an export may hold as it begins: all vehicles that the caller sees, or one of them. */
export async function findCoverage(
  db: Database,
  caller: Caller,
  vehicleId: number | undefined,
  interval: Interval,
): Promise<Required<Coverage>> {
  const { rows } = await sql<{ id: number }>`select vehicle.id from vehicle where ${accessibleTo(caller)}
    and (${vehicleId ?? null}::integer is null or vehicle.id = ${vehicleId ?? null}::integer) order by vehicle.id`.execute(
    db,
  );
  const vehicleIds = rows.map(({ id }) => id);
  return { vehicleIds, privacy: await findPrivacy(db, vehicleIds, interval) };
}

async function findPrivacy(db: Database, vehicleIds: readonly number[], { from, until }: Interval): Promise<string> {
  const { rows } = await sql<{ privacy: string }>`
    select coalesce(md5(string_agg(concat(vehicle_id, ' ', lower(period)), ',' order by vehicle_id, period)), '') as privacy
    from privacy_period where vehicle_id = any(${vehicleIds}::integer[])
      and period && tstzrange(${from}::timestamptz, ${until}::timestamptz)`.execute(db);
  return rows[0]?.privacy ?? '';
}

/** Whether the caller still sees every vehicle of a finished export, and none became private for its interval. */
export async function isStillCovered(
  db: Database,
  caller: Caller,
  interval: Interval,
  { vehicleIds = [], privacy = '' }: Coverage,
): Promise<boolean> {
  const { rows } = await sql<{ seen: number }>`select count(*) as seen from vehicle
    where vehicle.id = any(${vehicleIds}::integer[]) and ${accessibleTo(caller)}`.execute(db);
  return rows[0]?.seen === vehicleIds.length && (await findPrivacy(db, vehicleIds, interval)) === privacy;
}
