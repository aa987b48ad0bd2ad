import { Readable } from 'node:stream';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, VehicleId, word } from '@odograph/http/schemas';
import Type from 'typebox';
import { findTrip } from '../trips/queries.ts';
import { readTrack } from './queries.ts';
import { chooseFormat } from './rules.ts';

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
