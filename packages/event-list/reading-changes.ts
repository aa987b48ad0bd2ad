import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import { type Batch, readBatch } from '@odograph/database/batches';
import type { Database } from '@odograph/database/database';
import { changeMembers } from '@odograph/database/reading-json';
import { type RawBuilder, sql } from 'kysely';
import { type ChangeCursor, endOf, type FeedState, startOf } from './cursor.ts';

const instant = (time: Microseconds) => sql`${isoMicroseconds(time)}::timestamptz`;

/**
 * The oldest transaction that was running when the snapshot was taken: all earlier ones have ended, so what they stored is
 * visible. Transactions of all databases of the server count, so a long one delays the feed.
 */
export const feedHorizon = sql<string>`pg_snapshot_xmin(pg_current_snapshot())`;

/**
 * Reads the state of feeds; run it in the snapshot that is read from.
 * @param contents what is read: the rows of events, the changes of readings, or both
 */
export async function findFeedState(
  db: Database,
  applicationIds: readonly number[],
  contents: readonly ('events' | 'changes')[],
): Promise<FeedState> {
  const forgotten = sql.join(contents.map((content) => sql.ref(`${content}_forgotten_until`)));
  const { rows } = await sql<{ epoch: string; horizon: string; forgotten: string | null; isReplica: boolean }>`
    select feed_epoch::text as epoch, ${feedHorizon}::text as horizon, pg_is_in_recovery() as "isReplica",
      (select max(greatest(${forgotten}))::text from application
        where id = any (${[...applicationIds]}::integer[])) as forgotten
    from installation`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('the table installation is empty');
  const { epoch, horizon, isReplica } = row;
  return { epoch: BigInt(epoch), horizon: BigInt(horizon), forgottenUntil: BigInt(row.forgotten ?? 0), isReplica };
}

const order = sql`transaction_id, batch, time, vehicle_id`;

/** A part of the feed: after one cursor, up to and including another. */
interface Section {
  readonly applicationId: number;
  readonly after: ChangeCursor;
  readonly until: ChangeCursor;
}

const batchOf = ({ transaction, batch }: ChangeCursor) => sql`(${String(transaction)}::xid8, ${String(batch)}::bigint)`;
const keyOf = ({ transaction, batch, time, vehicleId }: ChangeCursor) =>
  sql`(${String(transaction)}::xid8, ${String(batch)}::bigint, ${instant(time)}, ${vehicleId}::integer)`;
const key = sql`(change.transaction_id, change.id, key.time, key.vehicle_id)`;

/** Uses the index of batches; true also for the batch of the cursor itself. */
const inBatchFrom = (cursor: ChangeCursor) => sql`(change.transaction_id, change.id) >= ${batchOf(cursor)}`;
const isBehind = (cursor: ChangeCursor) => sql`${key} > ${keyOf(cursor)}`;
const isUpTo = (cursor: ChangeCursor) =>
  sql`(change.transaction_id, change.id) <= ${batchOf(cursor)} and ${key} <= ${keyOf(cursor)}`;

/** Selects the keys of a section in order. Keys of purged readings are null and left out. */
function selectKeys({ applicationId, after, until }: Section): RawBuilder<unknown> {
  return sql`select change.transaction_id, change.id as batch, key.time, key.vehicle_id
    from reading_change as change
    cross join lateral unnest(change.vehicle_ids, change.times) as key (vehicle_id, time)
    where change.application_id = ${applicationId} and ${inBatchFrom(after)}
      and ${isBehind(after)} and ${isUpTo(until)} and key.vehicle_id is not null
    order by ${order}`;
}

/** Maximum of keys examined for a page in user mode, where only some are visible. */
const keysPerGrantedPage = 50_000;

/**
 * Finds the first batch with which at least `keys` keys follow a cursor. Visits the batches one by one, because the planner
 * cannot estimate the number of keys of a batch and would read all batches.
 * @returns undefined when no batch follows
 */
async function findReach(db: Database, { applicationId, after, horizon }: ChangeRequest, keys: number) {
  const inFeed = sql`change.application_id = ${applicationId} and change.transaction_id < ${String(horizon)}::xid8`;
  const next = (place: string) =>
    sql`(change.transaction_id, change.id) > (${sql.raw(`${place}.transaction_id, ${place}.id`)})`;
  const inOrder = sql`order by change.transaction_id, change.id limit 1`;
  const { rows } = await sql<{ transaction: string; batch: string; more: boolean }>`
    with recursive batch as (
      (select change.transaction_id, change.id, (
          select count(*) from unnest(change.vehicle_ids, change.times) as key (vehicle_id, time)
          where ${isBehind(after)}) as keys
        from reading_change as change where ${inFeed} and ${inBatchFrom(after)} ${inOrder})
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

/** Readings after a cursor: their number, their days since the epoch, and the end cursor. */
export interface ChangePage {
  readonly section: Section;
  readonly vehicleIds: readonly number[] | undefined;
  readonly count: number;
  readonly days: readonly number[];
  /** More batches follow, not necessarily with readings that the caller may see. */
  readonly more: boolean;
}

/** True for the keys of some vehicles; for all keys without them. */
const isOfVehicles = (vehicleIds: readonly number[] | undefined) =>
  vehicleIds === undefined ? sql`true` : sql`key.vehicle_id = any(${[...vehicleIds]}::integer[])`;

async function findKeys(
  db: Database,
  section: Section,
  vehicleIds: readonly number[] | undefined,
  limit: number,
): Promise<PageRow> {
  const { rows } = await sql<PageRow>`
    with found as materialized (
      select * from (${selectKeys(section)}) as key where ${isOfVehicles(vehicleIds)}
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

/** A request for a page of changes. */
export interface ChangeRequest {
  readonly applicationId: number;
  /** Only readings of these vehicles; all of the application without it. */
  readonly vehicleIds?: readonly number[] | undefined;
  /** Whether these are only some of the vehicles, so that many keys may have to be skipped. */
  readonly areFew: boolean;
  readonly after: ChangeCursor;
  readonly horizon: bigint;
  readonly limit: number;
}

/**
 * Finds the end of a page. Skips readings of other vehicles, but only a limited number: a page may be short or empty although
 * more follow.
 */
export async function findPage(db: Database, request: ChangeRequest): Promise<ChangePage> {
  const { applicationId, vehicleIds, areFew, after, horizon, limit } = request;
  const keys = areFew ? Math.max(limit + 1, keysPerGrantedPage) : limit + 1;
  const reach = await findReach(db, request, keys);
  // A replica that lags behind the one that issued the cursor must not move it back.
  const end = horizon > after.transaction ? startOf(after.epoch, horizon) : after;
  if (!reach) return { section: { applicationId, after, until: end }, vehicleIds, count: 0, days: [], more: false };

  const until = endOf(after.epoch, BigInt(reach.transaction), BigInt(reach.batch));
  const { found, days, last } = await findKeys(db, { applicationId, after, until }, vehicleIds, limit);
  const page = { vehicleIds, count: Math.min(found, limit), days: days ?? [] };
  if (found > limit && last) {
    const [transaction, batch, time, vehicleId] = last;
    const cut = { ...after, transaction: BigInt(transaction), batch: BigInt(batch), time: BigInt(time), vehicleId };
    return { ...page, section: { applicationId, after, until: cut }, more: true };
  }
  return { ...page, section: { applicationId, after, until: reach.more ? until : end }, more: reach.more };
}

/** An interval of time as ISO 8601: `from` inclusive, `until` exclusive. */
type Interval = { readonly from: string; readonly until: string };

const dayMs = 86_400_000;
/** Each interval is a branch of one statement. */
const maxIntervals = 100;

/**
 * Covers days by intervals of a few days each. The readings of a page lie in few of many days, and a branch limited to a
 * short interval is planned for few chunks.
 * @param days since the epoch, ascending
 * @param length days in an interval, doubled until the intervals are few enough
 */
function coverDays(days: readonly number[], length = 4): Interval[] {
  const starts: number[] = [];
  for (const day of days) {
    const last = starts.at(-1);
    if (last === undefined || day >= last + length) starts.push(day);
  }
  if (starts.length > maxIntervals) return coverDays(days, length * 2);
  const iso = (day: number) => new Date(day * dayMs).toISOString();
  return starts.map((start) => ({ from: iso(start), until: iso(start + length) }));
}

type StoredRow = { vehicle_id: number; members: string };

/** Selects readings of an interval by the keys of `source`, with a nested loop because the keys are few. */
function readingsIn(interval: Interval, source: RawBuilder<unknown>, applicationId: number): RawBuilder<StoredRow> {
  return sql`select key.transaction_id, key.batch, key.time, key.vehicle_id, stored.members from ${source} as key
    cross join lateral (select ${changeMembers} as members from reading_in_units as reading
      where reading.application_id = ${applicationId} and reading.vehicle_id = key.vehicle_id and reading.time = key.time
        and reading.time >= ${interval.from} and reading.time < ${interval.until} limit 1) as stored
    where key.time >= ${interval.from} and key.time < ${interval.until}`;
}

/** Selects the readings of a page in order. Readings that were purged are missing. */
function selectReadings({ section, vehicleIds, count, days }: ChangePage): RawBuilder<StoredRow> {
  const keys = sql`select * from (${selectKeys(section)}) as key where ${isOfVehicles(vehicleIds)}
    order by ${order} limit ${count}`;
  const [interval, ...others] = coverDays(days);
  if (!interval) throw new Error('a page without readings has no days');
  if (others.length === 0) {
    return sql`${readingsIn(interval, sql`(${keys})`, section.applicationId)} order by ${order}`;
  }
  const parts = [interval, ...others].map((one) => readingsIn(one, sql`page`, section.applicationId));
  return sql`with page as materialized (${keys}) ${sql.join(parts, sql` union all `)} order by ${order}`;
}

/**
 * Reads as many readings of a page as fit into `bytes`.
 * @param members member `"vehicle":{…}` of each vehicle
 */
export async function readChanges(
  db: Database,
  page: ChangePage,
  members: ReadonlyMap<number, string>,
  bytes: number,
): Promise<Batch<StoredRow> & { readonly pieces: readonly Buffer[] }> {
  const write = (row: StoredRow) => `{${members.get(row.vehicle_id) ?? ''}${row.members}}`;
  const pieces: Buffer[] = [];
  const batch = await readBatch(db, selectReadings(page), write, bytes, (piece) => pieces.push(piece));
  return { ...batch, pieces };
}

/** A reading of a page with the cursor behind it. */
export interface ChangedReading {
  readonly cursor: ChangeCursor;
  /** Members behind the vehicle, as JSON. */
  readonly members: string;
}

/** Reads the readings of a page in order, with their cursors. Those that were purged are missing. */
export async function readChangedReadings(db: Database, page: ChangePage): Promise<ChangedReading[]> {
  if (page.count === 0) return [];
  const { rows } = await sql<
    StoredRow & { transaction: string; batch: string; time_us: string }
  >`select transaction_id::text as transaction, batch::text,
      (extract(epoch from time) * 1000000)::bigint::text as time_us, vehicle_id, members
    from (${selectReadings(page)}) as found order by ${order}`.execute(db);
  return rows.map((row) => ({
    cursor: {
      ...startOf(page.section.after.epoch, BigInt(row.transaction)),
      ...{ batch: BigInt(row.batch), time: BigInt(row.time_us), vehicleId: row.vehicle_id },
    },
    members: row.members,
  }));
}
