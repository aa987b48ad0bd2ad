import { createHash } from 'node:crypto';
import { type ParquetColumn, parquetSchema } from '@odograph/database/parquet';
import { asyncBufferFromFile, parquetMetadataAsync, parquetRead } from 'hyparquet';
import { fileWriter, ParquetWriter } from 'hyparquet-writer';

/** A value of a column; a time is in microseconds since the UNIX epoch, JSON is text. */
export type Cell = string | number | bigint | boolean | null;

/** Computes the digest of rows, which verifies them when they are read back. */
export class RowDigest {
  rows = 0;
  readonly #hash = createHash('sha256');

  add(row: readonly Cell[]): void {
    this.rows += 1;
    this.#hash.update(JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)));
  }

  /** Returns the digest of all rows, once. */
  end(): string {
    return this.#hash.digest('hex');
  }
}

const digestKey = 'odograph.sha256';

/** Writes rows to a Parquet file (Snappy), with their digest in its metadata. */
export class ArchiveFile {
  readonly digest = new RowDigest();
  readonly #columns: readonly ParquetColumn[];
  readonly #writer: ParquetWriter;

  constructor(path: string, columns: readonly ParquetColumn[]) {
    this.#columns = columns;
    this.#writer = new ParquetWriter({
      writer: fileWriter(path),
      schema: parquetSchema(columns),
      createdBy: 'Odograph',
    });
  }

  /** Adds rows as a row group. */
  async add(rows: readonly (readonly Cell[])[]): Promise<void> {
    for (const row of rows) this.digest.add(row);
    const columnData = this.#columns.map(({ name }, index) => ({ name, data: rows.map((row) => row[index] ?? null) }));
    await this.#writer.write({ columnData, rowGroupSize: rows.length });
  }

  /** @returns the digest of the rows */
  async end(): Promise<string> {
    const digest = this.digest.end();
    this.#writer.kvMetadata = [{ key: digestKey, value: digest }];
    await this.#writer.finish();
    return digest;
  }
}

/** An open Parquet file of an archive. */
export interface OpenedArchive {
  readonly columns: readonly string[];
  readonly rows: number;
  /** Digest of the rows, recorded when the file was written. */
  readonly digest: string;
  /** Reads the rows, one row group after the other. */
  groups(): AsyncGenerator<(readonly Cell[])[]>;
}

/** Opens a file of an archive. @throws Error when it is not a Parquet file of an archive */
export async function openArchive(path: string): Promise<OpenedArchive> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const digest = metadata.key_value_metadata?.find(({ key }) => key === digestKey)?.value;
  if (digest === undefined) throw new Error(`${path} was not written by odograph archive`);
  const parsers = { timestampFromMicroseconds: (microseconds: bigint) => microseconds };
  return {
    columns: metadata.schema.slice(1).map(({ name }) => name),
    rows: Number(metadata.num_rows),
    digest,
    async *groups() {
      let start = 0;
      for (const { num_rows } of metadata.row_groups) {
        const range = { rowStart: start, rowEnd: start + Number(num_rows) };
        let rows: Cell[][] = [];
        const onComplete = (read: Cell[][]) => {
          rows = read;
        };
        await parquetRead({ file, metadata, ...range, parsers: parsers as never, onComplete });
        yield rows;
        start = range.rowEnd;
      }
    },
  };
}

/** Verifies the rows of a file. @throws Error when they differ from the written ones */
export async function verifyArchive(path: string, rows: number, digest: string): Promise<void> {
  const archive = await openArchive(path);
  const found = new RowDigest();
  for await (const group of archive.groups()) for (const row of group) found.add(row);
  if (found.rows !== rows || found.end() !== digest)
    throw new Error(`${path} is damaged: its rows differ from the written ones`);
}
