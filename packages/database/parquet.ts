import type { ParquetWriter } from 'hyparquet-writer';

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

const elements = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  number: { type: 'DOUBLE' },
  integer: { type: 'INT32' },
  bigint: { type: 'INT64' },
  boolean: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
} as const satisfies Record<string, Omit<SchemaElement, 'name'>>;

/** A column of a Parquet file; a `time` is in microseconds since the UNIX epoch. */
export interface ParquetColumn {
  readonly name: string;
  readonly type: keyof typeof elements;
}

/** Describes columns, each of which may lack values, to the writer of a file. */
export function parquetSchema(columns: readonly ParquetColumn[]): SchemaElement[] {
  return [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, type }): SchemaElement => ({ name, repetition_type: 'OPTIONAL', ...elements[type] })),
  ];
}
