import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';

/** Rows are read and written in parts of this size; the embedded engine holds a part in memory. */
const partBytes = 8 * 1024 * 1024;
const lineFeed = 0x0a;

/** A table with the columns that are stored, not generated. */
export interface Table {
  name: string;
  columns: string[];
}

/** A table as it was dumped; the hash is of its rows in the text format of COPY. */
export interface DumpedTable extends Table {
  rows: number;
  sha256: string;
}

export const identifier = (name: string) => `"${name.replaceAll('"', '""')}"`;
const columnList = ({ columns }: Table) => columns.map(identifier).join(', ');

/** Lists the tables of the platform; a table comes after those that its foreign keys refer to. */
export async function listTables(client: Client): Promise<Table[]> {
  const { rows: tables } = await client.query<Table & { needs: string[] }>(`
    select relname as name,
      array(select attname::text from pg_attribute where attrelid = pg_class.oid and attnum > 0 and not attisdropped
        and attgenerated = '' order by attnum) as columns,
      array(select confrelid::regclass::text from pg_constraint
        where conrelid = pg_class.oid and contype = 'f' and confrelid <> conrelid) as needs
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r'
      and relname not in ('migration', 'installation')
      and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')
    order by relname`);
  const sorted: Table[] = [];
  const isListed = (name: string) => sorted.some((table) => table.name === name);
  while (sorted.length < tables.length) {
    const next = tables.find(({ name, needs }) => !isListed(name) && needs.every(isListed));
    if (next === undefined) throw new Error('foreign keys form a cycle');
    sorted.push({ name: next.name, columns: next.columns });
  }
  return sorted;
}

/** Conditions that select the rows of a table piece by piece: one for each interval of chunks of a hypertable. */
export async function piecesOf(client: Client, { name }: Pick<Table, 'name'>): Promise<string[]> {
  const { rows } = await client.query<{ piece: string }>(
    `select distinct format('%I >= %L and %I < %L', primary_dimension, range_start, primary_dimension, range_end) as piece,
       range_start
     from timescaledb_information.chunks where hypertable_schema = 'public' and hypertable_name = $1 order by range_start`,
    [name],
  );
  return rows.length > 0 ? rows.map(({ piece }) => piece) : ['true'];
}

/**
 * Begins a read-only transaction whose statements see one snapshot. Until it ends, no chunk of readings is compressed or
 * dropped, because TimescaleDB reads a chunk by its present state: a snapshot from before a chunk with late readings was
 * compressed again would lack these readings.
 * @throws Error on a standby, which replays the compression of its primary regardless of locks
 */
export async function beginSnapshot(client: Client): Promise<void> {
  const { rows } = await client.query<{ isStandby: boolean }>('select pg_is_in_recovery() as "isStandby"');
  if (rows[0]?.isStandby) {
    throw new Error('the database is a standby, whose backup could lack late readings: use the primary');
  }
  await client.query('begin isolation level repeatable read read only');
  // Must precede the first query, which takes the snapshot. A weaker lock would not block compression.
  await client.query('lock table public.reading in row share mode');
}

/** Dumps a table, or the rows that a condition selects, in parts that end with a row. */
export async function dumpTable(
  client: Client,
  table: Table,
  write: (part: Buffer) => Promise<void>,
  condition = 'true',
): Promise<DumpedTable> {
  const hash = createHash('sha256');
  let rows = 0;
  let chunks: Buffer[] = [];
  let bytes = 0;
  const flush = async () => {
    const content = Buffer.concat(chunks);
    const end = content.lastIndexOf(lineFeed) + 1;
    if (end > 0) await write(content.subarray(0, end));
    chunks = end < content.length ? [content.subarray(end)] : [];
    bytes = content.length - end;
  };
  for (const piece of await piecesOf(client, table)) {
    const select = `select ${columnList(table)} from public.${identifier(table.name)} where ${piece} and ${condition}`;
    for await (const data of client.query(copyTo(`copy (${select}) to stdout`))) {
      const chunk = data as Buffer;
      hash.update(chunk);
      for (const byte of chunk) if (byte === lineFeed) rows += 1;
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= partBytes) await flush();
    }
  }
  await flush();
  return { ...table, rows, sha256: hash.digest('hex') };
}

/** Adds a part of a dumped table. @param target another table with its columns */
export async function loadPart(client: Client, table: Table, part: Buffer, target?: string): Promise<void> {
  const name = target === undefined ? `public.${identifier(table.name)}` : identifier(target);
  const statement = `copy ${name} (${columnList(table)}) from stdin`;
  await pipeline(Readable.from([part]), client.query(copyFrom(statement)));
}

/** Counts the rows of a table. */
export async function countRows(client: Client, { name }: Table): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`select count(*) from public.${identifier(name)}`);
  return Number(rows[0]?.count);
}

/** The last value that a sequence gave; null when it was never used. */
export interface SequenceValue {
  name: string;
  value: string | null;
}

/** Reads the values of all sequences. */
export async function readSequences(client: Client): Promise<SequenceValue[]> {
  const { rows } = await client.query<SequenceValue>(
    `select sequencename as name, last_value::text as value from pg_sequences where schemaname = 'public' order by 1`,
  );
  return rows;
}

/** Sets sequences to values read by readSequences. */
export async function writeSequences(client: Client, sequences: readonly SequenceValue[]): Promise<void> {
  for (const { name, value } of sequences) {
    const sequence = `public.${identifier(name)}`;
    if (value !== null) await client.query('select setval($1::regclass, $2)', [sequence, value]);
    // Loading the tables may have used it.
    else
      await client.query(
        'select setval($1::regclass, seqstart, false) from pg_sequence where seqrelid = $1::regclass',
        [sequence],
      );
  }
}
