import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { isoMicroseconds } from '@odograph/http/timestamps';
import { type RawBuilder, sql } from 'kysely';
import { changeMembers } from '../reading-json.ts';
import { type ChangePosition, startOf } from './position.ts';

/** What a snapshot knows of the feed of an application. */
export interface FeedState {
  /** Every transaction before this one is over, and what it stored is visible: later ones may still come in between. */
  readonly horizon: bigint;
  /** Changes of this transaction and of earlier ones may be gone. */
  readonly forgottenUntil: bigint;
}

/** The state of the feed; run it in the snapshot that is read from. */
export async function findFeedState(db: Database, { applicationId }: Caller): Promise<FeedState> {
  const { rows } = await sql<{ horizon: string; forgotten: string }>`
    select pg_snapshot_xmin(pg_current_snapshot())::text as horizon, changes_forgotten_until::text as forgotten
    from application where id = ${applicationId}`.execute(db);
  const [row] = rows;
  if (!row) throw new Failure('INVALID_TOKEN');
  return { horizon: BigInt(row.horizon), forgottenUntil: BigInt(row.forgotten) };
}

const instant = (microseconds: bigint) => sql`${isoMicroseconds(microseconds)}::timestamptz`;
const order = sql`transaction_id, batch, time, vehicle_id`;

/** A stretch of the feed: behind a position, up to one, or up to where the snapshot ends. */
interface Stretch {
  readonly applicationId: number;
  readonly after: ChangePosition;
  readonly until: ChangePosition;
}

function beside(comparison: '>' | '<=', position: ChangePosition): RawBuilder<boolean> {
  const { transaction, batch, time, vehicleId } = position;
  const start = sql`(${String(transaction)}::xid8, ${String(batch)}::bigint)`;
  const whole = sql`(${String(transaction)}::xid8, ${String(batch)}::bigint, ${instant(time)}, ${vehicleId}::integer)`;
  // The first of the two is what the index understands.
  return sql<boolean>`(change.transaction_id, change.id) ${sql.raw(comparison === '>' ? '>=' : '<=')} ${start}
    and (change.transaction_id, change.id, key.time, key.vehicle_id) ${sql.raw(comparison)} ${whole}`;
}

/** The keys of a stretch in their order. Batches are taken apart one by one, as far as somebody reads; purged ones are null. */
function keysOf({ applicationId, after, until }: Stretch): RawBuilder<unknown> {
  return sql`select change.transaction_id, change.id as batch, key.time, key.vehicle_id
    from reading_change as change
    cross join lateral unnest(change.vehicle_ids, change.times) as key (vehicle_id, time)
    where change.application_id = ${applicationId} and ${beside('>', after)} and ${beside('<=', until)}
      and key.vehicle_id is not null
    order by ${order}`;
}

interface EndRow {
  scanned: number;
  kept: number;
  last_scanned: PositionRow | null;
  last_kept: PositionRow | null;
  earliest: string | null;
  latest: string | null;
}
type PositionRow = [transaction: string, batch: string, microseconds: string, vehicleId: number];

const positionRow = sql`json_build_array(transaction_id::text, batch::text,
  (extract(epoch from time) * 1000000)::bigint::text, vehicle_id)`;
const lastOf = (table: string) => sql`(select ${positionRow} from ${sql.raw(table)}
  order by transaction_id desc, batch desc, time desc, vehicle_id desc limit 1)`;

/** How many keys are looked at in a page of somebody who may see only some of them. */
const keysPerGrantedPage = 50_000;

/** Readings that follow a position: how many, between which times, and where they end. */
export interface ChangePage {
  readonly stretch: Stretch;
  readonly vehicleIds: readonly number[];
  readonly count: number;
  /** Device times, as text that PostgreSQL reads. */
  readonly times: { readonly earliest: string; readonly latest: string } | undefined;
  /** More may follow: the page was full, or enough was looked at. */
  readonly more: boolean;
}

function toPosition([transaction, batch, time, vehicleId]: PositionRow): ChangePosition {
  return { transaction: BigInt(transaction), batch: BigInt(batch), time: BigInt(time), vehicleId };
}

/** The end of a page, and whether something follows it; where the feed ends when the page is not full. */
function endOf(row: EndRow, { limit, budget }: { limit: number; budget: number }): ChangePosition | undefined {
  const { scanned, kept, last_scanned: lastScanned, last_kept: lastKept } = row;
  if (kept === limit && lastKept && (scanned === budget || String(lastKept) !== String(lastScanned))) {
    return toPosition(lastKept);
  }
  return scanned === budget && lastScanned ? toPosition(lastScanned) : undefined;
}

/**
 * Finds where a page ends. Readings of other vehicles than these are passed over, and count only as work: a page may be
 * short, or empty, and more follow.
 */
export async function findPage(
  db: Database,
  caller: Caller,
  vehicleIds: readonly number[],
  request: { after: ChangePosition; horizon: bigint; limit: number },
): Promise<ChangePage> {
  const { after, limit } = request;
  const horizon = startOf(request.horizon > after.transaction ? request.horizon : after.transaction);
  const open = { applicationId: caller.applicationId, after, until: horizon };
  const budget = caller.userId === undefined ? limit + 1 : Math.max(limit + 1, keysPerGrantedPage);
  const { rows } = await sql<EndRow>`
    with scanned as materialized (${keysOf(open)} limit ${budget}),
    kept as materialized (
      select * from scanned where vehicle_id = any(${vehicleIds}::integer[]) order by ${order} limit ${limit})
    select (select count(*) from scanned) as scanned, (select count(*) from kept) as kept,
      ${lastOf('scanned')} as last_scanned, ${lastOf('kept')} as last_kept,
      (select min(time)::text from kept) as earliest, (select max(time)::text from kept) as latest`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('a query without a table gave no row');
  const end = endOf(row, { limit, budget });
  const { earliest, latest } = row;
  return {
    stretch: { ...open, until: end ?? (horizon.transaction > after.transaction ? horizon : after) },
    vehicleIds,
    count: row.kept,
    times: earliest === null || latest === null ? undefined : { earliest, latest },
    more: end !== undefined,
  };
}

/** The readings of a page, each by its vehicle and its members as JSON text. One that is gone is left out. */
export function readingsOf(
  { stretch, vehicleIds, count }: ChangePage,
  times: { earliest: string; latest: string },
): RawBuilder<{ vehicle_id: number; members: string }> {
  return sql`select stored.vehicle_id, stored.members from (
      select * from (${keysOf(stretch)}) as key where key.vehicle_id = any(${vehicleIds}::integer[])
      order by ${order} limit ${count}) as key
    cross join lateral (
      select reading.vehicle_id, ${changeMembers} as members from reading
      where reading.application_id = ${stretch.applicationId} and reading.vehicle_id = key.vehicle_id
        and reading.time = key.time and reading.time between ${times.earliest} and ${times.latest} limit 1) as stored
    order by key.transaction_id, key.batch, key.time, key.vehicle_id`;
}
