import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeArchive, type Tile } from '@odograph/map-tiles/archive';
import { type Header, PMTiles, type Source } from 'pmtiles';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { downloadMap, findBuild } from './download.ts';
import type { Bounds } from './extract.ts';

const maxZoom = 7;
const metadata = { attribution: 'Survey of Testland', json: JSON.stringify({ vector_layers: [{ id: 'earth' }] }) };
const ocean = Buffer.from('ocean');

/** Every tile of the world up to zoom 7, enough for leaf directories; every fifth one is the same ocean. */
function worldTiles(): Tile[] {
  return Array.from({ length: maxZoom + 1 }, (_, z) => z).flatMap((z) =>
    Array.from({ length: 4 ** z }, (_, index) => {
      const [x, y] = [index % 2 ** z, Math.floor(index / 2 ** z)];
      return { z, x, y, data: index % 5 === 4 ? ocean : randomBytes(300) };
    }),
  );
}

const properties = { tileType: 1, minZoom: 0, maxZoom, bounds: [-180, -85, 180, 85], metadata } as const;
const tiles = worldTiles();
const world = Buffer.concat(encodeArchive(properties, tiles));
/** Seven by five tiles of zoom 7. */
const bounds: Bounds = [0.1, 40.1, 19, 50];

let server: Server;
let url: string;
let directory: string;
let file: string;
/** Number of answers before the server fails. */
let answersLeft: number;
let hasRanges: boolean;
let requestedBytes: number;

beforeAll(async () => {
  server = createServer(({ headers }, response) => {
    answersLeft -= 1;
    const [, start = '0', end = '0'] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    const part = hasRanges ? world.subarray(Number(start), Number(end) + 1) : world;
    requestedBytes += part.length;
    response.writeHead(answersLeft < 0 ? 404 : hasRanges ? 206 : 200, { etag: '"1"' }).end(part);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/world.pmtiles`;
});
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'odograph-download-'));
  file = join(directory, 'map.pmtiles');
  [answersLeft, hasRanges, requestedBytes] = [Number.POSITIVE_INFINITY, true, 0];
  return () => rm(directory, { recursive: true });
});
afterAll(() => server.close());

const download = (more: { bounds?: Bounds; from?: string } = {}) =>
  downloadMap(file, { bounds, maxZoom: undefined, from: url, ...more }, () => undefined);

async function openArchive(): Promise<PMTiles> {
  const bytes = await readFile(file);
  const part = (offset: number, length: number) => new Uint8Array(bytes.subarray(offset, offset + length)).buffer;
  const source: Source = { getKey: () => file, getBytes: async (offset, length) => ({ data: part(offset, length) }) };
  // Tile contents are not compressed here.
  return new PMTiles(source, undefined, async (data, compression) =>
    compression === 2 && Buffer.from(data).readUInt16BE(0) === 0x1f8b
      ? new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()
      : data,
  );
}

const isInside = ({ z, x, y }: Tile): boolean => {
  const [west, south, east, north] = bounds;
  const row = (latitude: number) => ((1 - Math.asinh(Math.tan((latitude * Math.PI) / 180)) / Math.PI) / 2) * 2 ** z;
  const column = (longitude: number) => ((longitude + 180) / 360) * 2 ** z;
  return x + 1 > column(west) && x <= column(east) && y + 1 > row(north) && y <= row(south);
};

it('writes every tile of the area byte for byte, and no other', async () => {
  const { tiles: count, bytes } = await download({ from: `${url}?signature=secret` });
  const archive = await openArchive();
  const held: Tile[] = [];
  for (const tile of tiles) {
    const found = await archive.getZxy(tile.z, tile.x, tile.y);
    if (found === undefined) continue;
    expect(Buffer.from(found.data).equals(tile.data)).toBe(true);
    held.push(tile);
  }
  expect(held).toEqual(tiles.filter(isInside));
  expect([held.length, (await readFile(file)).length]).toEqual([count, bytes]);
  const header: Header = await archive.getHeader();
  expect(header).toMatchObject({ minZoom: 0, maxZoom, minLon: 0.1, maxLat: 50, numAddressedTiles: count });
  // The console shows the source to everyone: without the signature.
  expect(await archive.getMetadata()).toEqual({ ...metadata, source: url });
  expect(await readdir(directory)).toEqual(['map.pmtiles']);
});

it('continues an interrupted download, and keeps the previous file until the new one is whole', async () => {
  await download({ bounds: [0.1, 40.1, 1, 41] });
  const previous = await readFile(file);
  requestedBytes = 0;
  await download();
  const [whole, wholeBytes] = [await readFile(file), requestedBytes];
  await rm(file);
  answersLeft = 8;
  await expect(download()).rejects.toThrow('status 404');
  expect((await readFile(join(`${file}.part`, 'map.pmtiles'))).length).toBeGreaterThan(1000);
  answersLeft = Number.POSITIVE_INFINITY;
  requestedBytes = 0;
  await download();
  expect(requestedBytes).toBeLessThan(wholeBytes);
  expect((await readFile(file)).equals(whole)).toBe(true);
  expect(whole.equals(previous)).toBe(false);
});

it('refuses a second download to the same file while one is in progress, and leaves the first one alone', async () => {
  const first = download();
  await expect(download()).rejects.toThrow(`map.pmtiles.part is in use by process ${process.pid}`);
  const { bytes } = await first;
  expect((await readFile(file)).length).toBe(bytes);
  expect(await readdir(directory)).toEqual(['map.pmtiles']);
});

it('rejects an area that is too large with its size, before it reads any tile', async () => {
  const large = { ...properties, maxZoom: 15 };
  const archive = Buffer.concat(encodeArchive(large, tiles.slice(0, 5)));
  const huge = createServer(({ headers }, response) => {
    const [, start = '0', end = '0'] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
    response.writeHead(206).end(archive.subarray(Number(start), Number(end) + 1));
  }).listen(0, '127.0.0.1');
  await once(huge, 'listening');
  const from = `http://127.0.0.1:${(huge.address() as AddressInfo).port}/large.pmtiles`;
  await expect(download({ from, bounds: [-180, -85, 180, 85] })).rejects.toThrow(/too large: \d+ tiles, about .*GiB/);
  huge.close();
});

it('reports a server that ignores range requests, and one without the file', async () => {
  hasRanges = false;
  await expect(download()).rejects.toThrow('ignores range requests');
  hasRanges = true;
  answersLeft = 0;
  await expect(download()).rejects.toThrow('answers with status 404');
});

it('finds the newest build with a schema that the console draws, or that of an interrupted download', async () => {
  const keys = ['20261120', '20261122', '20261121'].map((day) => ({ key: `${day}.pmtiles`, version: '4.15.2' }));
  const builds = createServer((_, response) => {
    response.end(JSON.stringify([...keys, { key: '20261123.pmtiles', version: '5.0.0' }]));
  }).listen(0, '127.0.0.1');
  await once(builds, 'listening');
  const index = `http://127.0.0.1:${(builds.address() as AddressInfo).port}/builds.json`;
  const urlOf = (day: string) => `https://build.protomaps.com/${day}.pmtiles`;
  expect(await findBuild(undefined, index)).toBe(urlOf('20261122'));
  expect(await findBuild(urlOf('20261120'), index)).toBe(urlOf('20261120'));
  expect(await findBuild(urlOf('20261010'), index)).toBe(urlOf('20261122'));
  builds.close();
});
