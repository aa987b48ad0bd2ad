import type { Viewer } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { type GeofencePoint, unwrapRing } from '@odograph/contracts/geofences';
import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { answers, text, word } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { ofApplications, seesVehicles } from '../alarms/geofences.ts';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { awaitSlot } from '../common/upstream.ts';
import { geocoderLimit, maxFound, searchGeocoder } from './geocoder.ts';

const maxOwnPlaces = 5;

const degrees = (example: number) => Type.Number({ description: 'decimal degrees', examples: [example] });
const Place = Type.Object(
  {
    kind: word(['parking', 'geofence', 'address'], { description: 'address: from the geocoder or the map file' }),
    name: Type.String({ examples: ['Depot'] }),
    latitude: degrees(48.8566),
    longitude: degrees(2.3522),
  },
  { title: 'Place' },
);
type Place = Static<typeof Place>;

const Places = Type.Object(
  {
    places: Type.Array(Place),
    source: word(['geocoder', 'map', 'none'], { description: 'source of the results with `address=true`' }),
  },
  { title: 'Places' },
);

const PlaceSearch = Type.Object({
  q: text(1, 200, { description: 'a name or a part of it, or an address', examples: ['Depot'] }),
  address: Type.Optional(
    Type.Boolean({
      description: 'searches addresses instead: in the geocoder, which gets `q`, else in the map file',
    }),
  ),
});

/** Returns the centre of the bounding box of a GeoJSON geometry. */
function centreOf(geometry: { readonly coordinates: unknown }): { latitude: number; longitude: number } {
  const points = unwrapRing([geometry.coordinates].flat(3).flatMap(pairs));
  const middle = (values: number[]) => (Math.min(...values) + Math.max(...values)) / 2;
  const [longitude, latitude] = [middle(points.map(([x]) => x)), middle(points.map(([, y]) => y))];
  return { latitude, longitude: longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude };
}
const pairs = (value: unknown, index: number, all: readonly unknown[]): GeofencePoint[] =>
  index % 2 === 0 ? [[Number(value), Number(all[index + 1])]] : [];

/** Finds parking spots and geofences whose name contains a text, ignoring case. */
async function findOwnPlaces(db: Database, viewer: Viewer, search: string): Promise<Place[]> {
  const matches = sql`strpos(lower(name), lower(${search}))`;
  const { rows } = await sql<{ kind: Place['kind']; name: string; geometry: { coordinates: unknown } }>`
    with place as (
      select application_id, 'parking' as kind, name, jsonb_build_object('coordinates',
        jsonb_build_array(longitude, latitude)) as geometry from parking where latitude is not null
      union all select application_id, 'geofence', name, geometry from geofence)
    select kind, name, geometry from place
    where ${ofApplications('place.application_id', viewer)} and ${seesVehicles(viewer)} and ${matches} > 0
    order by ${matches}, name limit ${maxOwnPlaces}`.execute(db);
  return rows.map(({ kind, name, geometry }) => ({ kind, name, ...centreOf(geometry) }));
}

/** Searches the geocoder, else the map file. @throws Failure TOO_MANY_REQUESTS, OVERLOADED */
async function findAddresses(fleet: Fleet, search: string): Promise<Place[]> {
  const { config, map, logger } = fleet;
  if (config.GEOCODER_URL !== undefined) await awaitSlot(geocoderLimit(fleet.redis, config), 'geocoder');
  try {
    const found =
      config.GEOCODER_URL === undefined
        ? ((await (await map.open())?.find(search, maxFound)) ?? [])
        : await searchGeocoder(config, search);
    return found.map((place) => ({ kind: 'address', ...place }));
  } catch (cause) {
    logger.warn({ err: cause }, 'search for addresses failed');
    throw new Failure('OVERLOADED', 'the search for addresses failed', { retryAfterSeconds: 5 }, { cause });
  }
}

async function sourceOf({ config, map }: Fleet): Promise<Static<typeof Places>['source']> {
  if (config.GEOCODER_URL !== undefined) return 'geocoder';
  return (await map.open()) === undefined ? 'none' : 'map';
}

function addSearch(http: Http, fleet: Fleet): void {
  http.get(
    '/v1/x/places',
    {
      schema: {
        tags: ['live'],
        summary: 'Search parking spots and geofences by name, or addresses',
        querystring: PlaceSearch,
        response: answers(Places),
      },
    },
    async ({ viewer, query: { q, address = false } }) => {
      const search = q.trim();
      if (search === '') throw invalidParameter('q', 'must not be blank');
      const places = await (address ? findAddresses(fleet, search) : findOwnPlaces(fleet.db, viewer, search));
      return { places, source: await sourceOf(fleet) };
    },
  );
}

/** Search for places on the map of the console (docs/addresses.md). */
export const places: FleetRoutes = { viewer: [addSearch] };
