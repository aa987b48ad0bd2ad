import type { Feature, LineString } from 'geojson';
import type { GeoJSONSource, Map as MapLibreMap } from 'maplibre-gl';
import type { MapPalette } from './palette.ts';

/** A way that a vehicle took: positions as [longitude, latitude]. */
export type Route = readonly (readonly [number, number])[];

const lineOf = (route: Route): Feature<LineString> => ({
  type: 'Feature',
  properties: {},
  geometry: { type: 'LineString', coordinates: route.map(([longitude, latitude]) => [longitude, latitude]) },
});

/** Adds the line of a route below the vehicles. */
export function addRouteLayer(map: MapLibreMap, { accent, surface }: MapPalette): void {
  map.addSource('route', { type: 'geojson', data: { type: 'FeatureCollection', features: [] } });
  const layout = { 'line-cap': 'round', 'line-join': 'round' } as const;
  const line = { type: 'line', source: 'route', layout } as const;
  map.addLayer({ ...line, id: 'route-border', paint: { 'line-color': surface, 'line-width': 7 } });
  map.addLayer({ ...line, id: 'route', paint: { 'line-color': accent, 'line-width': 3.5 } });
}

/** Draws a route in place of the one before; an empty one draws nothing. */
export const drawRoute = (map: MapLibreMap, route: Route): void => drawLines(map, [route]);

/** Adds a layer above the route that draws lines computed by a router, dashed. */
export function addSnappedLayer(map: MapLibreMap, { moving }: MapPalette): void {
  map.addSource('snapped', { type: 'geojson', data: { type: 'FeatureCollection', features: [] } });
  const paint = { 'line-color': moving, 'line-width': 3, 'line-dasharray': [2, 1.5] };
  map.addLayer({ id: 'snapped', type: 'line', source: 'snapped', paint });
}

/** Draws a route in parts, between which nothing is known, in place of the one before. */
export function drawLines(map: MapLibreMap, lines: readonly Route[], source: 'route' | 'snapped' = 'route'): void {
  const features = lines.filter(({ length }) => length > 1).map(lineOf);
  void map.getSource<GeoJSONSource>(source)?.setData({ type: 'FeatureCollection', features });
}

/** The bounds of a route; undefined for an empty one. */
export function boundsOf(route: Route): [west: number, south: number, east: number, north: number] | undefined {
  if (route.length === 0) return undefined;
  const longitudes = route.map(([longitude]) => longitude);
  const latitudes = route.map(([, latitude]) => latitude);
  return [Math.min(...longitudes), Math.min(...latitudes), Math.max(...longitudes), Math.max(...latitudes)];
}
