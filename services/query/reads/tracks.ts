import { Readable } from 'node:stream';
import { Failure } from '@odograph/contracts/failures';
import { isoMicroseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { findTrip, type TripTimes, writeTimestamp } from '@odograph/database/trips';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, VehicleId, word } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';

/** A position; `altitude` in metres. */
interface TrackPoint {
  time: bigint;
  latitude: number;
  longitude: number;
  altitude: number | null;
}

const pointsPerPage = 2000;

/**
 * Reads the positions of a trip in the order of time, page by page; no connection is held between pages. Readings in a
 * privacy interval have none.
 */
async function* readTrack(db: Database, vehicleId: number, trip: TripTimes): AsyncGenerator<TrackPoint[]> {
  let after = trip.start - 1n;
  for (;;) {
    const { rows } = await sql<Omit<TrackPoint, 'time'> & { time_us: string }>`
      select (extract(epoch from time) * 1000000)::bigint::text as time_us, latitude, longitude, altitude
      from reading_in_units where vehicle_id = ${vehicleId} and time > ${isoMicroseconds(after)}::timestamptz
        and time <= ${isoMicroseconds(trip.end)}::timestamptz and latitude is not null and longitude is not null
      order by time limit ${pointsPerPage}`.execute(db);
    const points = rows.map(({ time_us, ...point }) => ({ time: BigInt(time_us), ...point }));
    if (points.length > 0) yield points;
    const last = points.at(-1);
    if (!last || points.length < pointsPerPage) return;
    after = last.time;
  }
}

/** Reads the points of a track; may be called more than once. */
type ReadPoints = () => AsyncIterable<TrackPoint[]>;

/** A format in which a track is written. */
interface TrackFormat {
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
function chooseFormat(named: keyof typeof formats | undefined, accept: string | undefined): TrackFormat {
  if (named) return formats[named];
  return accept?.toLowerCase().includes(gpx.mediaType) ? gpx : geojson;
}

const TrackParameters = Type.Object({
  id: VehicleId,
  tripId: Type.String({ description: 'trip_id of a trip object', examples: ['1000000001-1772440200'] }),
});
const TrackQuery = Type.Object({
  format: Type.Optional(
    word(['geojson', 'gpx'], {
      description: 'without it, by the header Accept, else GeoJSON',
    }),
  ),
});
const Track = Type.Object(
  {
    type: Type.Literal('Feature'),
    geometry: Type.Union([Type.Object({ type: Type.Literal('LineString') }), Type.Null()]),
    properties: Type.Object({ trip_id: Type.String(), coordTimes: Type.Array(Type.String()) }),
  },
  { title: 'Track', description: 'a GeoJSON Feature, or GPX 1.1' },
);

/** An addition to the interface: the positions of a trip. */
export function trackRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/vehicle/:id/trips/:tripId/track',
      {
        schema: {
          tags: ['trips'],
          summary: 'Positions of a trip, as GeoJSON or GPX',
          params: TrackParameters,
          querystring: TrackQuery,
          produces: ['application/geo+json', 'application/gpx+xml'],
          response: answers(Track, 'UNKNOWN_VEHICLE', 'NOT_FOUND'),
        },
      },
      async ({ caller, params, query, headers }, reply) => {
        const vehicle = await findVehicle(db, caller, params.id);
        const trip = await findTrip(db, vehicle.id, params.tripId);
        if (!trip) throw new Failure('NOT_FOUND', 'the vehicle has no such trip');
        const { mediaType, write } = chooseFormat(query.format, headers.accept);
        const body = Readable.from(write(trip, () => readTrack(db, vehicle.id, trip)));
        return reply.header('vary', 'accept').type(mediaType).send(body);
      },
    );
  };
}
