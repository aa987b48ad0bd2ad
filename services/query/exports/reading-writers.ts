import { changeMembers } from '@odograph/database/reading-json';
import { type RawBuilder, sql } from 'kysely';
import { writeCell } from '../csv.ts';
import { cellsOf, type ExportField, membersOf } from './fields.ts';
import { createTextWriter, type ExportRow, type ExportVehicle, type ReadingWriter, writeTime } from './writers.ts';

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
