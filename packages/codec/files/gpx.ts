import { SaxesParser } from 'saxes';
import { secondsOf } from '../shared/time.ts';
import { type HistoryRow, numberOf } from './history-rows.ts';
import { decodeText, type OpenFile, UnreadableFile } from './text-rows.ts';

/** A point while it is read. */
interface Point {
  readonly line: number;
  readonly latitude: string | undefined;
  readonly longitude: string | undefined;
  readonly values: Record<string, string>;
}

const vehicleIdForm = /^[1-9]\d{9}$/;
const numbers = { ele: 'altitude', sat: 'satellites', course: 'angle' } as const;
const elements: Readonly<Record<string, string>> = {
  ...{ timestamp: 'time', 'location.latitude': 'lat', 'location.longitude': 'lon', 'location.speed': 'speed' },
  ...Object.fromEntries(Object.entries(numbers).map(([element, field]) => [`location.${field}`, element])),
};

/**
 * Reads the points of the tracks of a GPX file. `src` of a track names its vehicle, as in exports.
 * @throws UnreadableFile with the line and column where the file is not well-formed
 */
export async function* readGpx(open: OpenFile): AsyncGenerator<HistoryRow> {
  let rows: HistoryRow[] = [];
  const parser = createParser((row) => rows.push(row));
  for await (const text of decodeText(open(), 'utf-8')) {
    parser.write(text);
    yield* rows;
    rows = [];
  }
  parser.close();
  yield* rows;
}

function createParser(onRow: (row: HistoryRow) => void): SaxesParser<{ xmlns: true }> {
  const parser = new SaxesParser({ xmlns: true });
  const open: string[] = [];
  let point: Point | undefined;
  let vehicleId: string | undefined;
  let text = '';
  parser.on('error', (error) => {
    throw new UnreadableFile('NOT_XML', `the file is not well-formed XML: ${error.message}`);
  });
  parser.on('opentag', ({ local, attributes }) => {
    open.push(local);
    text = '';
    if (local === 'trk') vehicleId = undefined;
    if (local !== 'trkpt') return;
    const { lat, lon } = attributes;
    point = { line: parser.line, latitude: lat?.value, longitude: lon?.value, values: {} };
  });
  parser.on('text', (piece) => {
    text += piece;
  });
  parser.on('closetag', ({ local }) => {
    open.pop();
    if (local === 'src' && open.at(-1) === 'trk') vehicleId = vehicleIdForm.test(text.trim()) ? text.trim() : undefined;
    if (point !== undefined && local !== 'trkpt') point.values[local] = text.trim();
    if (local === 'trkpt' && point !== undefined) {
      onRow(toRow(point, vehicleId));
      point = undefined;
    }
    text = '';
  });
  return parser;
}

function toRow({ line, latitude, longitude, values }: Point, vehicleId: string | undefined): HistoryRow {
  const timestamp = secondsOf(values['time']);
  if (timestamp === undefined) return { line, fault: { column: 'time', message: 'is missing, or not ISO 8601' } };
  const location: Record<string, number | string> = {};
  for (const [field, text] of Object.entries({ latitude, longitude })) {
    if (text !== undefined) location[field] = numberOf(text);
  }
  for (const [element, field] of Object.entries(numbers)) {
    if (values[element] !== undefined) location[field] = numberOf(values[element]);
  }
  if (values['speed'] !== undefined) location['speed'] = kilometresPerHour(numberOf(values['speed']));
  const origin = (field: string): string => elements[field] ?? field;
  const subject = vehicleId === undefined ? undefined : { vehicleId };
  return { line, subject, reading: { timestamp, location }, origin };
}

/** GPX 1.0 and extensions give speeds in m/s. */
const kilometresPerHour = (speed: number | string): number | string =>
  typeof speed === 'number' ? Math.round(speed * 3.6e3) / 1e3 : speed;
