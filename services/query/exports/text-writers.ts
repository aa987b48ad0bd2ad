import { changeMembers } from '@odograph/database/reading-json';
import { type RawBuilder, sql } from 'kysely';
import { writeCell } from '../shared/csv.ts';
import { cellsOf, type ExportField, membersOf } from './fields.ts';

/** A vehicle whose rows are exported. */
export interface ExportVehicle {
  readonly id: number;
  readonly plate: string;
  /** The member `"vehicle":{…}` of the change feed. */
  readonly member: string;
}

/** A row of an export. The rows of a vehicle are in the order of their keys. */
export interface ExportRow {
  readonly key: number;
}

/** Takes pieces of the file as they are written. */
export type SendPiece = (piece: string | Uint8Array) => void;

/** Writes the file of one export. It keeps state between rows, so each export has its own. */
export interface ExportWriter<Row extends ExportRow> {
  start(send: SendPiece): void;
  /** Writes rows of one vehicle. @returns the bytes that they take, in the file or in memory until `endPart` */
  write(vehicle: ExportVehicle, rows: readonly Row[], send: SendPiece): number;
  /** Writes what is still in memory. */
  endPart(send: SendPiece): void;
  end(send: SendPiece): void;
}

/** A writer of readings, with the columns of the query that it needs. */
export interface ReadingWriter<Row extends ExportRow> extends ExportWriter<Row> {
  readonly columns: RawBuilder<unknown>;
  /** Leaves out readings without a position. */
  readonly needsPosition: boolean;
}

/** Writes device time, in microseconds, in ISO 8601 UTC: to the millisecond, or to the microsecond if it has any. */
export function writeTime(microseconds: number): string {
  const rest = microseconds % 1000;
  const iso = new Date((microseconds - rest) / 1000).toISOString();
  return rest === 0 ? iso : `${iso.slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}

/** Creates a writer of text, from what precedes the rows, the text of each row, and what follows. */
export function createTextWriter<Row extends ExportRow>(parts: {
  readonly start: string;
  writeRow(row: Row, vehicle: ExportVehicle): string;
  end(): string;
}): ExportWriter<Row> {
  return {
    start: (send) => send(parts.start),
    write(vehicle, rows, send) {
      let text = '';
      for (const row of rows) text += parts.writeRow(row, vehicle);
      send(text);
      return Buffer.byteLength(text);
    },
    endPart: () => undefined,
    end: (send) => send(parts.end()),
  };
}

// The database writes the text of each reading, which costs this process a fraction of writing it from values.

interface TextRow extends ExportRow {
  readonly text: string;
}

/** CSV (RFC 4180) in UTF-8 with a header; empty cells are values that were not reported. */
export function createCsvWriter(fields: readonly ExportField[]): ReadingWriter<TextRow> {
  const names = ['vehicle', 'time', ...fields.map(({ name }) => name)];
  return {
    columns: sql`${cellsOf(fields)} as text`,
    needsPosition: false,
    ...createTextWriter<TextRow>({
      start: `${names.map(writeCell).join(',')}\r\n`,
      writeRow: ({ key, text }, { id }) => `${id},${writeTime(key)},${text}\r\n`,
      end: () => '',
    }),
  };
}

/** A JSON object on each line, as an element of GET /v1/x/changes. */
export function createNdjsonWriter(): ReadingWriter<TextRow> {
  return {
    columns: sql`${changeMembers} as text`,
    needsPosition: false,
    ...createTextWriter<TextRow>({
      start: '',
      writeRow: ({ text }, { member }) => `{${member}${text}}\n`,
      end: () => '',
    }),
  };
}

interface FeatureRow extends ExportRow {
  readonly coordinates: string;
  readonly members: string;
}

/** RFC 7946: a FeatureCollection with a Point for each reading, with the fields as its properties. */
export function createGeojsonWriter(fields: readonly ExportField[]): ReadingWriter<FeatureRow> {
  const properties = fields.filter(({ name }) => name !== 'latitude' && name !== 'longitude');
  let separator = '\n';
  return {
    columns: sql`concat(reading.longitude, ',', reading.latitude, ',' || reading.altitude) as coordinates,
      ${membersOf(properties)} as members`,
    needsPosition: true,
    ...createTextWriter<FeatureRow>({
      start: '{"type":"FeatureCollection","features":[',
      writeRow({ key, coordinates, members }, { id }) {
        const geometry = `"geometry":{"type":"Point","coordinates":[${coordinates}]}`;
        const text = `${separator}{"type":"Feature",${geometry},"properties":{"vehicle":"${id}","time":"${writeTime(key)}"${members}}}`;
        separator = ',\n';
        return text;
      },
      end: () => '\n]}\n',
    }),
  };
}

/** Positions further apart in time than this are in different segments of a track. */
const segmentGapMicroseconds = 300_000_000;
const garmin = 'http://www.garmin.com/xmlschemas/TrackPointExtension/v2';
const gpxStart = `<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="Odograph" xmlns="http://www.topografix.com/GPX/1/1" xmlns:gpxtpx="${garmin}">
`;

interface TrackRow extends ExportRow {
  readonly start: string;
  readonly rest: string;
}

/** SQL of an element; nothing for null. */
const element = (name: string, value: RawBuilder<unknown>) =>
  sql`${sql.lit(`<${name}>`)} || ${value} || ${sql.lit(`</${name}>`)}`;
/** SQL of a number without an exponent, which xsd:decimal does not have. */
const decimal = (column: string) => sql`reading.${sql.ref(column)}::numeric`;

/** GPX has no longitude of 180: it is that of -180. */
const longitude = sql`case when reading.longitude = 180 then -180 else ${decimal('longitude')} end`;

/** Speed in m/s and course in degrees from 0 to 360 (Garmin, Track Point Extension 2). */
const trackPointExtension = sql`case when reading.speed >= 0 or reading.angle is not null then concat(
  '<extensions><gpxtpx:TrackPointExtension>',
  ${element('gpxtpx:speed', sql`case when reading.speed >= 0 then round((reading.speed / 3.6)::numeric, 3) end`)},
  ${element('gpxtpx:course', sql`mod(reading.angle::numeric + 360, 360)`)},
  '</gpxtpx:TrackPointExtension></extensions>') end`;

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Escapes text, without the characters that XML 1.0 cannot hold. */
const xmlText = (text: string): string =>
  text.replace(/[\p{Cc}\ufffe\uffff]/gu, '').replace(/[&<>]/g, (one) => escapes[one] ?? '');

/** GPX 1.1: a track for each vehicle, with a new segment wherever positions are more than five minutes apart. */
export function createGpxWriter(): ReadingWriter<TrackRow> {
  let vehicleId: number | undefined;
  let last = 0;
  const open = (vehicle: ExportVehicle): string => {
    const end = vehicleId === undefined ? '' : '</trkseg></trk>\n';
    vehicleId = vehicle.id;
    return `${end}<trk><name>${xmlText(vehicle.plate)}</name><src>${vehicle.id}</src><trkseg>\n`;
  };
  return {
    columns: sql`concat('lat="', ${decimal('latitude')}, '" lon="', ${longitude}, '">',
      ${element('ele', decimal('altitude'))}) as start,
      concat(${element('sat', sql`reading.satellites`)}, ${trackPointExtension}) as rest`,
    needsPosition: true,
    ...createTextWriter<TrackRow>({
      start: gpxStart,
      writeRow({ key, start, rest }, vehicle) {
        let text = '';
        if (vehicle.id !== vehicleId) text = open(vehicle);
        else if (key - last > segmentGapMicroseconds) text = '</trkseg><trkseg>\n';
        last = key;
        return `${text}<trkpt ${start}<time>${writeTime(key)}</time>${rest}</trkpt>\n`;
      },
      end: () => (vehicleId === undefined ? '</gpx>\n' : '</trkseg></trk>\n</gpx>\n'),
    }),
  };
}
