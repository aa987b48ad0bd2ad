import {
  type IControl,
  type LayerSpecification,
  LngLatBounds,
  type Map as MapLibreMap,
  type StyleSpecification,
} from 'maplibre-gl';
import { answerOf, api, CallFailure, type Schema } from '../../api/client.ts';
import { checkSession, mayChangeMap } from '../../session.ts';
import { texts } from '../../texts/texts.ts';
import type { Detail } from './pmtiles.ts';

/** The layer below which the detail of the map lies; what a screen draws lies above. */
export const beforeCaller = 'end-of-base-map';
/** Begins the names of sources and layers of the detail, which are not ours to choose. */
const prefix = 'detail-';
/** Zoom level from which the detail of the map covers the coast. */
export const streetZoom = 8;
/** After so many failures without a tile in between the map does without. */
const maxFailures = 3;

type MapSettings = Schema<'MapSettings'>;

/** A style sheet of another site. @throws when it cannot be loaded */
async function loadStyle(url: string, attribution: string): Promise<Detail> {
  const response = await fetch(url, { credentials: 'omit' });
  if (!response.ok) throw new Error(`the style was answered with ${response.status}`);
  const { sources, layers, glyphs, sprite } = (await response.json()) as StyleSpecification;
  const [first] = Object.entries(sources);
  const attributed = first && attribution !== '' ? { [first[0]]: { ...first[1], attribution } } : {};
  return {
    ...{ sources: { ...sources, ...attributed }, layers },
    ...(glyphs !== undefined && { glyphs }),
    ...(sprite !== undefined && { sprite }),
  };
}

/** One layer of images; darker on a dark page, since no server has dark ones at the same address. */
function imagesOf(source: { tiles: string[] } | { url: string }, attribution: string, isDark: boolean): Detail {
  const paint = isDark ? { 'raster-brightness-max': 0.6, 'raster-saturation': -0.5 } : {};
  return {
    sources: { images: { type: 'raster', tileSize: 256, attribution, ...source } },
    layers: [{ id: 'images', type: 'raster', source: 'images', paint }],
  };
}

async function loadDetail({ kind, url = '', attribution }: MapSettings, isDark: boolean): Promise<Detail | undefined> {
  if (kind === 'images') return imagesOf({ tiles: [url] }, attribution, isDark);
  if (kind === 'style') return loadStyle(url, attribution);
  if (kind === 'world') return undefined;
  const { openPmtiles, streetsOf } = await import('./pmtiles.ts');
  const { area, ...source } = await openPmtiles(new URL(url, location.href).href);
  const isVector = kind === 'vector-file';
  const detail = isVector ? streetsOf(source.url, attribution, isDark) : imagesOf(source, attribution, isDark);
  return { ...detail, area };
}

/** Says on the map why it has less detail than usual, and links to its settings for those who may change them. */
function createNotice(text: string): IControl {
  const element = document.createElement('p');
  Object.assign(element, { className: 'maplibregl-ctrl map-notice', role: 'status', textContent: text });
  if (mayChangeMap()) {
    const link = document.createElement('a');
    Object.assign(link, { href: '/map/settings', textContent: texts.value.mapSettings.setUp });
    element.append(' ', link);
  }
  return { onAdd: () => element, onRemove: () => element.remove() };
}

function draw(map: MapLibreMap, { sources, layers, glyphs, sprite }: Detail): void {
  if (glyphs !== undefined) map.setGlyphs(glyphs);
  if (typeof sprite === 'string') map.setSprite(sprite);
  for (const [name, source] of Object.entries(sources)) map.addSource(prefix + name, source);
  for (const layer of layers) {
    const source = 'source' in layer ? { source: `${prefix}${String(layer.source)}` } : {};
    map.addLayer({ ...layer, ...source, id: prefix + layer.id } as LayerSpecification, beforeCaller);
  }
  map.setLayoutProperty('country-names', 'visibility', 'none');
  // Outlines at 1:50 million are off by hundreds of metres, which shows next to streets.
  map.setLayerZoomRange('borders', 0, streetZoom);
}

function remove(map: MapLibreMap): void {
  const { layers, sources } = map.getStyle();
  for (const { id } of layers) if (id.startsWith(prefix)) map.removeLayer(id);
  for (const name of Object.keys(sources)) if (name.startsWith(prefix)) map.removeSource(name);
  map.setGlyphs(null);
  map.setLayoutProperty('country-names', 'visibility', 'visible');
  map.setLayerZoomRange('borders', 0, 24);
}

/** Calls back once when the source of the detail keeps failing. */
function watchFailures(map: MapLibreMap, onFault: () => void): void {
  let failures = 0;
  map.on('sourcedata', ({ sourceId, tile }) => {
    if (tile && sourceId.startsWith(prefix)) failures = 0;
  });
  map.on('error', (event) => {
    const { sourceId, tile, error } = event as typeof event & { sourceId?: string; tile?: object };
    if (!sourceId?.startsWith(prefix)) {
      // A listener takes the place of the usual message.
      console.error(error);
      return;
    }
    // The session has ended: the map continues after the sign-in.
    if (error.message.includes('401')) void checkSession().catch(() => undefined);
    else failures += tile ? 1 : maxFailures;
    if (failures < maxFailures) return;
    failures = Number.NEGATIVE_INFINITY;
    onFault();
  });
}

const world = new LngLatBounds([-180, -90, 180, 90]);

/**
 * Draws what the platform has for the map between the outlines of countries and what the screen draws.
 * @param onArea called with the area of the detail, or with undefined if there is none or loading fails
 */
export function addDetail(map: MapLibreMap, isDark: boolean, onArea: (area: LngLatBounds | undefined) => void): void {
  let isRemoved = false;
  map.once('remove', () => {
    isRemoved = true;
  });
  const styled = new Promise((resolve) => void map.once('style.load', resolve));
  const tell = (text: string) => void (isRemoved || map.addControl(createNotice(text), 'top-left'));
  const load = async (): Promise<LngLatBounds | undefined> => {
    const settings = await answerOf(api.GET('/v1/x/map'));
    const { map: text, mapSettings } = texts.value;
    if (settings.fault !== undefined) tell(text.fileFault(settings.fault));
    else if (settings.kind === 'world' && mayChangeMap()) tell(mapSettings.none);
    const site = new URL(settings.url ?? '', location.href).host;
    try {
      const [detail] = await Promise.all([loadDetail(settings, isDark), styled]);
      if (!detail || isRemoved) return undefined;
      watchFailures(map, () => {
        remove(map);
        onArea(undefined);
        tell(text.sourceFault(site));
      });
      draw(map, detail);
      return detail.area ?? world;
    } catch (error) {
      console.error(error);
      tell(text.sourceFault(site));
      return undefined;
    }
  };
  load()
    .then((area) => void (isRemoved || onArea(area)))
    .catch((error: unknown) => {
      // Without an answer of the platform the screen says so.
      if (!(error instanceof CallFailure)) throw error;
    });
}
