import { writeTimestamp } from '@odograph/database/trips';
import type { TripTimes } from '../trips/queries.ts';
import type { TrackPoint } from './queries.ts';

/** Reads the points of a track; may be called more than once. */
export type ReadPoints = () => AsyncIterable<TrackPoint[]>;

/** A format in which a track is written. */
export interface TrackFormat {
  readonly mediaType: string;
  write(trip: TripTimes, points: ReadPoints): AsyncGenerator<string>;
}

const coordinates = ({ longitude, latitude, altitude }: TrackPoint) =>
  JSON.stringify(altitude === null ? [longitude, latitude] : [longitude, latitude, altitude]);

/** Checks that there are at least two points, as a line needs (RFC 7946, 3.1.4). */
async function isLine(points: ReadPoints): Promise<boolean> {
  for await (const page of points()) return page.length > 1;
  return false;
}

async function* writeList(points: ReadPoints, write: (point: TrackPoint) => string): AsyncGenerator<string> {
  let comma = '';
  for await (const page of points()) {
    yield comma + page.map(write).join(',');
    comma = ',';
  }
}

/** RFC 7946: a Feature with a LineString; `coordTimes` has the time of each position, in the same order. */
const geojson: TrackFormat = {
  mediaType: 'application/geo+json',
  async *write(trip, points) {
    yield '{"type":"Feature","geometry":';
    if (await isLine(points)) {
      yield '{"type":"LineString","coordinates":[';
      yield* writeList(points, coordinates);
      yield ']}';
    } else yield 'null';
    const facts = {
      trip_id: trip.id,
      timestamp: writeTimestamp(trip.start),
      until: writeTimestamp(trip.end),
      distance: Number(trip.distanceKm.toFixed(3)),
      inferred: trip.inferred,
    };
    yield `,"properties":${JSON.stringify(facts).slice(0, -1)},"coordTimes":[`;
    yield* writeList(points, ({ time }) => `"${writeTimestamp(time)}"`);
    yield ']}}';
  },
};

const gpxStart = `<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="Odograph" xmlns="http://www.topografix.com/GPX/1/1">`;

/** xsd:decimal has no exponent. */
const decimal = (value: number) => (Math.abs(value) < 1e-6 ? value.toFixed(12) : String(value));

function trackPoint({ time, latitude, longitude, altitude }: TrackPoint): string {
  const elevation = altitude === null ? '' : `<ele>${decimal(altitude)}</ele>`;
  return `<trkpt lat="${decimal(latitude)}" lon="${decimal(longitude)}">${elevation}<time>${writeTimestamp(time)}</time></trkpt>\n`;
}

/** GPX 1.1 with one track of one segment. */
const gpx: TrackFormat = {
  mediaType: 'application/gpx+xml',
  async *write(trip, points) {
    yield `${gpxStart}\n<trk><name>${trip.id}</name><trkseg>\n`;
    for await (const page of points()) yield page.map(trackPoint).join('');
    yield '</trkseg></trk>\n</gpx>\n';
  },
};

const formats = { geojson, gpx } as const;

/** Chooses the format that a request names, else the one it accepts, else GeoJSON. */
export function chooseFormat(named: keyof typeof formats | undefined, accept: string | undefined): TrackFormat {
  if (named) return formats[named];
  return accept?.toLowerCase().includes(gpx.mediaType) ? gpx : geojson;
}
