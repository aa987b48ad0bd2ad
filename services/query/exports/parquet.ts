import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { ExportRow, ExportVehicle, ExportWriter } from './writers.ts';

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];
type SchemaElement = Schema[number];

const types = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
} as const satisfies Record<string, Omit<SchemaElement, 'name'>>;

export type Cell = string | number | boolean | null | undefined;

/** A column of a table; a `time` is in microseconds since the UNIX epoch. */
export interface TableColumn<Row> {
  readonly name: string;
  readonly type: keyof typeof types;
  value(row: Row, vehicle: ExportVehicle): Cell;
}

/** Memory of a value that is no text. */
const valueBytes = 16;

/**
 * Creates a writer of Parquet (format version 2, Snappy). Each part of an export is a row group; only the places and
 * statistics of the groups, about 100 bytes a column, are kept until the end.
 */
export function createParquetWriter<Row extends ExportRow>(columns: readonly TableColumn<Row>[]): ExportWriter<Row> {
  const root: SchemaElement = { name: 'root', num_children: columns.length };
  const schema = [
    root,
    ...columns.map(({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...types[type] })),
  ];
  const bytes = new ByteWriter();
  const parquet = new ParquetWriter({ writer: bytes, schema, createdBy: 'Odograph' });
  const data: Cell[][] = columns.map(() => []);
  const flush = (send: (piece: Uint8Array) => void) => {
    send(Buffer.from(bytes.getBytes()));
    bytes.index = 0;
  };
  return {
    start: flush,
    write(vehicle, rows) {
      let texts = 0;
      for (const [index, { type, value }] of columns.entries()) {
        const cells = data[index] ?? [];
        for (const row of rows) {
          const cell = value(row, vehicle);
          cells.push(cell);
          if (type === 'text' && typeof cell === 'string') texts += cell.length;
        }
      }
      return texts + rows.length * columns.length * valueBytes;
    },
    endPart(send) {
      if (data[0] === undefined || data[0].length === 0) return;
      const columnData = columns.map(({ name }, index) => ({ name, data: data[index] ?? [], offsetIndex: false }));
      void parquet.write({ columnData, rowGroupSize: data[0].length });
      for (const cells of data) cells.length = 0;
      flush(send);
    },
    end(send) {
      void parquet.finish();
      flush(send);
    },
  };
}
