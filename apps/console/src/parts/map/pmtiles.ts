import { layers, namedFlavor } from '@protomaps/basemaps';
import { addProtocol, type LayerSpecification, type SourceSpecification, type StyleSpecification } from 'maplibre-gl';
import { FetchSource, PMTiles, Protocol } from 'pmtiles';
import { language } from '../../texts/texts.ts';

/** Layers drawn over the outlines of countries. */
export interface Detail {
  readonly sources: Readonly<Record<string, SourceSpecification>>;
  readonly layers: readonly LayerSpecification[];
  readonly glyphs?: string;
  readonly sprite?: StyleSpecification['sprite'];
}

let protocol: Protocol | undefined;

/** Lets maps read a PMTiles file. @param url of the file @returns the address of the file as the source of a map */
export function openPmtiles(url: string): string {
  if (!protocol) {
    protocol = new Protocol();
    addProtocol('pmtiles', protocol.tile);
  }
  // A new one for each map: the old one may remember a file that has been replaced since.
  protocol.add(new PMTiles(new FetchSource(url)));
  return `pmtiles://${url}`;
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
