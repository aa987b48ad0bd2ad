import { open } from 'node:fs/promises';
import { Failure } from '@odograph/contracts/failures';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendStoredFile } from '@odograph/http/file-answer';
import { answers, moment, word } from '@odograph/http/schemas';
import { type Config, mapSettingOf, mapSettings } from '@odograph/runtime/config';
import Type, { type Static } from 'typebox';
import type { PmtilesFile } from './pmtiles-file.ts';

const MapSettings = Type.Object(
  {
    kind: word(['world', 'vector-file', 'raster-file', 'images', 'style'], {
      description:
        'world: country outlines, built into the console; vector-file, raster-file: PMTiles of this platform; images, style: of another site',
    }),
    url: Type.Optional(
      Type.String({ description: 'of the file, of each image, or of the style', examples: ['/v1/x/map/tiles'] }),
    ),
    attribution: Type.String({ description: 'to be shown on the map', examples: ['© OpenStreetMap contributors'] }),
    fault: Type.Optional(Type.String({ description: 'why the map file cannot be used', examples: ['is truncated'] })),
    setting: Type.Optional(word(mapSettings, { description: 'the setting that selects the map' })),
    file: Type.Optional(
      Type.Object({
        bbox: Type.String({ description: 'west,south,east,north in degrees', examples: ['9.4,47,9.7,47.3'] }),
        minZoom: Type.Integer({ examples: [0] }),
        maxZoom: Type.Integer({ examples: [15] }),
        bytes: Type.Integer({ examples: [24_000_000] }),
        changedAt: moment('time of the last change'),
        source: Type.Optional(
          Type.String({
            description: 'the URL from which it was downloaded',
            examples: ['https://build.protomaps.com/20261120.pmtiles'],
          }),
        ),
      }),
    ),
  },
  { title: 'MapSettings' },
);
type MapSettings = Static<typeof MapSettings>;

const tilesPath = '/v1/x/map/tiles';

type MapConfig = Pick<Config, (typeof mapSettings)[number] | 'MAP_ATTRIBUTION'>;

/** The site that browsers load the map from, for the content security policy; undefined when that is this platform. */
export function mapOrigin({ MAP_TILES_URL: tiles, MAP_STYLE_URL: style }: MapConfig): string | undefined {
  const url = tiles ?? style;
  return url === undefined ? undefined : new URL(url).origin;
}

async function settingsOf(config: MapConfig, file: PmtilesFile): Promise<MapSettings> {
  const { MAP_TILES_URL: tiles, MAP_STYLE_URL: style, MAP_ATTRIBUTION: attribution = '' } = config;
  const name = mapSettingOf(config);
  const setting = name === undefined ? {} : { setting: name };
  if (tiles !== undefined) return { kind: 'images', url: tiles, attribution, ...setting };
  if (style !== undefined) return { kind: 'style', url: style, attribution, ...setting };
  const state = await file.check();
  if (state === undefined) return { kind: 'world', attribution: '' };
  if (state.fault !== undefined) return { kind: 'world', attribution: '', fault: state.fault, ...setting };
  const { minZoom, maxZoom, bytes, source } = state;
  return {
    ...{ kind: `${state.tiles}-file`, url: tilesPath, attribution: attribution || state.attribution, ...setting },
    file: {
      ...{ bbox: state.bounds.join(','), minZoom, maxZoom, bytes, changedAt: state.changedAt.toISOString() },
      ...(source !== undefined && { source }),
    },
  };
}

/** Serves the settings of the console's map (MAP_TILES, MAP_TILES_URL, MAP_STYLE_URL), and the bytes of its file. */
export function mapRoutes(config: MapConfig, file: PmtilesFile): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/map',
      {
        schema: {
          tags: ['live'],
          summary: 'What the map of the console is drawn from',
          response: answers(MapSettings),
        },
      },
      () => settingsOf(config, file),
    );
    http.route({
      method: ['GET', 'HEAD'],
      url: tilesPath,
      schema: { hide: true },
      async handler(request, reply) {
        // PmtilesFile logs why it cannot be opened.
        const handle = await open(file.path).catch(() => undefined);
        if (!handle) throw new Failure('NOT_FOUND', 'the file of the map cannot be read');
        return sendStoredFile(request, reply.type('application/vnd.pmtiles'), handle);
      },
    });
  };
}
