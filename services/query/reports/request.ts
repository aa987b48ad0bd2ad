import { type Viewer, withinGroup } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isoMicroseconds, type Microseconds, parseTimestamp, type Timestamp } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { requireTimeZone } from '@odograph/database/time-zone';
import { parseVehicleId, visibleTo } from '@odograph/database/vehicle-access';
import { GroupFilter, timestamp, VehicleId } from '@odograph/http/schemas';
import { maxReportDays } from '@odograph/reports/report';
import { type ReportScope, startOfDay } from '@odograph/reports/scope';
import { sql } from 'kysely';
import Type, { type Static } from 'typebox';

const maxVehicleIds = 1000;
const dayForm = /^\d{4}-\d\d-\d\d$/;

export const reportFilters = {
  from: timestamp('start, inclusive; a date without a time is midnight in the time zone of the report'),
  until: timestamp(`end, exclusive; at most ${maxReportDays} days after the start`),
  timeZone: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'IANA time zone of days and files; default: that of the application, else UTC',
      examples: ['Europe/Paris'],
    }),
  ),
  vehicleId: Type.Optional(VehicleId),
  vehicleIds: Type.Optional(
    Type.String({
      maxLength: 11 * maxVehicleIds,
      description: `ids separated by commas, at most ${maxVehicleIds}; default: all vehicles`,
      examples: ['1000000001,1000000002'],
    }),
  ),
  group: GroupFilter,
};
const Filters = Type.Object(reportFilters);
type Filters = Static<typeof Filters>;

/** Finds the time zone of the application if the viewer sees only one, else UTC. */
async function findUsualZone(db: Database, { applicationIds }: Viewer): Promise<string> {
  if (applicationIds?.length !== 1) return 'UTC';
  const { rows } = await sql<{ zone: string }>`select time_zone as zone from application
    where id = ${applicationIds[0]}`.execute(db);
  return rows[0]?.zone ?? 'UTC';
}

/**
 * Parses a bound of the interval; a date without a time means the start of that day in the time zone.
 * @throws Failure INVALID_PARAMETER
 */
async function parseEnd(db: Database, field: string, given: Timestamp, timeZone: string): Promise<Microseconds> {
  const moment = parseTimestamp(field, given);
  if (!dayForm.test(String(given))) return moment;
  const midnight = sql`${isoMicroseconds(moment).slice(0, 10)}::timestamp`;
  const { rows } = await sql<{ us: string }>`
    select (extract(epoch from ${startOfDay(midnight, sql`${timeZone}`)}) * 1000000)::bigint::text as us`.execute(db);
  return BigInt(rows[0]?.us ?? moment);
}

/** @throws Failure UNKNOWN_VEHICLE unless all vehicles are visible to the viewer */
async function findVehicles(db: Database, viewer: Viewer, given: readonly string[]): Promise<number[]> {
  const ids = [...new Set(given.map((id) => parseVehicleId(id) ?? 0))];
  const { rows } = await sql<{ id: number }>`select vehicle.id from vehicle
    where vehicle.id = any(${ids}::integer[]) and ${visibleTo(viewer)}`.execute(db);
  if (rows.length < ids.length) throw new Failure('UNKNOWN_VEHICLE');
  return ids;
}

/**
 * Parses the interval and filters of a request.
 * @throws Failure INVALID_PARAMETER, INVALID_INTERVAL, UNKNOWN_VEHICLE
 */
export async function parseScope(db: Database, person: Viewer, query: Filters): Promise<ReportScope> {
  const { vehicleId, vehicleIds } = query;
  const viewer = withinGroup(person, query.group);
  if (query.timeZone !== undefined) await requireTimeZone(db, 'timeZone', query.timeZone);
  const timeZone = query.timeZone ?? (await findUsualZone(db, viewer));
  const from = await parseEnd(db, 'from', query.from, timeZone);
  const until = await parseEnd(db, 'until', query.until, timeZone);
  if (until <= from) throw new Failure('INVALID_INTERVAL', undefined, { field: 'until' });
  if (until - from > BigInt(maxReportDays) * 86_400_000_000n) {
    throw new Failure('INVALID_INTERVAL', `until must be at most ${maxReportDays} days after from`, {
      field: 'until',
    });
  }
  const requestedIds = [vehicleId ?? '', ...(vehicleIds?.split(',') ?? [])].filter((id) => id !== '');
  if (requestedIds.length > maxVehicleIds) throw invalidParameter('vehicleIds', `must be at most ${maxVehicleIds} ids`);
  if (requestedIds.length === 0) return { viewer, from, until, timeZone };
  return { viewer, from, until, timeZone, vehicleIds: await findVehicles(db, viewer, requestedIds) };
}
