import { type EventType, eventTypes } from '@odograph/contracts/events';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { vehicleMember } from '@odograph/database/reading-json';
import { writeTimestamp } from '@odograph/database/trips';
import { sql } from 'kysely';
import { type EventCursor, isBefore, startOf } from './cursor.ts';
import { findPage, readChangedReadings } from './reading-changes.ts';

/** A row of the table event; the content of its subject is not read yet. */
export interface EventRow {
  readonly cursor: EventCursor;
  readonly type: EventType;
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly appId: string;
  readonly vehicleId: number | undefined;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
}

/** A request for a page of entries. */
interface EntryRequest {
  readonly after: EventCursor;
  /** Only entries of earlier transactions. */
  readonly horizon: bigint;
  readonly limit: number;
  readonly vehicleIds: readonly number[] | undefined;
}
interface RowRequest extends EntryRequest {
  readonly applicationIds: readonly number[];
  readonly types: readonly EventType[];
}

/** Entries in order, and the cursor up to which they are complete. */
export interface Entries<Entry> {
  readonly entries: readonly Entry[];
  readonly until: EventCursor;
  readonly more: boolean;
}

interface Row extends Pick<EventRow, 'type' | 'time' | 'appId' | 'subject'> {
  readonly transaction: string;
  readonly number: string;
  readonly vehicleId: number | null;
  readonly details: EventRow['details'] | null;
  readonly isAsked: boolean;
}

/** Rows examined for each one of a page of which only some are asked for, and at most. */
const examinedShare = 10;
const maxExamined = 5000;

/**
 * Reads the rows behind a cursor that are asked for. Examines a limited number of others, so a page may be short or empty
 * although more follow. Leaves out the events of deleted vehicles, and of vehicles that have left the application.
 */
export async function readRows(db: Database, request: RowRequest): Promise<Entries<EventRow>> {
  const { applicationIds, after, horizon, limit, types, vehicleIds } = request;
  const isFiltered = vehicleIds !== undefined || types.length < eventTypes.length - 1;
  const maxRows = isFiltered ? Math.max(limit, Math.min(limit * examinedShare, maxExamined)) : limit;
  const cursor = sql`(${String(after.transaction)}::xid8, ${String(after.event)}::bigint)`;
  const ofVehicles = vehicleIds === undefined ? sql`true` : sql`page.vehicle_id = any (${[...vehicleIds]}::integer[])`;
  const isAsked = sql`page.type = any (${[...types]}::text[]) and ${ofVehicles}
    and (page.vehicle_id is null or (vehicle.deleted_at is null and vehicle.application_id = page.application_id))`;
  const { rows } = await sql<Row>`
    with page as materialized (
      select row.* from unnest(${[...applicationIds]}::integer[]) as one (id) cross join lateral (
        select * from event where application_id = one.id and (transaction_id, id) > ${cursor}
          and transaction_id < ${String(horizon)}::xid8
        order by transaction_id, id limit ${maxRows}) as row
      order by row.transaction_id, row.id limit ${maxRows}),
    asked as materialized (
      select page.* from page left join vehicle on vehicle.id = page.vehicle_id where ${isAsked}
      order by page.transaction_id, page.id limit ${limit}),
    last as (select * from page order by transaction_id desc, id desc limit 1)
    select found.transaction_id::text as transaction, found.id::text as number,
      found.type, ${isoTime('found.occurred_at')} as time, application.app_id as "appId", found.vehicle_id as "vehicleId",
      found.subject, found.details, found.is_asked as "isAsked"
    from (select *, true as is_asked from asked union all
      select *, false from last where (select count(*) from page) >= ${maxRows} or (select count(*) from asked) >= ${limit}) as found
    join application on application.id = found.application_id
    order by found.transaction_id, found.id, found.is_asked desc`.execute(db);
  return toEntries(rows, request);
}

function toEntries(rows: readonly Row[], { after, horizon, limit }: RowRequest): Entries<EventRow> {
  const entries = rows.filter((row) => row.isAsked).map((row) => toEntry(row, after.epoch));
  const examined = rows.find((row) => !row.isAsked);
  // A replica that lags behind the one that issued the cursor must not move it back.
  const end = horizon > after.transaction ? startOf(after.epoch, horizon) : after;
  if (!examined) return { entries, until: end, more: false };
  const last = entries.at(-1);
  const until = entries.length === limit && last ? last.cursor : toEntry(examined, after.epoch).cursor;
  return { entries, until, more: true };
}

function toEntry(found: Row, epoch: bigint): EventRow {
  const { transaction, number, vehicleId, details, isAsked: _, ...row } = found;
  const cursor = { ...startOf(epoch, BigInt(transaction)), event: BigInt(number) };
  return { ...row, cursor, vehicleId: vehicleId ?? undefined, details: details ?? undefined };
}

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

/** Reads the readings stored behind a cursor. Leaves out those of deleted vehicles. */
export async function readReadings(
  db: Database,
  request: EntryRequest & { readonly applicationId: number },
): Promise<Entries<ReadingEvent>> {
  const { after, vehicleIds } = request;
  // The readings of a transaction come before its events.
  const start = after.event > 0n ? { ...startOf(after.epoch, after.transaction), batch: afterAllBatches } : after;
  const page = await findPage(db, { ...request, after: start, areFew: vehicleIds !== undefined });
  const readings = await readChangedReadings(db, page);
  const ids = new Set(readings.map(({ cursor }) => cursor.vehicleId));
  const vehicles = ids.size > 0 ? await findVehicles(db, request.applicationId, ids) : undefined;
  const entries = readings.flatMap(({ cursor, members }) => {
    const vehicle = vehicles?.get(cursor.vehicleId);
    if (!vehicle) return [];
    const { time, vehicleId } = cursor;
    const data = `{${vehicle.member}${members}}`;
    return [{ cursor: { ...cursor, event: 0n }, time: writeTimestamp(time), appId: vehicle.appId, vehicleId, data }];
  });
  const until = { ...page.section.until, event: 0n };
  return { entries, until: isBefore(until, after) ? after : until, more: page.more };
}

async function findVehicles(db: Database, applicationId: number, ids: ReadonlySet<number>) {
  const { rows } = await sql<{ id: number; appId: string; member: string }>`
    select vehicle.id, application.app_id as "appId", ${vehicleMember} as member
    from vehicle join application on application.id = vehicle.application_id
    where vehicle.id = any (${[...ids]}::integer[]) and vehicle.application_id = ${applicationId}
      and vehicle.deleted_at is null`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}
