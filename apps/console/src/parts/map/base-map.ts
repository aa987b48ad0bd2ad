import 'maplibre-gl/dist/maplibre-gl.css';
import './map.css';
import type { Feature, FeatureCollection, Geometry, MultiPolygon, Point, Position } from 'geojson';
import {
  type GeoJSONSource,
  type LayerSpecification,
  type LngLatBounds,
  Map as MapLibreMap,
  NavigationControl,
  ScaleControl,
  type StyleSpecification,
  setWorkerUrl,
} from 'maplibre-gl';
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?url';
import { useEffect, useRef, useState } from 'preact/hooks';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import fineUrl from 'world-atlas/countries-50m.json?url';
import coarseUrl from 'world-atlas/countries-110m.json?url';
import { isDark, preferences } from '../../preferences.ts';
import { addDetail, beforeCaller, streetZoom } from './detail.ts';
import { type MapPalette, paletteOf } from './palette.ts';

type World = Topology<{ countries: GeometryCollection<{ name: string }> }>;

/** The countries of the world, and a point for the name of each. */
interface Countries {
  readonly shapes: FeatureCollection;
  readonly names: FeatureCollection<Point>;
}

const urls = { coarse: coarseUrl, fine: fineUrl };

/** Loads the countries, 110 million to one or 50 million to one (Natural Earth). @throws when they cannot be loaded */
async function loadCountries(scale: Scale): Promise<Countries> {
  const world: World = await (await fetch(urls[scale])).json();
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

setWorkerUrl(workerUrl);

const nothing = (): FeatureCollection => ({ type: 'FeatureCollection', features: [] });
/** From this zoom on the coast of the coarse world looks wrong. */
const fineZoom = 3.5;

function worldLayers({ sea, land, border, label, halo }: MapPalette): LayerSpecification[] {
  return [
    { id: 'sea', type: 'background', paint: { 'background-color': sea } },
    { id: 'land', type: 'fill', source: 'countries', paint: { 'fill-color': land } },
    { id: 'borders', type: 'line', source: 'countries', paint: { 'line-color': border, 'line-width': 0.8 } },
    {
      id: 'country-names',
      type: 'symbol',
      source: 'country-names',
      minzoom: 1.5,
      layout: {
        'text-field': ['get', 'name'],
        'text-font': ['system-ui'],
        'text-size': ['interpolate', ['linear'], ['zoom'], 2, 10, 6, 14],
        'text-max-width': 7,
        'symbol-sort-key': ['get', 'rank'],
      },
      paint: { 'text-color': label, 'text-halo-color': halo, 'text-halo-width': 1.2, 'text-opacity': 0.85 },
    },
    { id: beforeCaller, type: 'background', layout: { visibility: 'none' } },
  ];
}

function worldStyle(palette: MapPalette): StyleSpecification {
  return {
    version: 8,
    sources: {
      countries: { type: 'geojson', data: nothing(), maxzoom: 8 },
      'country-names': { type: 'geojson', data: nothing() },
    },
    layers: worldLayers(palette),
  };
}

type Scale = keyof typeof urls;
const loaded = new Map<Scale, Promise<Countries>>();

function countries(scale: Scale): Promise<Countries> {
  const known = loaded.get(scale) ?? loadCountries(scale);
  loaded.set(scale, known);
  known.catch(() => loaded.delete(scale));
  return known;
}

/**
 * Draws the world, with fine coastlines once the map is zoomed in where no detail covers the view. The coarse land stays
 * until the fine coastlines are loaded. @returns a function that sets the area of the detail
 */
function drawWorld(map: MapLibreMap): (area: LngLatBounds | undefined) => void {
  let isLoaded = false;
  let isFineAsked = false;
  let isFineShown = false;
  let detail: { readonly area: LngLatBounds | undefined } | undefined;
  const draw = async (scale: Scale) => {
    const { shapes, names } = await countries(scale);
    if (isFineShown) return;
    isFineShown = scale === 'fine';
    await map.getSource<GeoJSONSource>('countries')?.setData(shapes);
    await map.getSource<GeoJSONSource>('country-names')?.setData(names);
  };
  const refine = () => {
    if (isFineAsked || !detail || !isLoaded || map.getZoom() < fineZoom) return;
    if (map.getZoom() >= streetZoom && detail.area?.contains(map.getCenter().wrap())) return;
    isFineAsked = true;
    draw('fine').catch(() => {
      isFineAsked = false;
    });
  };
  map.on('load', () => {
    isLoaded = true;
    draw('coarse').catch(() => undefined);
    refine();
  });
  map.on('moveend', refine);
  return (area) => {
    detail = { area };
    refine();
  };
}

export interface BaseMapOptions {
  readonly isDark: boolean;
  readonly center?: readonly [longitude: number, latitude: number];
  readonly zoom?: number;
}

/** Creates a map with the land it lies on; the caller adds layers after `load` and removes the map. */
export function createBaseMap(
  container: HTMLElement,
  { isDark, center = [8, 30], zoom = 1.6 }: BaseMapOptions,
): MapLibreMap {
  const map = new MapLibreMap({
    container,
    style: worldStyle(paletteOf(isDark)),
    center: [center[0], center[1]],
    zoom,
    minZoom: 0.5,
    maxZoom: 20,
    dragRotate: false,
    pitchWithRotate: false,
    attributionControl: { compact: true, customAttribution: 'Natural Earth' },
    fadeDuration: 0,
  });
  map.touchZoomRotate.disableRotation();
  map.addControl(new NavigationControl({ showCompass: false }), 'top-right');
  map.addControl(new ScaleControl({ maxWidth: 120, unit: preferences.value.units }), 'bottom-right');
  addDetail(map, isDark, drawWorld(map));
  return map;
}

/**
 * Creates a map in an element, and again when the page turns dark or light.
 * @param prepare adds sources and layers. @returns `map`: undefined until its style is loaded
 */
export function useMap(prepare: (map: MapLibreMap, palette: MapPalette) => void) {
  const container = useRef<HTMLDivElement>(null);
  const [map, setMap] = useState<MapLibreMap | undefined>(undefined);
  const place = useRef<{ center?: [number, number]; zoom?: number }>({});
  const dark = isDark();
  useEffect(() => {
    if (!container.current) return undefined;
    const created = createBaseMap(container.current, { isDark: dark, ...place.current });
    created.on('load', () => {
      prepare(created, paletteOf(dark));
      setMap(created);
    });
    return () => {
      const { lng, lat } = created.getCenter();
      place.current = { center: [lng, lat], zoom: created.getZoom() };
      setMap(undefined);
      created.remove();
    };
  }, [dark]);
  return { container, map };
}
