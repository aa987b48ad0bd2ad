import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConnection } from '@odograph/database/database';
import { oldReadingsLock } from '@odograph/database/ingest-barrier';
import type { ParquetColumn } from '@odograph/database/parquet';
import type { Client } from 'pg';
import { ArchiveFile, type Cell, verifyArchive } from './parquet.ts';
import type { ArchiveStore } from './store.ts';

/** Maximum number of rows in a file; about 100 MB. */
const maxRowsPerFile = 2_000_000;
/** Maximum number of rows in a row group, which is held in memory. */
const maxRowsPerGroup = 50_000;
/** Limits the wait for the lock, behind which ingest statements on the chunk wait as well. */
const lockTimeoutMs = 10_000;

/** The result of archiving a chunk. */
export interface ArchivedChunk {
  readonly from: string;
  readonly until: string;
  readonly rows: number;
  readonly files: readonly string[];
}

interface Chunk {
  readonly relation: string;
  readonly from: string;
  readonly until: string;
}

const types: Readonly<Record<string, ParquetColumn['type']>> = {
  ...{ 'timestamp with time zone': 'time', 'double precision': 'number', boolean: 'boolean' },
  ...{ smallint: 'integer', integer: 'integer', bigint: 'bigint', text: 'text', jsonb: 'text' },
};

async function findColumns(client: Client): Promise<ParquetColumn[]> {
  const { rows } = await client.query<{ name: string; type: string }>(`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = 'reading'::regclass and attnum > 0 and not attisdropped order by attnum`);
  return rows.map(({ name, type }) => {
    const known = types[type];
    if (known === undefined) throw new Error(`the column ${name} of readings has the unknown type ${type}`);
    return { name, type: known };
  });
}

async function findChunks(client: Client, days: number): Promise<Chunk[]> {
  const { rows } = await client.query<Chunk>(
    `select format('%I.%I', chunk_schema, chunk_name) as relation, range_start::text as from, range_end::text as until
    from timescaledb_information.chunks where hypertable_schema = 'public' and hypertable_name = 'reading'
      and range_end <= now() - make_interval(days => $1) order by range_start`,
    [days],
  );
  return rows;
}

const inChunk = 'reading.time >= $1::timestamptz and reading.time < $2::timestamptz';

/** Computes an order-independent checksum of the rows of a chunk in the database. */
async function sumUp(client: Client, { from, until }: Chunk): Promise<string> {
  const { rows } = await client.query<{ sum: string }>(
    `select count(*) || ':' || coalesce(sum(hashtextextended(reading::text, 0)::numeric), 0) as sum
    from reading where ${inChunk}`,
    [from, until],
  );
  return rows[0]?.sum ?? '';
}

async function* readGroups(
  client: Client,
  { from, until }: Chunk,
  columns: readonly ParquetColumn[],
): AsyncGenerator<Cell[][]> {
  const values = columns.map(({ name, type }) => {
    if (type === 'time') return `(extract(epoch from ${name}) * 1000000)::bigint::text as ${name}`;
    return type === 'bigint' || type === 'text' ? `${name}::text` : name;
  });
  const declare = `declare archived no scroll cursor for select ${values.join(', ')} from reading where ${inChunk}`;
  // The driver supports no parameters for cursors; these texts come from the catalog.
  await client.query(declare.replace('$1', client.escapeLiteral(from)).replace('$2', client.escapeLiteral(until)));
  const isBigint = columns.map(({ type }) => type === 'time' || type === 'bigint');
  for (;;) {
    const text = `fetch forward ${maxRowsPerGroup} from archived`;
    const { rows } = await client.query<(string | number | boolean | null)[]>({ text, rowMode: 'array' });
    if (rows.length === 0) break;
    yield rows.map((row) => row.map((value, index) => (isBigint[index] && value !== null ? BigInt(value) : value)));
  }
  await client.query('close archived');
}

const dayOf = (time: string): string => time.slice(0, 10);

/** Writes a chunk to files, stores them, and reads them back. @returns the checksum of the rows, and the files */
async function store(
  client: Client,
  chunk: Chunk,
  columns: readonly ParquetColumn[],
  to: ArchiveStore,
  directory: string,
) {
  await client.query('begin isolation level repeatable read read only');
  const sum = await sumUp(client, chunk);
  const files: string[] = [];
  let rows = 0;
  let file: ArchiveFile | undefined;
  const finish = async (): Promise<void> => {
    if (file === undefined) return;
    // With the checksum in its name, a file of late readings does not replace an earlier one.
    const suffix = `${createHash('sha256').update(sum).digest('hex').slice(0, 8)}-${files.length + 1}`;
    const name = `readings-${dayOf(chunk.from)}-${dayOf(chunk.until)}-${suffix}.parquet`;
    const digest = await file.end();
    await to.put(name, join(directory, 'written'));
    await to.get(name, join(directory, 'read'));
    await verifyArchive(join(directory, 'read'), file.digest.rows, digest);
    files.push(to.describe(name));
    rows += file.digest.rows;
    file = undefined;
  };
  for await (const group of readGroups(client, chunk, columns)) {
    file ??= new ArchiveFile(join(directory, 'written'), columns);
    await file.add(group);
    if (file.digest.rows >= maxRowsPerFile) await finish();
  }
  await finish();
  await client.query('commit');
  if (rows !== Number(sum.split(':')[0])) throw new Error(`${rows} rows were read from ${chunk.relation}, not ${sum}`);
  return { sum, rows, files };
}

/** Drops a chunk unless it has changed. @returns false if it has */
async function drop(client: Client, chunk: Chunk, sum: string): Promise<boolean> {
  await client.query('begin');
  try {
    // Without a timeout: the compression of another week may hold it for minutes, and nothing waits for this transaction yet.
    await client.query('select pg_advisory_xact_lock($1)', [oldReadingsLock]);
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
    // Blocks late readings, but no reads.
    await client.query(`lock table ${chunk.relation} in share row exclusive mode`);
    const isSame = (await sumUp(client, chunk)) === sum;
    if (isSame) {
      const range = [chunk.from, chunk.until];
      await client.query('delete from reading_count where hour >= $1::timestamptz and hour < $2::timestamptz', range);
      await client.query(
        `select drop_chunks('reading', newer_than => $1::timestamptz, older_than => $2::timestamptz)`,
        range,
      );
    }
    await client.query('commit');
    return isSame;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/**
 * Moves chunks of readings to Parquet files, oldest first. A chunk is dropped once its files have been read back, unless
 * it has changed in the meantime; then it stays for the next run, which writes the same files again.
 * @param url database URL of the owner of the tables
 * @param days minimum age of a chunk's newest possible reading
 * @throws Error when a file cannot be stored or differs from the written rows
 */
export async function archiveReadings(
  url: string,
  days: number,
  to: ArchiveStore,
  onChunk: (chunk: ArchivedChunk) => void,
): Promise<{ chunks: number; rows: number; changed: number }> {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-archive-'));
  const { client } = await openConnection(url, 'archive');
  const total = { chunks: 0, rows: 0, changed: 0 };
  try {
    await client.query("set timezone = 'UTC'");
    const columns = await findColumns(client);
    for (const chunk of await findChunks(client, days)) {
      const { sum, rows, files } = await store(client, chunk, columns, to, directory);
      if (!(await drop(client, chunk, sum))) {
        total.changed += 1;
        continue;
      }
      total.chunks += 1;
      total.rows += rows;
      onChunk({ from: chunk.from, until: chunk.until, rows, files });
    }
    return total;
  } finally {
    await client.end();
    await rm(directory, { recursive: true, force: true });
  }
}
