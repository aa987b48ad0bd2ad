import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

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
