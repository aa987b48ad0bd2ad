import type { Viewer } from '@odograph/contracts/caller';
import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import { visibleTo } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';

/** The content of a report: `[from, until)` of the vehicles that the viewer sees, or of some of them. */
export interface ReportScope {
  readonly viewer: Viewer;
  readonly from: Microseconds;
  readonly until: Microseconds;
  /** IANA name; days and dates are those of this zone. */
  readonly timeZone: string;
  readonly vehicleIds?: readonly number[];
}

export const instant = (time: Microseconds) => sql`${isoMicroseconds(time)}::timestamptz`;

/** SQL on `vehicle` that is true for the vehicles of the report. */
export function isReported({ viewer, vehicleIds }: ReportScope): RawBuilder<boolean> {
  const chosen = vehicleIds === undefined ? sql`` : sql`and vehicle.id = any(${[...vehicleIds]}::integer[])`;
  return sql<boolean>`(${visibleTo(viewer)} ${chosen})`;
}

/** SQL that is true for a time in the interval of the report. */
export const isWithin = (time: RawBuilder<unknown>, { from, until }: ReportScope): RawBuilder<boolean> =>
  sql<boolean>`(${time} >= ${instant(from)} and ${time} < ${instant(until)})`;

/** SQL of a time as a value of a column `moment`: microseconds since the UNIX epoch as text. */
export const moment = (time: RawBuilder<unknown>): RawBuilder<string> =>
  sql<string>`(extract(epoch from ${time}) * 1000000)::bigint::text`;

/** SQL of the day of a time in the time zone of the report. */
export const dateOf = (time: RawBuilder<unknown>, { timeZone }: ReportScope): RawBuilder<string> =>
  sql<string>`to_char(${time} at time zone ${timeZone}, 'YYYY-MM-DD')`;

/** SQL of the columns of a vehicle. */
export const vehicleColumns = sql`vehicle.id::text as "vehicleId", vehicle.plate`;
