import type { Caller } from '@odograph/contracts/caller';
import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { vehicleMember } from '@odograph/database/reading-json';
import { type TripRow as StoredTrip, showTrip, tripColumns, tripIsOver, tripTables } from '@odograph/database/trips';
import { accessibleTo } from '@odograph/database/vehicle-access';
import { inGroups } from '@odograph/database/vehicle-groups';
import { type RawBuilder, sql } from 'kysely';
import { selectGaps } from '../reads/gaps.ts';
import { instant } from '../shared/reading-keys.ts';
import type { ExportSubject } from './schemas.ts';
import type { GapExportRow, TripRow } from './tables.ts';
import type { ExportRow, ExportVehicle, ReadingWriter } from './text-writers.ts';

/** The content of an export: rows in `[from, until)` of the vehicles that the caller may see, or of some of them. */
export interface ExportScope {
  readonly of: ExportSubject;
  readonly caller: Caller;
  readonly vehicleId?: number;
  /** Only these vehicles. */
  readonly vehicleIds?: readonly number[] | undefined;
  /** Only vehicles of this group. */
  readonly group?: string;
  readonly from: Microseconds;
  readonly until: Microseconds;
}

/** Vehicles of the scope that may have rows. Ingest keeps the bounds of the readings of each vehicle. */
function vehiclesOf(scope: ExportScope): RawBuilder<unknown> {
  const { of, from, until } = scope;
  const withReadings =
    of !== 'readings'
      ? sql``
      : sql`and exists (select from vehicle_latest where vehicle_latest.vehicle_id = vehicle.id
          and vehicle_latest.time >= ${instant(from)} and coalesce(vehicle_latest.earliest_time < ${instant(until)}, true))`;
  return sql`vehicle where ${isExported(scope)} ${withReadings}`;
}

/** SQL on the table `vehicle` that is true for the vehicles that an export may contain. */
export function isExported({ caller, vehicleId, vehicleIds, group }: Omit<ExportScope, 'of' | 'from' | 'until'>) {
  const isOne = vehicleId === undefined ? sql`` : sql`and vehicle.id = ${vehicleId}`;
  const isGiven = vehicleIds === undefined ? sql`` : sql`and vehicle.id = any(${[...vehicleIds]}::integer[])`;
  const isInGroup = group === undefined ? sql`` : sql`and ${inGroups([group])}`;
  return sql<boolean>`(${accessibleTo(caller)} ${isOne} ${isGiven} ${isInGroup})`;
}

/** Finds the next vehicles of an export, in the order of their ids, from an id on. */
export async function findVehicles(
  db: Database,
  scope: ExportScope,
  firstId: number,
  limit: number,
): Promise<ExportVehicle[]> {
  const { rows } = await sql<ExportVehicle>`
    select vehicle.id, vehicle.plate, ${vehicleMember} as member from ${vehiclesOf(scope)} and vehicle.id >= ${firstId}
    order by vehicle.id limit ${limit}`.execute(db);
  return rows;
}

/** Counts the vehicles of an export. */
export async function countVehicles(db: Database, scope: ExportScope): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${vehiclesOf(scope)}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Rows of one vehicle, behind the key of a row if one is given. */
export interface VehicleRows {
  readonly vehicleId: number;
  readonly after?: number | undefined;
}

/** Selects readings. With the application and the vehicle, a search in the index reads only what is exported. */
export function selectReadings<Row extends ExportRow>(
  { caller, from, until }: ExportScope,
  { columns, needsPosition }: Pick<ReadingWriter<Row>, 'columns' | 'needsPosition'>,
  { vehicleId, after }: VehicleRows,
): RawBuilder<Row> {
  const start = after === undefined ? sql`>= ${instant(from)}` : sql`> ${instant(BigInt(after))}`;
  const position = needsPosition ? sql`and reading.latitude is not null and reading.longitude is not null` : sql``;
  return sql<Row>`
    select (extract(epoch from reading.time) * 1000000)::bigint as key, ${columns} from reading_in_units as reading
    where reading.application_id = ${caller.applicationId} and reading.vehicle_id = ${vehicleId}
      and reading.time ${start} and reading.time < ${instant(until)} ${position} order by reading.time`;
}

/** Selects trips by their start; trips of a vehicle do not overlap. */
export function selectTripRows(
  { from, until }: ExportScope,
  { vehicleId, after }: VehicleRows,
): RawBuilder<StoredTrip> {
  const first = after === undefined ? from : BigInt(after) + 1n;
  return sql<StoredTrip>`
    select ${tripColumns} from ${tripTables} where ${tripIsOver} and trip.vehicle_id = ${vehicleId}
      and trip.started_at >= ${isoMicroseconds(first)}::timestamptz and trip.started_at < ${isoMicroseconds(until)}::timestamptz
    order by trip.started_at`;
}

export function toTripRow(row: StoredTrip): TripRow {
  const key = Number(row.started_us);
  return { key, end: key + Math.round(row.minutes * 60e6), trip: showTrip(row) };
}

/** Selects gaps by when they were noticed, those that were closed in the last 30 days included. */
export function selectGapRows(
  { from, until }: ExportScope,
  { vehicleId, after = 0 }: VehicleRows,
): RawBuilder<GapExportRow> {
  return sql<GapExportRow>`
    select row_number() over (order by since, device_id, from_sequence) as key, device_id as "deviceId",
      from_sequence as "fromSequence", until_sequence as "untilSequence", until_sequence - from_sequence + 1 as missing,
      state, (extract(epoch from since) * 1000000)::bigint as since, (extract(epoch from closed_at) * 1000000)::bigint as "closedAt"
    from (${selectGaps(vehicleId)}) as gap
    where period @> since and since >= ${instant(from)} and since < ${instant(until)}
    order by key offset ${after}`;
}
