import { describeSchemaFaults } from '@odograph/contracts/schema-faults';
import { CsvError } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { NewDevice } from '../devices/provisioning.ts';
import { Plate } from '../vehicles/schemas.ts';

/** Devices of one file: they are written in one transaction, which ingest waits for when they are linked. */
export const maximumDevices = 1000;

/** A line of a file: a device, whose vehicle may be named by its plate. */
const Line = Type.Object({ ...NewDevice.properties, plate: Type.Optional(Plate) });
type Line = Static<typeof Line>;
const checkLine = Compile(Line);
const columns: readonly string[] = Object.keys(Line.properties);

/** What is wrong with a line, counted from 1 with the header. */
export interface LineFault {
  readonly line: number;
  /** The column at fault; empty for the whole line. */
  readonly column: string;
  readonly message: string;
}

export interface DeviceLine {
  readonly line: number;
  readonly device: Line;
}

interface ParsedFile {
  readonly lines: readonly DeviceLine[];
  readonly faults: readonly LineFault[];
}

const wholeLine = (line: number, message: string): LineFault => ({ line, column: '', message });

/** The separator that the header has: spreadsheets of many languages write semicolons. */
function findDelimiter(csv: string): string {
  const [header = ''] = csv.split(/\r?\n/, 1);
  const counts = [',', ';', '\t'].map((one) => [one, header.split(one).length] as const);
  return counts.reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

function checkHeader(header: readonly string[]): LineFault[] {
  const unknown = header.filter((name) => !columns.includes(name));
  const missing = ['id', 'model'].filter((name) => !header.includes(name));
  const twice = header.filter((name, index) => header.indexOf(name) !== index);
  return [
    ...unknown.map((column) => ({ line: 1, column, message: `is not a column: use ${columns.join(', ')}` })),
    ...missing.map((column) => ({ line: 1, column, message: 'is missing in the first line' })),
    ...twice.map((column) => ({ line: 1, column, message: 'must not be there twice' })),
  ];
}

/** Reads the cells of a line as a device. */
function readLine(line: number, header: readonly string[], cells: readonly string[]): DeviceLine | LineFault {
  if (cells.length > header.length) return wholeLine(line, `has ${cells.length} values for ${header.length} columns`);
  const given = header.flatMap((name, index) => (cells[index] ? [[name, cells[index]]] : []));
  const device: unknown = { bluetoothName: '', bluetoothPin: '', ...Object.fromEntries(given) };
  if (!checkLine.Check(device)) {
    const { field, rule } = describeSchemaFaults(checkLine.Errors(device));
    return { line, column: field, message: rule };
  }
  const isBoth = device.vehicleId !== undefined && device.plate !== undefined;
  return isBoth ? { line, column: 'plate', message: 'and vehicleId exclude each other' } : { line, device };
}

/** Reads a CSV file of devices: a header with names of columns, in any order, and a line for each device. */
export function readFile(csv: string): ParsedFile {
  const options = { bom: true, trim: true, relax_column_count: true, skip_empty_lines: true, info: true } as const;
  try {
    const rows = parse(csv, { ...options, delimiter: findDelimiter(csv) }) as unknown as {
      record: string[];
      info: { lines: number };
    }[];
    const [header, ...rest] = rows;
    if (header === undefined) return { lines: [], faults: [wholeLine(1, 'the file is empty')] };
    const faults = checkHeader(header.record);
    if (faults.length > 0) return { lines: [], faults };
    if (rest.length === 0) return { lines: [], faults: [wholeLine(1, 'no device follows the header')] };
    if (rest.length > maximumDevices) {
      return {
        lines: [],
        faults: [wholeLine(1, `a file may have ${maximumDevices} devices, this has ${rest.length}`)],
      };
    }
    const read = rest.map(({ record, info }) => readLine(info.lines, header.record, record));
    return {
      lines: read.filter((one) => 'device' in one),
      faults: read.filter((one) => 'message' in one),
    };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = Number(error['lines'] ?? 1);
    const isQuote = error.code.includes('QUOTE');
    return { lines: [], faults: [wholeLine(line, isQuote ? 'has a misplaced quote' : 'is not valid CSV')] };
  }
}
