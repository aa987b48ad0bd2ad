import type { Database } from '@odograph/database/database';
import { privacyIsOn } from '@odograph/database/reading-json';
import { visibleTo } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';

const FleetArea = Type.Object(
  {
    bbox: Type.Optional(
      Type.String({
        description: 'west,south,east,north in decimal degrees; absent when no vehicle has a position',
        examples: ['2.2,48.8,2.5,48.95'],
      }),
    ),
  },
  { title: 'FleetArea' },
);

const marginShare = 0.1;
const minMarginDegrees = 0.2;

interface Extent {
  readonly west: number | null;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** Writes an extent with a margin, rounded to 0.01 degrees. */
function writeArea({ west, south, east, north }: Extent & { readonly west: number }): string {
  const marginOf = (size: number) => Math.max(size * marginShare, minMarginDegrees);
  const [dx, dy] = [marginOf(east - west), marginOf(north - south)];
  const area = [
    Math.max(-180, west - dx),
    Math.max(-85, south - dy),
    Math.min(180, east + dx),
    Math.min(85, north + dy),
  ];
  return area.map((degrees) => Math.round(degrees * 100) / 100).join(',');
}

/** An addition to the interface: the area of the latest positions, for which a map is needed. */
export function fleetAreaRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/vehicles/area',
      {
        schema: {
          tags: ['latest'],
          summary: 'The area of the latest positions with a margin; private vehicles are left out',
          response: answers(FleetArea),
        },
      },
      async ({ viewer }) => {
        const { rows } = await sql<Extent>`
          select min(longitude) as west, min(latitude) as south, max(longitude) as east, max(latitude) as north
          from (select (vehicle_latest.location->>'longitude')::double precision as longitude,
              (vehicle_latest.location->>'latitude')::double precision as latitude
            from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
            where ${visibleTo(viewer)} and vehicle.archived_at is null and not ${sql.raw(privacyIsOn)}) as located
          where longitude is not null and latitude is not null`.execute(db);
        const [extent] = rows;
        if (extent === undefined || extent.west === null) return {};
        return { bbox: writeArea({ ...extent, west: extent.west }) };
      },
    );
  };
}
