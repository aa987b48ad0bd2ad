import 'maplibre-gl/dist/maplibre-gl.css';
import './map.css';
import type { FeatureCollection } from 'geojson';
import type { LayerSpecification, StyleSpecification } from 'maplibre-gl';
import { type GeoJSONSource, Map as MapLibreMap, NavigationControl, ScaleControl, setWorkerUrl } from 'maplibre-gl';
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?url';
import { addDetail, beforeCaller } from './detail.ts';
import { type MapPalette, paletteOf } from './palette.ts';
import { type Countries, loadCountries } from './world.ts';

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

const loaded = new Map<'coarse' | 'fine', Promise<Countries>>();

function countries(detail: 'coarse' | 'fine'): Promise<Countries> {
  const known = loaded.get(detail) ?? loadCountries(detail);
  loaded.set(detail, known);
  known.catch(() => loaded.delete(detail));
  return known;
}

/** Draws the world, finer once a person looks closer. The coarse land stays until the fine one is there. */
function drawWorld(map: MapLibreMap): void {
  let isFineAsked = false;
  let isFineShown = false;
  const draw = async (detail: 'coarse' | 'fine') => {
    const { shapes, names } = await countries(detail);
    if (isFineShown) return;
    isFineShown = detail === 'fine';
    await map.getSource<GeoJSONSource>('countries')?.setData(shapes);
    await map.getSource<GeoJSONSource>('country-names')?.setData(names);
  };
  const refine = () => {
    if (isFineAsked || map.getZoom() < fineZoom) return;
    isFineAsked = true;
    draw('fine').catch(() => {
      isFineAsked = false;
    });
  };
  map.on('load', () => {
    draw('coarse').catch(() => undefined);
    refine();
  });
  map.on('zoomend', refine);
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
  map.addControl(new ScaleControl({ maxWidth: 120 }), 'bottom-right');
  drawWorld(map);
  addDetail(map, isDark);
  return map;
}
