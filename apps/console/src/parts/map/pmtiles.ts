import { layers, namedFlavor } from '@protomaps/basemaps';
import {
  addProtocol,
  type LayerSpecification,
  LngLatBounds,
  type SourceSpecification,
  type StyleSpecification,
} from 'maplibre-gl';
import { FetchSource, PMTiles, Protocol } from 'pmtiles';
import { language } from '../../texts/texts.ts';

/** Layers drawn over the outlines of countries. */
export interface Detail {
  readonly sources: Readonly<Record<string, SourceSpecification>>;
  readonly layers: readonly LayerSpecification[];
  readonly glyphs?: string;
  readonly sprite?: StyleSpecification['sprite'];
  /** Default: the world. */
  readonly area?: LngLatBounds;
}

let protocol: Protocol | undefined;

/** Opens a PMTiles file. @returns its address as the source of a map, and its area @throws if it is unreadable */
export async function openPmtiles(url: string): Promise<{ url: string; area: LngLatBounds }> {
  if (!protocol) {
    protocol = new Protocol();
    addProtocol('pmtiles', protocol.tile);
  }
  // A new one for each map: the old one may remember a file that has been replaced since.
  const file = new PMTiles(new FetchSource(url));
  protocol.add(file);
  const { minLon, minLat, maxLon, maxLat } = await file.getHeader();
  return { url: `pmtiles://${url}`, area: new LngLatBounds([minLon, minLat, maxLon, maxLat]) };
}

/** Leaves out the pictures of a layer, which would come from another server. Undefined when nothing else is left. */
function withoutPictures(layer: LayerSpecification): LayerSpecification[] {
  if (layer.type !== 'symbol' || layer.layout?.['icon-image'] === undefined) return [layer];
  if (layer.layout['text-field'] === undefined) return [];
  const { 'icon-image': _picture, ...layout } = layer.layout;
  return [{ ...layer, layout }];
}

/** Streets, places and land use of a vector file in the schema of Protomaps; labels are drawn in fonts of the system. */
export function streetsOf(url: string, attribution: string, isDark: boolean): Detail {
  const drawn = layers('streets', namedFlavor(isDark ? 'dark' : 'light'), { lang: language.value });
  return {
    sources: { streets: { type: 'vector', url, attribution } },
    // Outside of the file's area the outlines of countries are seen, so its background is left out.
    layers: drawn.filter(({ type }) => type !== 'background').flatMap(withoutPictures),
  };
}
