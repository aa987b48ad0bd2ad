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
 * Every table that tells of single vehicles, from the database's own description: one that a later migration adds is
 * never forgotten.
 */
export async function findVehicleTables(db: Database): Promise<VehicleTable[]> {
  const { rows } = await sql<VehicleTable>`
    select quote_ident(tables.table_name) as name, case
      when time.column_name is null then array['true']
      else array(select format('%1$I >= %2$L and %1$I < %3$L', time.column_name, range_start, range_end)
        from timescaledb_information.chunks where hypertable_schema = tables.table_schema
          and hypertable_name = tables.table_name order by range_start) end as slices
    from information_schema.tables
    join information_schema.columns using (table_schema, table_name)
    left join timescaledb_information.dimensions as time on time.hypertable_schema = tables.table_schema
      and time.hypertable_name = tables.table_name and time.dimension_number = 1
    where tables.table_schema = current_schema() and table_type = 'BASE TABLE' and columns.column_name = 'vehicle_id'
      and tables.table_name <> ${proofTable}
    order by tables.table_name`.execute(db);
  return rows;
}

/** Every table that tells of several vehicles in one row. */
export async function findListTables(db: Database): Promise<ListTable[]> {
  const { rows } = await sql<ListTable>`
    select quote_ident(list.table_name) as name,
      array(select quote_ident(sibling.column_name) from information_schema.columns as sibling
        where sibling.table_schema = list.table_schema and sibling.table_name = list.table_name
          and sibling.data_type = 'ARRAY' order by ordinal_position) as arrays,
      exists (select from information_schema.columns as moment where moment.table_schema = list.table_schema
        and moment.table_name = list.table_name and moment.column_name = 'stored_at') as "hasStoredAt"
    from information_schema.columns as list
    join information_schema.tables using (table_schema, table_name)
    where list.table_schema = current_schema() and table_type = 'BASE TABLE' and list.column_name = 'vehicle_ids'
    order by list.table_name`.execute(db);
  return rows;
}
