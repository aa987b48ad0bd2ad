import type { Viewer } from '@odograph/contracts/caller';
import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import { visibleTo } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';

/** The scope of a report: the interval `[from, until)` and the visible vehicles, or some of them. */
export interface ReportScope {
  readonly viewer: Viewer;
  readonly from: Microseconds;
  readonly until: Microseconds;
  /** IANA name; days and dates are those of this zone. */
  readonly timeZone: string;
  readonly vehicleIds?: readonly number[];
}

export const instant = (time: Microseconds) => sql`${isoMicroseconds(time)}::timestamptz`;

/** Builds SQL on `vehicle` that is true for vehicles in scope. */
export function isReported({ viewer, vehicleIds }: ReportScope): RawBuilder<boolean> {
  const chosen = vehicleIds === undefined ? sql`` : sql`and vehicle.id = any(${[...vehicleIds]}::integer[])`;
  return sql<boolean>`(${visibleTo(viewer)} ${chosen})`;
}

/** Builds SQL that is true for a time in the interval. */
export const isWithin = (time: RawBuilder<unknown>, { from, until }: ReportScope): RawBuilder<boolean> =>
  sql<boolean>`(${time} >= ${instant(from)} and ${time} < ${instant(until)})`;

/** Builds SQL for the value of a `moment` column: microseconds since the Unix epoch as text. */
export const moment = (time: RawBuilder<unknown>): RawBuilder<string> =>
  sql<string>`(extract(epoch from ${time}) * 1000000)::bigint::text`;

/** Builds SQL for the date of a time in the time zone of the report. */
export const dateOf = (time: RawBuilder<unknown>, { timeZone }: ReportScope): RawBuilder<string> =>
  sql<string>`to_char(${time} at time zone ${timeZone}, 'YYYY-MM-DD')`;

/**
 * Builds SQL for the instant at which a day starts. Where clocks go back to midnight, it is the first of two midnights,
 * and where they skip midnight, the time of the change; `at time zone` takes the second midnight.
 * @param midnight SQL for 00:00 of the day, without a time zone
 * @param zone SQL for an IANA name
 */
export function startOfDay(midnight: RawBuilder<unknown>, zone: RawBuilder<unknown>): RawBuilder<unknown> {
  const first = sql`(((${midnight} - interval '3 hours') at time zone ${zone}) + interval '3 hours')`;
  return sql`(case when ${first} at time zone ${zone} = ${midnight} then ${first} else ${midnight} at time zone ${zone} end)`;
}

/** SQL for the columns that identify a vehicle. */
export const vehicleColumns = sql`vehicle.id::text as "vehicleId", vehicle.plate`;
