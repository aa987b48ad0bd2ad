import { openConnection } from '@odograph/database/database';
import { oldReadingsLock } from '@odograph/database/ingest-barrier';
import type { Client } from 'pg';
import { type Cell, openArchive, verifyArchive } from './parquet.ts';

const rowsPerTransaction = 5000;

/** The result of restoring a file. */
export interface RestoredReadings {
  readonly rows: number;
  readonly restored: number;
  /** Rows of deleted vehicles, and rows already stored. */
  readonly skipped: number;
}

interface TypedColumn {
  readonly name: string;
  readonly type: string;
}

/** Finds the types of a file's columns. @throws Error for a column that this version does not have */
async function findTypes(client: Client, names: readonly string[]): Promise<TypedColumn[]> {
  const { rows } = await client.query<TypedColumn>(`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = 'reading'::regclass and attnum > 0 and not attisdropped`);
  const types = new Map(rows.map(({ name, type }) => [name, type]));
  return names.map((name) => {
    const type = types.get(name);
    if (type === undefined) throw new Error(`readings have no column ${name}: a newer version wrote the file`);
    return { name, type };
  });
}

/** Inserts rows like ingest: locks the latest states first, and marks hours that have already been counted. */
async function insert(
  client: Client,
  columns: readonly TypedColumn[],
  rows: readonly (readonly Cell[])[],
): Promise<number> {
  const names = columns.map(({ name }) => name);
  const texts = columns.map((_, index) => rows.map((row) => (row[index] === null ? null : String(row[index]))));
  const values = columns.map(({ name, type }) =>
    type === 'timestamp with time zone'
      ? `timestamptz 'epoch' + ${name}::bigint * interval '1 microsecond' as ${name}`
      : `${name}::${type}`,
  );
  await client.query('begin');
  try {
    // First: a wait for a chunk that is being compressed would hold the barrier and the locks of the vehicles for minutes.
    await client.query('select pg_advisory_xact_lock_shared($1)', [oldReadingsLock]);
    await client.query('select share_ingest_barrier()');
    const vehicleIds = rows.map((row) => Number(row[names.indexOf('vehicle_id')]));
    await client.query(
      'select from vehicle_latest where vehicle_id = any($1::integer[]) order by vehicle_id for update',
      [[...new Set(vehicleIds)]],
    );
    const { rows: counts } = await client.query<{ count: number }>(
      `with given as (
        select ${values.join(', ')} from unnest(${texts.map((_, index) => `$${index + 1}::text[]`).join(', ')})
          as given (${names.join(', ')})),
      stored as (
        insert into reading (${names.join(', ')}) select ${names.map((name) => `given.${name}`).join(', ')} from given
          join vehicle on vehicle.id = given.vehicle_id and vehicle.deleted_at is null
          join application on application.id = given.application_id and application.deleted_at is null
        on conflict (vehicle_id, time) do nothing returning vehicle_id, application_id, time),
      earliest as (
        update vehicle_latest set earliest_time = least(earliest_time, oldest.time)
        from (select vehicle_id, min(time) as time from stored group by vehicle_id) as oldest
        where oldest.vehicle_id = vehicle_latest.vehicle_id and earliest_time > oldest.time),
      counted as (
        insert into reading_count (vehicle_id, hour, application_id)
          select distinct vehicle_id, date_trunc('hour', time), application_id from stored
          where time < (select settled_until from reading_settlement)
        on conflict (vehicle_id, hour, application_id) do update set count = null)
      select count(*)::integer as count from stored`,
      texts,
    );
    await client.query('commit');
    return counts[0]?.count ?? 0;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/**
 * Verifies an archive file and restores its readings. Readings already stored stay unchanged, so a file can be restored
 * repeatedly. Creates no trips, alarms, events or change feed entries.
 * @param url database URL of the owner of the tables
 * @throws Error when the file is damaged or of a newer version
 */
export async function restoreReadings(
  url: string,
  path: string,
  onProgress: (rows: number) => void,
): Promise<RestoredReadings> {
  const archive = await openArchive(path);
  await verifyArchive(path, archive.rows, archive.digest);
  const { client } = await openConnection(url, 'import');
  try {
    await client.query("set timezone = 'UTC'");
    await client.query('set timescaledb.max_tuples_decompressed_per_dml_transaction = 0');
    const columns = await findTypes(client, archive.columns);
    let restored = 0;
    let rows = 0;
    for await (const group of archive.groups()) {
      for (let start = 0; start < group.length; start += rowsPerTransaction) {
        const part = group.slice(start, start + rowsPerTransaction);
        restored += await insert(client, columns, part);
        rows += part.length;
        onProgress(rows);
      }
    }
    return { rows, restored, skipped: rows - restored };
  } finally {
    await client.end();
  }
}
