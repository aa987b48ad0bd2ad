import { type FieldFacts, quantityFields, readingFields } from '@odograph/contracts/fields';
import { secondsOf } from '../shared/time.ts';
import { type HistoryRow, numberOf } from './history-rows.ts';
import { inspectText, type OpenFile, rowsOf, UnreadableFile } from './text-rows.ts';

/** The field group of each export column. */
const groupOf = new Map(
  (['location', 'status', 'electric'] as const).flatMap((group) =>
    Object.keys(readingFields[group]).map((name) => [name, group] as const),
  ),
);
const facts: Readonly<Record<string, FieldFacts>> = quantityFields;
const words: Readonly<Record<string, boolean>> = { true: true, false: false, '1': true, '0': false, t: true, f: false };

/** Tells whether a column of this name is read: a field, a value of a list, or the vehicle or device of a row. */
export const isKnownField = (name: string): boolean =>
  groupOf.has(name) || ['time', 'vehicle', 'device', 'can', 'sensors'].includes(name) || /^(can|sensors)\./.test(name);

/** Maps columns to fields; a column without an entry maps to the field of the same name, unless another column does. */
export type ColumnMap = ReadonlyMap<string, string>;

/** Reads the header of CSV. @throws UnreadableFile */
export async function readColumns(open: OpenFile, encoding: string): Promise<readonly string[]> {
  let columns: readonly string[] = [];
  const readHeader = (cells: readonly string[]) => {
    columns = cells;
    return [...cells];
  };
  // The header is read before the first row.
  for await (const _row of rowsOf(await inspectText(open, encoding), readHeader)) break;
  return columns;
}

/**
 * Reads CSV in the format of exports, or from another system with mapped columns.
 * @param onIgnored receives each column without a field, and the second of two columns for the same field
 * @throws UnreadableFile also for a mapped column that is missing
 */
export async function* readCsv(open: OpenFile, encoding: string, map: ColumnMap, onIgnored: (column: string) => void) {
  const columns = new Map<string, string>();
  const mapped = new Set(map.values());
  const readHeader = (cells: readonly string[]) => {
    const missing = [...map.keys()].find((column) => !cells.includes(column));
    if (missing !== undefined) throw new UnreadableFile('INVALID_HEADER', `no column is named ${missing}`);
    return cells.map((cell) => {
      const field = map.get(cell) ?? (mapped.has(cell) ? '' : cell);
      if (!isKnownField(field) || columns.has(field)) {
        onIgnored(cell);
        return undefined;
      }
      columns.set(field, cell);
      return field;
    });
  };
  const file = await inspectText(open, encoding);
  for await (const { line, record, fault } of rowsOf(file, readHeader)) {
    if (!columns.has('time')) throw new UnreadableFile('NO_TIME', 'no column contains the time');
    yield fault === undefined ? toRow(line, record as Cells, columns) : { line, fault: { column: '', message: fault } };
  }
}

/** Decodes a part of the name of a field, as it is encoded in exports. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type Cells = Readonly<Record<string, string>>;

function toRow(
  line: number,
  cells: Readonly<Record<string, string>>,
  columns: ReadonlyMap<string, string>,
): HistoryRow {
  const origin = (path: string) => {
    const name = path === 'timestamp' ? 'time' : path.replace(/^(location|status|electric|fleet)\./, '');
    return columns.get(name) ?? columns.get(name.replace(/\..*/, '')) ?? name;
  };
  const { vehicle, device } = cells;
  const subject =
    vehicle !== undefined ? { vehicleId: vehicle } : device === undefined ? undefined : { deviceId: device };
  const timestamp = secondsOf(cells['time']);
  if (timestamp !== undefined) return { line, subject, reading: readingOf(cells, timestamp), origin };
  return { line, subject, fault: { column: columns.get('time') ?? 'time', message: 'must be ISO 8601 or UNIX time' } };
}

/** Cells of the wrong type stay text, which the platform rejects with the name of the field. */
function readingOf(cells: Cells, timestamp: number): object {
  const { can, sensors } = listsOf(cells);
  return {
    timestamp: secondsExactly(cells['time'] ?? '', timestamp),
    ...groupsOf(cells),
    ...(can.length > 0 && { can }),
    ...(sensors.length > 0 && { sensors }),
  };
}

function groupsOf(cells: Cells): Record<string, Record<string, unknown>> {
  const groups: Record<string, Record<string, unknown>> = {};
  for (const [field, cell] of Object.entries(cells)) {
    const group = groupOf.get(field);
    if (group !== undefined) groups[group] = { ...groups[group], [field]: cellValue(field, cell) };
  }
  if (groups['location'] === undefined || hasPosition(cells)) return groups;
  const {
    location: { speed },
    ...others
  } = groups;
  // A reading without a position has its speed in this group.
  return { ...others, ...(speed !== undefined && { fleet: { speed } }) };
}

interface Sensor {
  readonly name: string;
  readonly data: Datum[];
}

interface Datum {
  readonly key: string;
  readonly value: string;
}

/** Reads the lists `can` and `sensors`, whole or value by value. */
function listsOf(cells: Cells) {
  const can = listOf<Datum>(cells, 'can');
  const sensors = listOf<Sensor>(cells, 'sensors');
  for (const [field, cell] of Object.entries(cells)) {
    const [list, first, second] = field.split('.').map(decodePart);
    // An export hides formulas from spreadsheets in this way.
    const value = cell.replace(/^'(?=[=+\-@\t\r\n＝＋－＠])/, '');
    if (list === 'can' && first !== undefined) can.push({ key: first, value });
    if (list === 'sensors' && first !== undefined && second !== undefined) {
      addToSensor(sensors, first, { key: second, value });
    }
  }
  return { can, sensors };
}

const hasPosition = ({ latitude, longitude }: Cells): boolean => latitude !== undefined || longitude !== undefined;

/** Microseconds of a text in ISO 8601, which Date cuts off. */
function secondsExactly(text: string, seconds: number): number {
  const digits = /:\d\d\.(\d{4,})/.exec(text)?.[1];
  return digits === undefined ? seconds : Math.floor(seconds) + Number(`0.${digits.slice(0, 6)}`);
}

function addToSensor(sensors: (Sensor | string)[], name: string, datum: Datum): void {
  const sensor = sensors.find((one): one is Sensor => typeof one === 'object' && one.name === name);
  if (sensor) sensor.data.push(datum);
  else sensors.push({ name, data: [datum] });
}

function cellValue(field: string, cell: string): number | boolean | string {
  return facts[field]?.isFlag ? (words[cell.toLowerCase()] ?? cell) : numberOf(cell);
}

/** Parses the list in a cell; returns the text of a cell without a list. */
function listOf<Element>(cells: Cells, field: string): (Element | string)[] {
  const cell = cells[field];
  if (cell === undefined) return [];
  try {
    const value: unknown = JSON.parse(cell);
    if (Array.isArray(value)) return value as Element[];
  } catch {}
  return [cell];
}
