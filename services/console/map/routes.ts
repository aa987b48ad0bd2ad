import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendStoredFile } from '@odograph/http/file-answer';
import { answers, moment, word } from '@odograph/http/schemas';
import { type Config, mapSettingOf, mapSettings } from '@odograph/runtime/config';
import Type, { type Static } from 'typebox';
import { inspectPmtiles, type PmtilesFile } from './pmtiles-file.ts';

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
    hasRouter: Type.Optional(Type.Literal(true, { description: 'trips can be snapped to roads' })),
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
export function mapRoutes(config: MapConfig & Pick<Config, 'ROUTER_URL'>, file: PmtilesFile): RoutePlugin {
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
      async () => ({
        ...(await settingsOf(config, file)),
        ...(config.ROUTER_URL !== undefined && { hasRouter: true as const }),
      }),
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

/** A part of this size must arrive within the request timeout. */
const maxPartBytes = 4 * 1024 ** 2;
const maxFileBytes = 20 * 1024 ** 3;

const Part = Type.Object({
  upload: Type.String({ pattern: '^[0-9a-f]{16}$', description: 'chosen by the client, the same for all parts' }),
  offset: Type.Integer({ minimum: 0, description: 'offset of the part in the file, in bytes' }),
  size: Type.Integer({ minimum: 1, maximum: maxFileBytes, description: 'size of the file, in bytes' }),
});
type Part = Static<typeof Part>;

/** Kept free because the database may be on the same disk. */
const minFreeBytes = 1024 ** 3;

/** Removes incomplete uploads. @param minAgeMs minimum time since their last part, ms */
export async function removeUploads(path: string, minAgeMs: number): Promise<void> {
  const directory = dirname(path);
  const names = await readdir(directory).catch(() => []);
  for (const name of names.filter((entry) => entry.startsWith(`${basename(path)}.upload-`))) {
    const upload = join(directory, name);
    const state = await stat(upload).catch(() => undefined);
    if (state !== undefined && state.mtimeMs <= Date.now() - minAgeMs) await rm(upload, { force: true });
  }
}

/** Checks the free disk space. @throws Failure TOO_LARGE when less than 1 GiB would stay free */
export async function requireSpace(directory: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  if (bavail * bsize - minFreeBytes < bytes)
    throw new Failure('TOO_LARGE', 'size exceeds the free space of DATA_DIR, of which 1 GiB is kept free');
}

/** Writes a part. @throws Failure CHANGED_MEANWHILE when earlier parts are missing, for example after another upload began */
async function writePart(path: string, { offset, size }: Part, bytes: Buffer): Promise<void> {
  if (offset + bytes.length > size) throw invalidParameter('offset', 'plus the length of the part exceeds size');
  const stored = offset === 0 ? 0 : ((await stat(path).catch(() => undefined))?.size ?? -1);
  if (stored < offset) throw new Failure('CHANGED_MEANWHILE', 'another upload has begun; start again at offset 0');
  const file = await open(path, offset === 0 ? 'w' : 'r+');
  try {
    await file.write(bytes, 0, bytes.length, offset);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Receives a map file in parts and replaces DATA_DIR/map.pmtiles with it once it is complete and usable.
 * @param setting the setting that selects another map; with one, uploads are refused
 */
export function mapUploadRoutes(db: Database, file: PmtilesFile, setting: string | undefined): RoutePlugin {
  return async (http) => {
    http.addContentTypeParser(
      'application/octet-stream',
      { parseAs: 'buffer', bodyLimit: maxPartBytes },
      (_request, body, done) => done(null, body),
    );
    http.put(
      '/v1/x/admin/map',
      { schema: { hide: true, querystring: Part }, bodyLimit: maxPartBytes },
      async ({ query, body, ip, operator }) => {
        if (setting !== undefined) throw new Failure('IN_USE', `${setting} is set: unset it to use an uploaded map`);
        if (!Buffer.isBuffer(body))
          throw new Failure('UNSUPPORTED_MEDIA_TYPE', 'the body must be application/octet-stream');
        const path = `${file.path}.upload-${query.upload}`;
        if (query.offset === 0) await removeUploads(file.path, 0);
        await mkdir(dirname(path), { recursive: true });
        await requireSpace(dirname(path), query.size - query.offset);
        await writePart(path, query, body);
        if (query.offset + body.length < query.size) return { isUsed: false };
        const { fault } = await inspectPmtiles(path);
        if (fault !== undefined) {
          await rm(path);
          throw new Failure('INVALID_PARAMETER', `the file ${fault}`, { field: 'file' });
        }
        await rename(path, file.path);
        await auditChange(db, operatorOrigin({ ip, operator }), 'map.replace', 'map', { bytes: query.size });
        return { isUsed: true };
      },
    );
  };
}
