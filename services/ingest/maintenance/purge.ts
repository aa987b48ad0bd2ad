import { appendAudit } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { describeDatabaseError, sqlState } from '@odograph/database/postgres-failure';
import type { Tables } from '@odograph/database/tables';
import type { Logger } from '@odograph/runtime/logger';
import { type Kysely, sql } from 'kysely';

/** A table whose rows belong to one vehicle each, and the conditions that it is purged by: one for each chunk. */
export interface VehicleTable {
  name: string;
  slices: string[];
}

/** A table whose rows list several vehicles in `vehicle_ids`, and facts of each in other arrays of the same length. */
export interface ListTable {
  name: string;
  arrays: string[];
  hasStoredAt: boolean;
}

/** It says which vehicles are purged, and stays. */
const proofTable = 'vehicle_purge';

/**
 * Ordinary tables with their columns. From the catalog and not from information_schema, which leaves out what the caller
 * has no right to: such a table must make the purge fail, and not be forgotten.
 */
const columns = sql`(select relname, attname, attnum, typcategory = 'A' as is_array
  from pg_class join pg_attribute on attrelid = pg_class.oid join pg_type on pg_type.oid = atttypid
  where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
    and attnum > 0 and not attisdropped)`;

/**
 * Every table that tells of single vehicles, from the database's own description: one that a later migration adds is
 * never forgotten.
 */
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
    where attname = 'vehicle_id' and relname <> ${proofTable}
    order by relname`.execute(db);
  return rows;
}

/** Every table that tells of several vehicles in one row. */
export async function findListTables(db: Database): Promise<ListTable[]> {
  const { rows } = await sql<ListTable>`
    select quote_ident(relname) as name, array_agg(quote_ident(attname) order by attnum) filter (where is_array) as arrays,
      bool_or(attname = 'stored_at') as "hasStoredAt"
    from ${columns} as owned group by relname having bool_or(attname = 'vehicle_ids') order by relname`.execute(db);
  return rows;
}

/**
 * What a device uploaded while it sat in the vehicle is also what it said of the vehicle, and that it sat in one stays
 * known when the link is gone.
 */
async function forgetUploads(db: Database, vehicleId: number): Promise<void> {
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
 * Empties the places of a vehicle in lists of several. The places stay, since others may be counting them; a row that is
 * about no other vehicle goes.
 */
async function emptyPlaces(db: Database, vehicleId: number, { name, arrays }: ListTable, slice: string): Promise<void> {
  const emptied = arrays.map(
    (column) => `${column} = array(select case when place.vehicle_id = $1 then null else place.fact end
      from unnest(vehicle_ids, ${column}) with ordinality as place (vehicle_id, fact, rank) order by rank)`,
  );
  const run = (statement: string) =>
    sql(
      parts(statement),
      ...statement
        .split('$1')
        .slice(1)
        .map(() => vehicleId),
    );
  await run(`delete from ${name} where ${slice} and $1 = all(vehicle_ids)`).execute(db);
  await run(`update ${name} set ${emptied.join(', ')} where ${slice} and $1 = any(vehicle_ids)`).execute(db);
}

const parts = (statement: string) => statement.split('$1') as unknown as TemplateStringsArray;

/** The days that a table of changes goes back, as conditions, so that no statement runs for long. */
async function slicesOf(db: Database, { name, hasStoredAt }: ListTable): Promise<string[]> {
  if (!hasStoredAt) return ['true'];
  const { rows } = await sql<{ day: string }>`select day::text from generate_series(
    (select min(stored_at) from ${sql.raw(name)})::date, now()::date, interval '1 day') as day`.execute(db);
  return rows.map(({ day }) => `stored_at >= '${day}' and stored_at < timestamptz '${day}' + interval '1 day'`);
}

/** Rows of a table that are deleted in one transaction. */
interface Part {
  name: string;
  slice: string;
}

/**
 * Deletes through the table and not from its chunks: TimescaleDB may overlook compressed rows in a chunk that is named.
 * @returns false while rows of another table point to these
 */
async function deleteRows(db: Kysely<Tables>, vehicleId: number, { name, slice }: Part): Promise<boolean> {
  try {
    await db.transaction().execute(async (transaction) => {
      // However many rows of the vehicle a chunk holds: without a limit on what may be decompressed for that.
      await sql`set local timescaledb.max_tuples_decompressed_per_dml_transaction = 0`.execute(transaction);
      await sql`delete from ${sql.raw(name)} where vehicle_id = ${vehicleId} and ${sql.raw(slice)}`.execute(
        transaction,
      );
    });
  } catch (error) {
    // foreign_key_violation
    if (sqlState(error) === '23503') return false;
    throw error;
  }
  return true;
}

/** Removes a vehicle's rows from every table, those that others point to after the others. Yields each part. */
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
 * Removes everything of a deleted vehicle. Each step is a transaction of its own and can be repeated, so a purge that was
 * broken off anywhere is simply begun anew. Yields the name of each step that is done.
 */
export async function* purgeSteps(db: Kysely<Tables>, vehicleId: number): AsyncGenerator<string> {
  await forgetUploads(db, vehicleId);
  yield 'quarantine';
  for (const table of await findListTables(db)) {
    for (const slice of await slicesOf(db, table)) {
      await emptyPlaces(db, vehicleId, table, slice);
      yield table.name;
    }
  }
  yield* deleteEverywhere(db, vehicleId);
  await sql`delete from vehicle where id = ${vehicleId} and deleted_at is not null`.execute(db);
  yield 'vehicle';
}

/** Counts what is left of a vehicle. @returns the tables that still know it, with their counts */
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

interface OpenPurge {
  vehicleId: number;
  applicationId: number;
}

async function findOpenPurges(db: Kysely<Tables>): Promise<OpenPurge[]> {
  return db
    .selectFrom('vehicle_purge')
    .select(['vehicle_id as vehicleId', 'application_id as applicationId'])
    .where('verified_at', 'is', null)
    .orderBy('requested_at')
    .execute();
}

async function markVerified(db: Kysely<Tables>, { vehicleId, applicationId }: OpenPurge): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable('vehicle_purge')
      .set({ verified_at: sql<Date>`now()` })
      .where('vehicle_id', '=', vehicleId)
      .where('verified_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return;
    await appendAudit(transaction, {
      chain: applicationId,
      actor: 'platform',
      address: '',
      action: 'vehicle.purge',
      subject: `vehicle:${vehicleId}`,
      outcome: 'verified',
    });
  });
}

async function purge(db: Kysely<Tables>, open: OpenPurge, logger: Logger): Promise<boolean> {
  const { vehicleId } = open;
  try {
    for await (const step of purgeSteps(db, vehicleId)) logger.debug({ vehicleId, step }, 'purge');
    const remains = await findRemains(db, vehicleId);
    if (Object.keys(remains).length > 0) {
      logger.warn({ vehicleId, remains }, 'something is left of a deleted vehicle; it is purged again');
      return false;
    }
    await markVerified(db, open);
    return true;
  } catch (error) {
    logger.error({ vehicleId, ...describeDatabaseError(error) }, 'a deleted vehicle could not be purged yet');
    return false;
  }
}

/**
 * Removes everything of the vehicles that were deleted, looks whether anything is left anywhere, and notes when nothing is.
 * What could not be done is done the next time.
 * @returns how many are verified now
 */
export async function purgeDeletedVehicles(db: Kysely<Tables>, logger: Logger): Promise<number> {
  let verified = 0;
  for (const open of await findOpenPurges(db)) if (await purge(db, open, logger)) verified += 1;
  return verified;
}
