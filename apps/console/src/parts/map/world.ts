import type { Feature, FeatureCollection, Geometry, MultiPolygon, Point, Position } from 'geojson';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import fineUrl from 'world-atlas/countries-50m.json?url';
import coarseUrl from 'world-atlas/countries-110m.json?url';

type World = Topology<{ countries: GeometryCollection<{ name: string }> }>;

/** The countries of the world, and a point for the name of each. */
export interface Countries {
  readonly shapes: FeatureCollection;
  readonly names: FeatureCollection<Point>;
}

const urls = { coarse: coarseUrl, fine: fineUrl };

/** Loads the countries, 110 million to one or 50 million to one (Natural Earth). @throws when they cannot be loaded */
export async function loadCountries(detail: keyof typeof urls): Promise<Countries> {
  const world: World = await (await fetch(urls[detail])).json();
  const { features } = feature(world, world.objects.countries);
  const shapes = features.map((country) => ({ ...country, geometry: onPlane(country.geometry) }));
  return {
    shapes: { type: 'FeatureCollection', features: shapes },
    names: { type: 'FeatureCollection', features: shapes.flatMap(placeName) },
  };
}

type Ring = Position[];

const partsOf = (geometry: Geometry): Ring[][] => {
  if (geometry.type === 'MultiPolygon') return geometry.coordinates;
  return geometry.type === 'Polygon' ? [geometry.coordinates] : [];
};

/** Lays shapes of the globe onto the plane of the map. */
function onPlane(geometry: Geometry): MultiPolygon {
  return { type: 'MultiPolygon', coordinates: partsOf(geometry).map((rings) => rings.map(unwrap)) };
}

/** Continues a ring beyond the 180th meridian, which it would otherwise cross the whole map from; closes one around a pole. */
function unwrap(ring: Ring): Ring {
  let shift = 0;
  let before = ring[0]?.[0] ?? 0;
  const unwrapped = ring.map(([longitude = 0, latitude = 0]): Position => {
    if (longitude - before > 180) shift -= 360;
    if (before - longitude > 180) shift += 360;
    before = longitude;
    return [longitude + shift, latitude];
  });
  const [first, last] = [unwrapped[0], unwrapped.at(-1)];
  if (shift === 0 || !first || !last || first[0] === last[0]) return unwrapped;
  const pole = (first[1] ?? 0) < 0 ? -90 : 90;
  return [...unwrapped, [last[0] ?? 0, pole], [first[0] ?? 0, pole], first];
}

/** Puts the name of a country into the middle of its largest part; `rank` is smaller for larger countries. */
function placeName({ geometry, properties }: Feature): Feature<Point>[] {
  const name = properties?.['name'];
  if (typeof name !== 'string' || name === 'Antarctica') return [];
  const parts = partsOf(geometry).map(([outline]) => boundsOf(outline ?? []));
  const [largest] = parts.sort((one, other) => other.area - one.area);
  if (!largest) return [];
  const rank = -largest.area;
  return [{ type: 'Feature', geometry: { type: 'Point', coordinates: largest.middle }, properties: { name, rank } }];
}

function boundsOf(outline: Ring): { middle: [number, number]; area: number } {
  const longitudes = outline.map(([longitude = 0]) => longitude);
  const latitudes = outline.map(([, latitude = 0]) => latitude);
  const [west, east] = [Math.min(...longitudes), Math.max(...longitudes)];
  const [south, north] = [Math.min(...latitudes), Math.max(...latitudes)];
  return { middle: [(west + east) / 2, (south + north) / 2], area: (east - west) * (north - south) };
}
