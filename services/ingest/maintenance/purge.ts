import { appendAudit } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { raiseIngestBarrier } from '@odograph/database/ingest-barrier';
import { describeDatabaseError, sqlState } from '@odograph/database/postgres-failure';
import type { Tables } from '@odograph/database/tables';
import type { Logger } from '@odograph/runtime/logger';
import { type Kysely, sql } from 'kysely';

/** A table whose rows belong to one vehicle each, with the conditions of its chunks. */
export interface VehicleTable {
  name: string;
  slices: string[];
}

/** A table whose rows list several vehicles in `vehicle_ids`, with parallel arrays. */
export interface ListTable {
  name: string;
  arrays: string[];
  hasStoredAt: boolean;
}

/**
 * Ordinary tables with their columns, from the catalog: information_schema omits tables without rights, and such a table
 * must make the purge fail rather than be skipped.
 */
const columns = sql`(select relname, attname, attnum, typcategory = 'A' as is_array
  from pg_class join pg_attribute on attrelid = pg_class.oid join pg_type on pg_type.oid = atttypid
  where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
    and attnum > 0 and not attisdropped)`;

/** Finds the tables with a `vehicle_id` in the catalog, so that a table of a later migration is not missed. */
export async function findVehicleTables(db: Database): Promise<VehicleTable[]> {
  const { rows } = await sql<VehicleTable>`
    select quote_ident(relname) as name, case
      when time.column_name is null then array['true']
      else array(select format('%1$I >= %2$L and %1$I < %3$L', time.column_name, range_start, range_end)
        from timescaledb_information.chunks where hypertable_schema = current_schema()
          and hypertable_name = relname order by range_start) end as slices
    from ${columns} as owned
    left join timescaledb_information.dimensions as time on time.hypertable_schema = current_schema()
      and time.hypertable_name = relname and time.dimension_number = 1
    where attname = 'vehicle_id' and relname <> 'vehicle_purge'
    order by relname`.execute(db);
  return rows;
}

/** Finds the tables with `vehicle_ids`. */
export async function findListTables(db: Database): Promise<ListTable[]> {
  const { rows } = await sql<ListTable>`
    select quote_ident(relname) as name, array_agg(quote_ident(attname) order by attnum) filter (where is_array) as arrays,
      bool_or(attname = 'stored_at') as "hasStoredAt"
    from ${columns} as owned group by relname having bool_or(attname = 'vehicle_ids') order by relname`.execute(db);
  return rows;
}

/**
 * Deletes the quarantined uploads of devices while they were linked to the vehicle, and records on each device when its
 * link to a deleted vehicle ended.
 */
async function deleteUploads(db: Database, vehicleId: number): Promise<void> {
  await sql`
    with link as (select device_id, period from device_link where vehicle_id = ${vehicleId}),
    marked as (
      update device set left_deleted_vehicle_at = greatest(left_deleted_vehicle_at, last.until)
      from (select device_id, max(coalesce(upper(period), now())) as until from link group by device_id) as last
      where device.id = last.device_id)
    delete from quarantine using link
    where quarantine.device_id = link.device_id and link.period @> quarantine.received_at`.execute(db);
}

/**
 * Nulls the elements of a vehicle in lists. The elements stay, because cursors of the change feed count them; a row with no
 * other vehicle is deleted.
 */
async function clearListElements(
  db: Database,
  vehicleId: number,
  { name, arrays }: ListTable,
  slice: string,
): Promise<void> {
  const cleared = arrays.map(
    (column) => sql`${sql.raw(column)} = array(
      select case when element.vehicle_id = ${vehicleId} then null else element.value end
      from unnest(vehicle_ids, ${sql.raw(column)}) with ordinality as element (vehicle_id, value, rank) order by rank)`,
  );
  const [table, condition] = [sql.raw(name), sql.raw(slice)];
  await sql`delete from ${table} where ${condition} and ${vehicleId} = all(vehicle_ids)`.execute(db);
  await sql`update ${table} set ${sql.join(cleared)} where ${condition} and ${vehicleId} = any(vehicle_ids)`.execute(
    db,
  );
}

/** Returns one condition for each day of a table of changes, so that no statement runs for long. */
async function slicesOf(db: Database, { name, hasStoredAt }: ListTable): Promise<string[]> {
  if (!hasStoredAt) return ['true'];
  const { rows } = await sql<{ day: string }>`select day::text from generate_series(
    (select min(stored_at) from ${sql.raw(name)})::date, now()::date, interval '1 day') as day`.execute(db);
  return rows.map(({ day }) => `stored_at >= '${day}' and stored_at < timestamptz '${day}' + interval '1 day'`);
}

/** Rows of a table that one transaction deletes. */
type Part = Record<'name' | 'slice', string>;

/**
 * Deletes a vehicle's rows. The statement names the hypertable: TimescaleDB may miss compressed rows of a named chunk.
 * @returns false while other tables reference the rows
 */
async function deleteRows(db: Kysely<Tables>, vehicleId: number, { name, slice }: Part): Promise<boolean> {
  try {
    await db.transaction().execute(async (transaction) => {
      // A chunk may hold any number of the vehicle's rows, so no limit on decompression applies.
      await sql`set local timescaledb.max_tuples_decompressed_per_dml_transaction = 0`.execute(transaction);
      await sql`delete from ${sql.raw(name)} where vehicle_id = ${vehicleId} and ${sql.raw(slice)}`.execute(
        transaction,
      );
    });
  } catch (error) {
    const isReferenced = sqlState(error) === '23503';
    if (!isReferenced) throw error;
    return false;
  }
  return true;
}

/** Takes a vehicle out of its groups and ends all access to it, with locks in the order of lockGroups. */
async function deleteAccess(db: Kysely<Tables>, vehicleId: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await raiseIngestBarrier(transaction);
    await sql`select lock_vehicle_access(application_id) from vehicle where id = ${vehicleId}`.execute(transaction);
    await sql`delete from vehicle_group_member where vehicle_id = ${vehicleId}`.execute(transaction);
    await sql`delete from vehicle_grant where vehicle_id = ${vehicleId}`.execute(transaction);
  });
}

/** Deletes a vehicle's rows from every table, referenced ones last. Yields the table name of each step. */
async function* deleteEverywhere(db: Kysely<Tables>, vehicleId: number): AsyncGenerator<string> {
  const tables = await findVehicleTables(db);
  let left: Part[] = tables.flatMap(({ name, slices }) => slices.map((slice) => ({ name, slice })));
  for (let before = left.length + 1; left.length > 0 && left.length < before; ) {
    before = left.length;
    const waiting: Part[] = [];
    for (const part of left) {
      if (!(await deleteRows(db, vehicleId, part))) waiting.push(part);
      yield part.name;
    }
    left = waiting;
  }
}

/**
 * Purges a deleted vehicle. Each step is a transaction of its own and idempotent, so an interrupted purge starts over.
 * Yields the name of each completed step.
 */
export async function* purgeSteps(db: Kysely<Tables>, vehicleId: number): AsyncGenerator<string> {
  await deleteUploads(db, vehicleId);
  yield 'quarantine';
  for (const table of await findListTables(db)) {
    for (const slice of await slicesOf(db, table)) {
      await clearListElements(db, vehicleId, table, slice);
      yield table.name;
    }
  }
  await deleteAccess(db, vehicleId);
  yield 'vehicle_access';
  yield* deleteEverywhere(db, vehicleId);
  await sql`delete from vehicle where id = ${vehicleId} and deleted_at is not null`.execute(db);
  yield 'vehicle';
}

/** Counts the remaining rows of a vehicle by table; tables without any are omitted. */
export async function findRemains(db: Database, vehicleId: number): Promise<Record<string, number>> {
  const conditions = [
    { name: 'vehicle', holds: sql`id = ${vehicleId}` },
    ...(await findVehicleTables(db)).map(({ name }) => ({ name, holds: sql`vehicle_id = ${vehicleId}` })),
    ...(await findListTables(db)).map(({ name }) => ({ name, holds: sql`${vehicleId} = any(vehicle_ids)` })),
  ];
  const remains: Record<string, number> = {};
  for (const { name, holds } of conditions) {
    const { rows } = await sql<{
      count: number;
    }>`select count(*) as count from ${sql.raw(name)} where ${holds}`.execute(db);
    const count = rows[0]?.count ?? 0;
    if (count > 0) remains[name] = count;
  }
  return remains;
}

async function markVerified(db: Kysely<Tables>, vehicleId: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const marked = await transaction
      .updateTable('vehicle_purge')
      .set({ verified_at: sql<Date>`now()` })
      .where('vehicle_id', '=', vehicleId)
      .where('verified_at', 'is', null)
      .returning('application_id as chain')
      .executeTakeFirst();
    if (marked === undefined) return;
    const done = { action: 'vehicle.purge', subject: `vehicle:${vehicleId}`, outcome: 'verified' };
    await appendAudit(transaction, { ...marked, ...done, actor: 'platform', address: '' });
  });
}

async function purge(db: Kysely<Tables>, vehicleId: number, logger: Logger): Promise<boolean> {
  try {
    for await (const step of purgeSteps(db, vehicleId)) logger.debug({ vehicleId, step }, 'purge step done');
    const remains = await findRemains(db, vehicleId);
    if (Object.keys(remains).length > 0) {
      logger.warn({ vehicleId, remains }, 'purge incomplete; retrying');
      return false;
    }
    await markVerified(db, vehicleId);
    return true;
  } catch (error) {
    logger.error({ vehicleId, ...describeDatabaseError(error) }, 'purge failed; retrying');
    return false;
  }
}

/**
 * Purges deleted vehicles and verifies that no row of them remains. A failed purge is repeated by the next call.
 * @returns the number of verified vehicles
 */
export async function purgeDeletedVehicles(db: Kysely<Tables>, logger: Logger): Promise<number> {
  const open = await db
    .selectFrom('vehicle_purge')
    .select('vehicle_id as vehicleId')
    .where('verified_at', 'is', null)
    .orderBy('requested_at')
    .execute();
  let verified = 0;
  for (const { vehicleId } of open) if (await purge(db, vehicleId, logger)) verified += 1;
  return verified;
}
