import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { isoMicroseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { type RawBuilder, sql } from 'kysely';
import { changeMembers } from '../reading-json.ts';
import { coverDays, type Span } from './days.ts';
import { type ChangePosition, endOf, startOf } from './position.ts';

/** What a snapshot knows of the feed of an application. */
export interface FeedState {
  /** Every transaction before this one is over, and what it stored is visible: later ones may still come in between. */
  readonly horizon: bigint;
  /** Changes of this transaction and of earlier ones may be gone. */
  readonly forgottenUntil: bigint;
}

/**
 * The oldest transaction that a snapshot sees running, or the first that it has not heard of: whatever is stored by an
 * earlier one is visible for ever. Transactions of the server's other databases store nothing here, and some run for hours;
 * a replica is not told whose they are.
 */
const feedHorizonBeside = (
  elsewhere: readonly string[],
) => sql<string>`(case when pg_is_in_recovery() then pg_snapshot_xmin(pg_current_snapshot())
  else coalesce((
    select running.id from pg_snapshot_xip(pg_current_snapshot()) as running (id)
    where running.id::xid <> all(${elsewhere}::xid[]) and not exists (
      select from pg_locks as held
      join pg_stat_activity as holder on holder.pid = held.pid
      join pg_database as other on other.oid = holder.datid and other.datname <> current_database()
      where held.locktype = 'transactionid' and held.granted and held.mode = 'ExclusiveLock'
        and held.transactionid = running.id::xid)
    order by running.id limit 1), pg_snapshot_xmax(pg_current_snapshot())) end)`;

export const feedHorizon = feedHorizonBeside([]);

/**
 * Transactions that run in other databases of the server, to be asked for before the snapshot: one that ends between the
 * snapshot and the look at the locks would be taken for one of this database, and set the feed back for a moment.
 */
export async function findTransactionsElsewhere(db: Database): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select held.transactionid::text as id from pg_locks as held
    join pg_stat_activity as holder on holder.pid = held.pid
    join pg_database as other on other.oid = holder.datid and other.datname <> current_database()
    where held.locktype = 'transactionid' and held.granted and held.mode = 'ExclusiveLock'`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * The state of the feed; run it in the snapshot that is read from.
 * @param elsewhere from findTransactionsElsewhere, before the snapshot
 */
export async function findFeedState(
  db: Database,
  { applicationId }: Caller,
  elsewhere: readonly string[],
): Promise<FeedState> {
  const { rows } = await sql<{ horizon: string; forgotten: string }>`
    select ${feedHorizonBeside(elsewhere)}::text as horizon, changes_forgotten_until::text as forgotten
    from application where id = ${applicationId}`.execute(db);
  const [row] = rows;
  if (!row) throw new Failure('INVALID_TOKEN');
  return { horizon: BigInt(row.horizon), forgottenUntil: BigInt(row.forgotten) };
}

const instant = (microseconds: bigint) => sql`${isoMicroseconds(microseconds)}::timestamptz`;
const order = sql`transaction_id, batch, time, vehicle_id`;

/** A stretch of the feed: behind a position, up to and with another. */
interface Stretch {
  readonly applicationId: number;
  readonly after: ChangePosition;
  readonly until: ChangePosition;
}

const batchOf = ({ transaction, batch }: ChangePosition) =>
  sql`(${String(transaction)}::xid8, ${String(batch)}::bigint)`;
const keyOf = ({ transaction, batch, time, vehicleId }: ChangePosition) =>
  sql`(${String(transaction)}::xid8, ${String(batch)}::bigint, ${instant(time)}, ${vehicleId}::integer)`;
const key = sql`(change.transaction_id, change.id, key.time, key.vehicle_id)`;

/** What the index of batches understands, for positions after this one and in its batch. */
const notBefore = (position: ChangePosition) => sql`(change.transaction_id, change.id) >= ${batchOf(position)}`;
const behind = (position: ChangePosition) => sql`${key} > ${keyOf(position)}`;
const upTo = (position: ChangePosition) =>
  sql`(change.transaction_id, change.id) <= ${batchOf(position)} and ${key} <= ${keyOf(position)}`;

/** The keys of a stretch in their order; those of purged readings are null and left out. */
function keysOf({ applicationId, after, until }: Stretch): RawBuilder<unknown> {
  return sql`select change.transaction_id, change.id as batch, key.time, key.vehicle_id
    from reading_change as change
    cross join lateral unnest(change.vehicle_ids, change.times) as key (vehicle_id, time)
    where change.application_id = ${applicationId} and ${notBefore(after)}
      and ${behind(after)} and ${upTo(until)} and key.vehicle_id is not null
    order by ${order}`;
}

/** How many keys are looked at in a page of somebody who may see only some of them. */
const keysPerGrantedPage = 50_000;

interface ReachRow {
  transaction: string;
  batch: string;
  more: boolean;
}

/**
 * The batch up to which so many keys lie behind a position. Batches are visited one by one, since nothing tells the planner
 * how much is in them, and it would rather read all that there are.
 * @returns undefined when none follows
 */
async function findReach(
  db: Database,
  {
    applicationId,
    after,
    horizon,
    keys,
  }: { applicationId: number; after: ChangePosition; horizon: bigint; keys: number },
): Promise<ReachRow | undefined> {
  const inFeed = sql`change.application_id = ${applicationId} and change.transaction_id < ${String(horizon)}::xid8`;
  const next = (place: string) =>
    sql`(change.transaction_id, change.id) > (${sql.raw(`${place}.transaction_id, ${place}.id`)})`;
  const inOrder = sql`order by change.transaction_id, change.id limit 1`;
  const { rows } = await sql<ReachRow>`
    with recursive batch as (
      (select change.transaction_id, change.id, (
          select count(*) from unnest(change.vehicle_ids, change.times) as key (vehicle_id, time)
          where ${behind(after)}) as keys
        from reading_change as change where ${inFeed} and ${notBefore(after)} ${inOrder})
      union all
      select following.transaction_id, following.id, batch.keys + following.keys from batch cross join lateral (
        select change.transaction_id, change.id, cardinality(change.vehicle_ids) as keys
        from reading_change as change where ${inFeed} and ${next('batch')} ${inOrder}) as following
      where batch.keys < ${keys})
    select last.transaction_id::text as transaction, last.id::text as batch,
      exists (select from reading_change as change where ${inFeed} and ${next('last')}) as more
    from (select transaction_id, id from batch order by transaction_id desc, id desc limit 1) as last`.execute(db);
  return rows[0];
}

interface PageRow {
  found: number;
  days: number[] | null;
  last: [transaction: string, batch: string, microseconds: string, vehicleId: number] | null;
}

/** Readings that follow a position: how many, of which days since the epoch, and where they end. */
export interface ChangePage {
  readonly stretch: Stretch;
  readonly vehicleIds: readonly number[];
  readonly count: number;
  readonly days: readonly number[];
  /** More follow, though not always readings that the caller may see. */
  readonly more: boolean;
}

async function findKeys(
  db: Database,
  stretch: Stretch,
  vehicleIds: readonly number[],
  limit: number,
): Promise<PageRow> {
  const { rows } = await sql<PageRow>`
    with found as materialized (
      select * from (${keysOf(stretch)}) as key where vehicle_id = any(${vehicleIds}::integer[])
      order by ${order} limit ${limit + 1}),
    page as materialized (select * from found order by ${order} limit ${limit})
    select (select count(*) from found) as found,
      (select json_build_array(transaction_id::text, batch::text, (extract(epoch from time) * 1000000)::bigint::text, vehicle_id)
        from page order by transaction_id desc, batch desc, time desc, vehicle_id desc limit 1) as last,
      (select array_agg(day order by day) from (
        select distinct floor(extract(epoch from time) / 86400)::integer as day from page) as days) as days`.execute(
    db,
  );
  return rows[0] ?? { found: 0, days: null, last: null };
}

/**
 * Finds where a page ends. Readings of other vehicles than these are passed over, and count only as work: a page may be
 * short, or empty, and more follow.
 */
export async function findPage(
  db: Database,
  { applicationId, userId }: Caller,
  vehicleIds: readonly number[],
  { after, horizon, limit }: { after: ChangePosition; horizon: bigint; limit: number },
): Promise<ChangePage> {
  const keys = userId === undefined ? limit + 1 : Math.max(limit + 1, keysPerGrantedPage);
  const reach = await findReach(db, { applicationId, after, horizon, keys });
  // A replica that is behind the one that gave the position must not set it back.
  const end = horizon > after.transaction ? startOf(horizon) : after;
  if (!reach) return { stretch: { applicationId, after, until: end }, vehicleIds, count: 0, days: [], more: false };

  const until = endOf(BigInt(reach.transaction), BigInt(reach.batch));
  const { found, days, last } = await findKeys(db, { applicationId, after, until }, vehicleIds, limit);
  const page = { vehicleIds, count: Math.min(found, limit), days: days ?? [] };
  if (found > limit && last) {
    const [transaction, batch, time, vehicleId] = last;
    const cut = { transaction: BigInt(transaction), batch: BigInt(batch), time: BigInt(time), vehicleId };
    return { ...page, stretch: { applicationId, after, until: cut }, more: true };
  }
  return { ...page, stretch: { applicationId, after, until: reach.more ? until : end }, more: reach.more };
}

type StoredRow = RawBuilder<{ vehicle_id: number; members: string }>;

/** Readings of a span by the keys of `source`. Key by key, whatever the planner thinks of it: there are few. */
function readingsIn(span: Span, source: RawBuilder<unknown>, applicationId: number): StoredRow {
  return sql`select key.transaction_id, key.batch, key.time, key.vehicle_id, stored.members from ${source} as key
    cross join lateral (select ${changeMembers} as members from reading
      where reading.application_id = ${applicationId} and reading.vehicle_id = key.vehicle_id and reading.time = key.time
        and reading.time >= ${span.from} and reading.time < ${span.until} limit 1) as stored
    where key.time >= ${span.from} and key.time < ${span.until}`;
}

/** The readings of a page, each by its vehicle and its members as JSON text. One that is gone is left out. */
export function readingsOf({ stretch, vehicleIds, count, days }: ChangePage): StoredRow {
  const keys = sql`select * from (${keysOf(stretch)}) as key where key.vehicle_id = any(${vehicleIds}::integer[])
    order by ${order} limit ${count}`;
  const [span, ...others] = coverDays(days);
  if (!span) throw new Error('a page without readings has none to read');
  if (others.length === 0) return sql`${readingsIn(span, sql`(${keys})`, stretch.applicationId)} order by ${order}`;
  const parts = [span, ...others].map((one) => readingsIn(one, sql`page`, stretch.applicationId));
  return sql`with page as materialized (${keys}) ${sql.join(parts, sql` union all `)} order by ${order}`;
}
