import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

/** Compresses the chunks that hold readings of an interval, in seconds since the epoch. @returns the number of chunks */
export async function compressReadings(db: Database, from: number, until: number): Promise<number> {
  const { rows } = await sql`select compress_chunk(format('%I.%I', chunk_schema, chunk_name)::regclass, true)
    from timescaledb_information.chunks where hypertable_name = 'reading'
      and range_start < to_timestamp(${until}::float8) and range_end > to_timestamp(${from}::float8)`.execute(db);
  return rows.length;
}
