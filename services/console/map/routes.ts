import { type FileHandle, open } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { Failure } from '@odograph/contracts/failures';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, word } from '@odograph/http/schemas';
import type { Config } from '@odograph/runtime/config';
import Type, { type Static } from 'typebox';
import { type FileVersion, type PmtilesFile, versionOf } from './pmtiles-file.ts';

const MapSettings = Type.Object(
  {
    kind: word(['world', 'vector-file', 'raster-file', 'images', 'style'], {
      description:
        'world: the outlines of countries, which the console has; vector-file, raster-file: PMTiles of this platform; images, style: of another site',
    }),
    url: Type.Optional(
      Type.String({ description: 'of the file, of each image, or of the style', examples: ['/v1/x/map/tiles'] }),
    ),
    attribution: Type.String({ description: 'to be shown on the map', examples: ['© OpenStreetMap contributors'] }),
    fault: Type.Optional(
      Type.String({ description: 'why the file of MAP_TILES cannot be used', examples: ['is truncated'] }),
    ),
  },
  { title: 'MapSettings' },
);
type MapSettings = Static<typeof MapSettings>;

const tilesPath = '/v1/x/map/tiles';

type MapConfig = Pick<Config, 'MAP_TILES_URL' | 'MAP_STYLE_URL' | 'MAP_ATTRIBUTION'>;

/** The site that browsers load the map from, for the content security policy; undefined when that is this platform. */
export function mapOrigin({ MAP_TILES_URL: tiles, MAP_STYLE_URL: style }: MapConfig): string | undefined {
  const url = tiles ?? style;
  return url === undefined ? undefined : new URL(url).origin;
}

async function settingsOf(config: MapConfig, file: PmtilesFile | undefined): Promise<MapSettings> {
  const { MAP_TILES_URL: tiles, MAP_STYLE_URL: style, MAP_ATTRIBUTION: attribution = '' } = config;
  if (tiles !== undefined) return { kind: 'images', url: tiles, attribution };
  if (style !== undefined) return { kind: 'style', url: style, attribution };
  const state = await file?.check();
  if (state === undefined) return { kind: 'world', attribution: '' };
  if (state.fault !== undefined) return { kind: 'world', attribution: '', fault: state.fault };
  return { kind: `${state.tiles}-file`, url: tilesPath, attribution: attribution || state.attribution };
}

interface ByteRange {
  readonly start: number;
  /** Inclusive. */
  readonly end: number;
}

/**
 * Reads the header Range (RFC 9110, 14.1.2); several ranges are answered as none, with the whole file.
 * @returns undefined for the whole file
 * @throws RangeError when the file has none of these bytes
 */
export function parseRange(header: string | undefined, size: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && first !== '' && Number(last) < start) return undefined;
  if (start > end) throw new RangeError('no such bytes');
  return { start, end };
}

interface FileAnswer {
  readonly status: 200 | 206 | 304 | 416;
  readonly headers: Readonly<Record<string, string | number>>;
  /** The bytes to send; none when undefined. */
  readonly range?: ByteRange;
}

/** Decides how to answer a file or a part of it. The entity tag lets a browser notice that it was replaced between two parts. */
function answerTo(request: IncomingHttpHeaders, { size, etag }: FileVersion): FileAnswer {
  const { range: header, 'if-range': ifRange, 'if-none-match': ifNoneMatch } = request;
  const headers = { etag, 'accept-ranges': 'bytes', 'cache-control': 'private, no-cache' };
  if (ifNoneMatch?.split(/\s*,\s*/).includes(etag)) return { status: 304, headers };
  try {
    const part = ifRange === undefined || ifRange === etag ? parseRange(header, size) : undefined;
    const range = part ?? { start: 0, end: size - 1 };
    const sized = { ...headers, 'content-length': range.end - range.start + 1 };
    if (!part) return { status: 200, headers: sized, range };
    return { status: 206, headers: { ...sized, 'content-range': `bytes ${part.start}-${part.end}/${size}` }, range };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { status: 416, headers: { ...headers, 'content-range': `bytes */${size}` } };
  }
}

function openFile(path: string): Promise<FileHandle> {
  return open(path).catch(() => {
    // PmtilesFile logs why.
    throw new Failure('NOT_FOUND', 'the file of the map cannot be read');
  });
}

/** What the map of the console is drawn from (MAP_TILES, MAP_TILES_URL, MAP_STYLE_URL), and the bytes of MAP_TILES. */
export function mapRoutes(config: MapConfig, file: PmtilesFile | undefined): RoutePlugin {
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
        if (!file) throw new Failure('NOT_FOUND', 'the platform has no file of a map');
        const handle = await openFile(file.path);
        // The stream of the answer closes the file too.
        reply.raw.once('close', () => void handle.close().catch(() => undefined));
        const { status, headers, range } = answerTo(request.headers, versionOf(await handle.stat()));
        reply.code(status).headers(headers).type('application/vnd.pmtiles');
        const isEmpty = range === undefined || range.end < range.start || request.method === 'HEAD';
        return reply.send(isEmpty ? undefined : handle.createReadStream(range));
      },
    });
  };
}
