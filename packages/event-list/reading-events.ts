import type { Database } from '@odograph/database/database';
import { vehicleMember } from '@odograph/database/reading-json';
import { writeTimestamp } from '@odograph/database/trips';
import { sql } from 'kysely';
import { type EventCursor, isBefore, startOf } from './cursor.ts';
import type { Entries } from './event-rows.ts';
import { findPage, readChangedReadings } from './reading-changes.ts';

/** A stored reading as an event. */
export interface ReadingEvent {
  readonly cursor: EventCursor;
  /** Device time, ISO 8601, UTC. */
  readonly time: string;
  readonly appId: string;
  readonly vehicleId: number;
  /** The reading as the change feed has it, as JSON. */
  readonly data: string;
}

/** Larger than every number of a batch, and written with 18 digits. */
const afterAllBatches = 999_999_999_999_999_999n;

interface ReadingRequest {
  readonly applicationId: number;
  readonly after: EventCursor;
  readonly horizon: bigint;
  readonly limit: number;
  readonly vehicleIds: readonly number[] | undefined;
}

/** Reads the readings stored behind a cursor. Leaves out those of deleted vehicles. */
export async function readReadings(db: Database, request: ReadingRequest): Promise<Entries<ReadingEvent>> {
  const { after, vehicleIds } = request;
  // The readings of a transaction come before its events.
  const start = after.event > 0n ? { ...startOf(after.epoch, after.transaction), batch: afterAllBatches } : after;
  const page = await findPage(db, { ...request, after: start, areFew: vehicleIds !== undefined });
  const readings = await readChangedReadings(db, page);
  const vehicles = await findVehicles(
    db,
    request.applicationId,
    readings.map(({ cursor }) => cursor.vehicleId),
  );
  const entries = readings.flatMap(({ cursor, members }) => {
    const vehicle = vehicles.get(cursor.vehicleId);
    if (!vehicle) return [];
    const { time, vehicleId } = cursor;
    const data = `{${vehicle.member}${members}}`;
    return [{ cursor: { ...cursor, event: 0n }, time: writeTimestamp(time), appId: vehicle.appId, vehicleId, data }];
  });
  const until = { ...page.section.until, event: 0n };
  return { entries, until: isBefore(until, after) ? after : until, more: page.more };
}

interface NamedVehicle {
  id: number;
  appId: string;
  member: string;
}

async function findVehicles(
  db: Database,
  applicationId: number,
  ids: readonly number[],
): Promise<Map<number, NamedVehicle>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<NamedVehicle>`
    select vehicle.id, application.app_id as "appId", ${vehicleMember} as member
    from vehicle join application on application.id = vehicle.application_id
    where vehicle.id = any (${[...new Set(ids)]}::integer[]) and vehicle.application_id = ${applicationId}
      and vehicle.deleted_at is null`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}
