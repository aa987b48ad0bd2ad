import type { Feature, FeatureCollection, Point, Position } from 'geojson';
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
  const shapes = feature(world, world.objects.countries);
  return { shapes, names: { type: 'FeatureCollection', features: shapes.features.flatMap(placeName) } };
}

/** Puts the name of a country into the middle of its largest part; `rank` is smaller for larger countries. */
function placeName({ geometry, properties }: Feature): Feature<Point>[] {
  const name = properties?.['name'];
  if (typeof name !== 'string' || name === 'Antarctica') return [];
  const parts =
    geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.type === 'MultiPolygon' ? geometry.coordinates : [];
  const boxes = parts.map(([outline]) => boxOf(outline ?? [])).sort((one, other) => other.area - one.area);
  const [largest] = boxes;
  if (!largest) return [];
  const rank = -largest.area;
  return [{ type: 'Feature', geometry: { type: 'Point', coordinates: largest.middle }, properties: { name, rank } }];
}

function boxOf(outline: readonly Position[]): { middle: [number, number]; area: number } {
  let [west, south, east, north] = [180, 90, -180, -90];
  for (const [longitude = 0, latitude = 0] of outline) {
    west = Math.min(west, longitude);
    east = Math.max(east, longitude);
    south = Math.min(south, latitude);
    north = Math.max(north, latitude);
  }
  return { middle: [(west + east) / 2, (south + north) / 2], area: (east - west) * (north - south) };
}
