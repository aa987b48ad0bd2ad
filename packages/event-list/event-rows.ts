import { type EventType, eventTypes } from '@odograph/contracts/events';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { sql } from 'kysely';
import { type EventCursor, startOf } from './cursor.ts';

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

/** What a page of rows holds. */
export interface RowRequest {
  readonly applicationIds: readonly number[];
  readonly after: EventCursor;
  /** Only rows of earlier transactions. */
  readonly horizon: bigint;
  readonly limit: number;
  readonly types: readonly EventType[];
  readonly vehicleIds: readonly number[] | undefined;
}

/** Entries in order, and the cursor up to which they are complete. */
export interface Entries<Entry> {
  readonly entries: readonly Entry[];
  readonly until: EventCursor;
  readonly more: boolean;
}

interface Row {
  transaction: string;
  number: string;
  type: EventType;
  time: string;
  app_id: string;
  vehicle_id: number | null;
  subject: string;
  details: Record<string, unknown> | null;
  is_asked: boolean;
}

/** Rows examined for each one of a page of which only some are asked for, and at most. */
const examinedShare = 10;
const mostExamined = 5000;

/**
 * Reads the rows behind a cursor that are asked for. Examines a limited number of others, so a page may be short or empty
 * although more follow. Leaves out the events of deleted vehicles, and of vehicles that have left the application.
 */
export async function readRows(db: Database, request: RowRequest): Promise<Entries<EventRow>> {
  const { applicationIds, after, horizon, limit, types, vehicleIds } = request;
  const isFiltered = vehicleIds !== undefined || types.length < eventTypes.length - 1;
  const most = isFiltered ? Math.max(limit, Math.min(limit * examinedShare, mostExamined)) : limit;
  const cursor = sql`(${String(after.transaction)}::xid8, ${String(after.event)}::bigint)`;
  const ofVehicles = vehicleIds === undefined ? sql`true` : sql`page.vehicle_id = any (${[...vehicleIds]}::integer[])`;
  const isAsked = sql`page.type = any (${[...types]}::text[]) and ${ofVehicles}
    and (page.vehicle_id is null or (vehicle.deleted_at is null and vehicle.application_id = page.application_id))`;
  const { rows } = await sql<Row>`
    with page as materialized (
      select row.* from unnest(${[...applicationIds]}::integer[]) as one (id) cross join lateral (
        select * from event where application_id = one.id and (transaction_id, id) > ${cursor}
          and transaction_id < ${String(horizon)}::xid8
        order by transaction_id, id limit ${most}) as row
      order by row.transaction_id, row.id limit ${most}),
    asked as materialized (
      select page.* from page left join vehicle on vehicle.id = page.vehicle_id where ${isAsked}
      order by page.transaction_id, page.id limit ${limit}),
    last as (select * from page order by transaction_id desc, id desc limit 1)
    select found.transaction_id::text as transaction, found.id::text as number,
      found.type, ${isoTime('found.occurred_at')} as time, application.app_id, found.vehicle_id, found.subject, found.details, found.is_asked
    from (select *, true as is_asked from asked union all
      select *, false from last where (select count(*) from page) >= ${most} or (select count(*) from asked) >= ${limit}) as found
    join application on application.id = found.application_id
    order by found.transaction_id, found.id, found.is_asked desc`.execute(db);
  return toEntries(rows, request);
}

function toEntries(rows: readonly Row[], { after, horizon, limit }: RowRequest): Entries<EventRow> {
  const entries = rows.filter((row) => row.is_asked).map((row) => toEntry(row, after.epoch));
  const examined = rows.find((row) => !row.is_asked);
  // A replica that lags behind the one that issued the cursor must not move it back.
  const end = horizon > after.transaction ? startOf(after.epoch, horizon) : after;
  if (!examined) return { entries, until: end, more: false };
  const last = entries.at(-1);
  const until = entries.length === limit && last ? last.cursor : toEntry(examined, after.epoch).cursor;
  return { entries, until, more: true };
}

function toEntry(row: Row, epoch: bigint): EventRow {
  return {
    cursor: { ...startOf(epoch, BigInt(row.transaction)), event: BigInt(row.number) },
    type: row.type,
    time: row.time,
    appId: row.app_id,
    vehicleId: row.vehicle_id ?? undefined,
    subject: row.subject,
    details: row.details ?? undefined,
  };
}
