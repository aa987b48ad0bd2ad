import { type ParquetColumn, parquetSchema } from '@odograph/database/parquet';
import type { Trip } from '@odograph/database/trips';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { type RawBuilder, sql } from 'kysely';
import type { Gap } from '../reads/gaps.ts';
import { writeCell } from '../shared/csv.ts';
import type { ExportField } from './fields.ts';
import {
  createTextWriter,
  type ExportRow,
  type ExportVehicle,
  type ExportWriter,
  type ReadingWriter,
  writeTime,
} from './text-writers.ts';

type Cell = string | number | boolean | null | undefined;

interface TableColumn<Row> extends ParquetColumn {
  value(row: Row, vehicle: ExportVehicle): Cell;
}

/** Memory of a value that is no text. */
const valueBytes = 16;

/**
 * Creates a writer of Parquet (format version 2, Snappy). Each part of an export is a row group; only the places and
 * statistics of the groups, about 100 bytes a column, are kept until the end.
 */
function createParquetWriter<Row extends ExportRow>(columns: readonly TableColumn<Row>[]): ExportWriter<Row> {
  const bytes = new ByteWriter();
  const parquet = new ParquetWriter({ writer: bytes, schema: parquetSchema(columns), createdBy: 'Odograph' });
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

/** A trip; `key` is its start, `end` its end, both in microseconds. */
export interface TripRow extends ExportRow {
  readonly end: number;
  readonly trip: Trip;
}

/** A gap; `key` is its place among the gaps of the vehicle. */
export interface GapExportRow extends ExportRow, Omit<Gap, 'since' | 'closedAt'> {
  /** Microseconds. */
  readonly since: number;
  readonly closedAt: number | null;
}

const vehicleColumn = {
  name: 'vehicle',
  type: 'text',
  value: (_row: unknown, { id }: { id: number }) => String(id),
} as const;

type TripNumber = Exclude<keyof Trip, 'trip_id' | 'timestamp' | 'first_position' | 'last_position'>;
const tripNumbers = [
  ...(['distance', 'duration', 'cost', 'average_speed', 'fuel_consumption', 'fuel_consumption_100km'] as const),
  ...(['electric_consumption', 'electric_consumption_100km'] as const),
] satisfies TripNumber[];

const addressColumn = (isShown: boolean, name: string, value: TableColumn<TripRow>['value']) =>
  isShown ? [{ name, type: 'text', value } as const] : [];

/** The columns of trips, named as in the trip object. */
export const tripColumns = (address: boolean): readonly TableColumn<TripRow>[] => [
  vehicleColumn,
  { name: 'trip_id', type: 'text', value: ({ trip }) => trip.trip_id },
  { name: 'timestamp', type: 'time', value: ({ key }) => key },
  { name: 'until', type: 'time', value: ({ end }) => end },
  ...tripNumbers.map((name): TableColumn<TripRow> => ({ name, type: 'number', value: ({ trip }) => trip[name] })),
  { name: 'first_latitude', type: 'number', value: ({ trip }) => trip.first_position?.latitude },
  { name: 'first_longitude', type: 'number', value: ({ trip }) => trip.first_position?.longitude },
  ...addressColumn(address, 'first_address', ({ trip }) => trip.first_position?.address),
  { name: 'last_latitude', type: 'number', value: ({ trip }) => trip.last_position?.latitude },
  { name: 'last_longitude', type: 'number', value: ({ trip }) => trip.last_position?.longitude },
  ...addressColumn(address, 'last_address', ({ trip }) => trip.last_position?.address),
];

/** The columns of gaps, named as in GET /v1/x/vehicle/{id}/gaps. */
export const gapColumns: readonly TableColumn<GapExportRow>[] = [
  vehicleColumn,
  { name: 'deviceId', type: 'text', value: ({ deviceId }) => deviceId },
  { name: 'fromSequence', type: 'number', value: ({ fromSequence }) => fromSequence },
  { name: 'untilSequence', type: 'number', value: ({ untilSequence }) => untilSequence },
  { name: 'missing', type: 'number', value: ({ missing }) => missing },
  { name: 'state', type: 'text', value: ({ state }) => state },
  { name: 'since', type: 'time', value: ({ since }) => since },
  { name: 'closedAt', type: 'time', value: ({ closedAt }) => closedAt },
];

/** Creates a writer of a table as CSV, as JSON objects on lines, or as Parquet. */
export function createTableWriter<Row extends ExportRow>(
  format: 'csv' | 'ndjson' | 'parquet',
  columns: readonly TableColumn<Row>[],
): ExportWriter<Row> {
  if (format === 'parquet') return createParquetWriter(columns);
  const cellsOf = (row: Row, vehicle: Parameters<TableColumn<Row>['value']>[1]) =>
    columns.map(({ type, value }) => {
      const cell = value(row, vehicle);
      return type === 'time' && typeof cell === 'number' ? writeTime(cell) : cell;
    });
  if (format === 'csv') {
    return createTextWriter<Row>({
      start: `${columns.map(({ name }) => writeCell(name)).join(',')}\r\n`,
      writeRow: (row, vehicle) => `${cellsOf(row, vehicle).map(writeCell).join(',')}\r\n`,
      end: () => '',
    });
  }
  return createTextWriter<Row>({
    start: '',
    writeRow(row, vehicle) {
      const cells = cellsOf(row, vehicle);
      const members = columns.flatMap(({ name }, index) => {
        const cell = cells[index];
        return cell === undefined || cell === null ? [] : [[name, cell] as const];
      });
      return `${JSON.stringify(Object.fromEntries(members))}\n`;
    },
    end: () => '',
  });
}

interface ReadingRow extends ExportRow {
  readonly [value: `value_${number}`]: string | number | boolean | null;
}

const parquetTypes = { number: 'number', boolean: 'boolean', text: 'text', json: 'text' } as const;

/** Parquet with a column for each field. */
export function createParquetReadingWriter(fields: readonly ExportField[]): ReadingWriter<ReadingRow> {
  const values = fields.map(({ value, type }, index) => {
    // The driver answers a smallint as an integer, and all numbers as a JavaScript number.
    const converted: RawBuilder<unknown> = type === 'number' ? sql`${value}::float8` : value;
    return sql`${converted} as ${sql.ref(`value_${index}`)}`;
  });
  const columns: TableColumn<ReadingRow>[] = [
    vehicleColumn,
    { name: 'time', type: 'time', value: ({ key }) => key },
    ...fields.map(
      ({ name, type }, index): TableColumn<ReadingRow> => ({
        ...{ name, type: parquetTypes[type] },
        value: ({ [`value_${index}` as const]: value }) => value,
      }),
    ),
  ];
  return { columns: sql.join(values), needsPosition: false, ...createParquetWriter(columns) };
}
