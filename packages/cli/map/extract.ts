import { type ArchiveProperties, type Entry, encodeHead } from '@odograph/map-tiles/archive';
import { findBasemapFault } from '@odograph/map-tiles/metadata';
import { type Header, PMTiles, SharedPromiseCache, zxyToTileId } from 'pmtiles';
import type { RangeSource } from './range-source.ts';

/** West, south, east and north, degrees. */
export type Bounds = readonly [west: number, south: number, east: number, north: number];

/** A byte range of the source. The extract holds its contents without bytes between them. */
export interface Content {
  readonly offset: number;
  readonly length: number;
}

/** The plan of an archive with the tiles of an area: its head, then contents of the source. */
export interface Extract {
  readonly head: Buffer;
  /** In source order, without duplicates. */
  readonly contents: readonly Content[];
  /** Size of the file, head included. */
  readonly bytes: number;
  readonly tiles: number;
  readonly maxZoom: number;
}

/** More tiles would be slow to look up; the map of a fleet needs far fewer. */
const maxTiles = 6_000_000;
const maxBytes = 20 * 1024 ** 3;
const parallelDirectories = 8;

/** Formats a number of bytes in GiB. */
export const formatGib = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(bytes < 1024 ** 3 ? 3 : 1)} GiB`;

/** Processes items, at most `parallel` at a time. @returns the results in the order of the items */
export async function* inOrder<Item, Result>(
  items: Iterable<Item>,
  parallel: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const running: Promise<Result>[] = [];
  for (const item of items) {
    const result = work(item);
    // Not an unhandled rejection: the `yield` below reports the failure.
    result.catch(() => undefined);
    running.push(result);
    const [first] = running;
    if (running.length < parallel || first === undefined) continue;
    yield await first;
    void running.shift();
  }
  for (const result of running) yield await result;
}

/** Returns the first and last column and row of the tiles that an area touches at a zoom level. */
function tilesAt([west, south, east, north]: Bounds, zoom: number) {
  const across = 2 ** zoom;
  const clamp = (index: number) => Math.max(0, Math.min(across - 1, Math.floor(index)));
  const column = (longitude: number) => clamp(((longitude + 180) / 360) * across);
  const row = (latitude: number) =>
    clamp(((1 - Math.asinh(Math.tan((latitude * Math.PI) / 180)) / Math.PI) / 2) * across);
  return { left: column(west), right: column(east), top: row(north), bottom: row(south) };
}

function countTiles(bounds: Bounds, maxZoom: number): number {
  let count = 0;
  for (let zoom = 0; zoom <= maxZoom; zoom += 1) {
    const { left, right, top, bottom } = tilesAt(bounds, zoom);
    count += (right - left + 1) * (bottom - top + 1);
  }
  return count;
}

/** Returns the ids of the tiles of an area, ascending. */
function tileIdsOf(bounds: Bounds, minZoom: number, maxZoom: number): Float64Array {
  const ids: number[] = [];
  for (let zoom = minZoom; zoom <= maxZoom; zoom += 1) {
    const { left, right, top, bottom } = tilesAt(bounds, zoom);
    for (let y = top; y <= bottom; y += 1) for (let x = left; x <= right; x += 1) ids.push(zxyToTileId(zoom, x, y));
  }
  return Float64Array.from(ids).sort();
}

/** Returns the index of the first element that is at least `id`. */
function indexFrom(ids: Float64Array, id: number): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Adds the requested tiles of a run; their offset is still that of the source. */
function addRun(found: Entry[], ids: Float64Array, { tileId, offset, length, runLength }: Entry): void {
  for (let index = indexFrom(ids, tileId); index < ids.length; index += 1) {
    const id = ids[index] ?? 0;
    if (id >= tileId + runLength) return;
    const last = found.at(-1);
    if (last && last.offset === offset && last.tileId + last.runLength === id) last.runLength += 1;
    else found.push({ tileId: id, offset, length, runLength: 1 });
  }
}

/** Tells whether one of the ids is in the half-open interval. */
const hasId = (ids: Float64Array, from: number, until: number): boolean => (ids[indexFrom(ids, from)] ?? until) < until;

/** Finds the entries of tiles; reads only the leaf directories that contain some of them. */
async function findEntries(
  { source, cache }: PMTiles,
  header: Header,
  ids: Float64Array,
  onProgress: (text: string) => void,
): Promise<Entry[]> {
  const found: Entry[] = [];
  const load = ({ offset, length }: Content) => cache.getDirectory(source, offset, length, header);
  let left: Content[] = [{ offset: header.rootDirectoryOffset, length: header.rootDirectoryLength }];
  while (left.length > 0) {
    const leaves: Content[] = [];
    let done = 0;
    for await (const directory of inOrder(left, parallelDirectories, load)) {
      for (const [index, entry] of directory.entries()) {
        const end = directory[index + 1]?.tileId ?? Number.POSITIVE_INFINITY;
        const leaf = { offset: header.leafDirectoryOffset + entry.offset, length: entry.length };
        if (entry.runLength > 0) addRun(found, ids, entry);
        else if (hasId(ids, entry.tileId, end)) leaves.push(leaf);
      }
      done += 1;
      onProgress(`${done} of ${left.length} directories`);
    }
    left = leaves;
  }
  return found.sort((one, other) => one.tileId - other.tileId);
}

/** Assigns entries the offsets of their contents in the extract. */
function layOut(found: readonly Entry[]): { entries: Entry[]; contents: Content[]; bytes: number } {
  const lengths = new Map(found.map(({ offset, length }) => [offset, length]));
  const contents = [...lengths]
    .map(([offset, length]) => ({ offset, length }))
    .sort((one, other) => one.offset - other.offset);
  const offsets = new Map<number, number>();
  let bytes = 0;
  for (const { offset, length } of contents) {
    offsets.set(offset, bytes);
    bytes += length;
  }
  const entries = found.map((entry) => ({ ...entry, offset: offsets.get(entry.offset) ?? 0 }));
  return { entries, contents, bytes };
}

function tooLarge(amount: string): Error {
  return new Error(`the area is too large: ${amount}; choose a smaller area or a lower --max-zoom`);
}

/** The address of an archive for everyone who sees the map: the query of a signed one is a credential. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

async function readHeader(archive: PMTiles, url: string): Promise<Header> {
  return archive.getHeader().catch((error: Error) => {
    // The errors of the library do not name the file.
    throw error.message.includes(url) ? error : new Error(`${url} is not a PMTiles archive`);
  });
}

/** @throws Error when the console cannot draw the archive */
async function readBasemap(archive: PMTiles, { tileType }: Header, url: string): Promise<Record<string, unknown>> {
  const metadata = Object(await archive.getMetadata()) as Record<string, unknown>;
  const fault = findBasemapFault(tileType, metadata);
  if (fault !== undefined) throw new Error(`${url} ${fault}`);
  return metadata;
}

/**
 * Plans an archive with the tiles of an area.
 * @param maxZoom capped at that of the source; that of the source when undefined
 * @throws Error when the console cannot draw the source, or the area is too large
 */
export async function planExtract(
  source: RangeSource,
  bounds: Bounds,
  maxZoom: number | undefined,
  onProgress: (text: string) => void,
): Promise<Extract> {
  const archive = new PMTiles(source, new SharedPromiseCache(1000));
  const header = await readHeader(archive, source.url);
  const metadata = await readBasemap(archive, header, source.url);
  const zoom = Math.min(maxZoom ?? header.maxZoom, header.maxZoom);
  const count = countTiles(bounds, zoom);
  if (count > maxTiles) {
    const mean = (header.tileDataLength ?? 0) / Math.max(1, header.numTileContents);
    throw tooLarge(`${count} tiles, about ${formatGib(count * mean)}`);
  }
  const found = await findEntries(archive, header, tileIdsOf(bounds, header.minZoom, zoom), onProgress);
  const { entries, contents, bytes } = layOut(found);
  if (bytes > maxBytes) throw tooLarge(formatGib(bytes));
  if (entries.length === 0) throw new Error(`${source.url} has no tile in the area`);
  const properties: ArchiveProperties = {
    ...{ tileType: header.tileType, tileCompression: header.tileCompression, bounds },
    ...{ minZoom: header.minZoom, maxZoom: zoom, metadata: { ...metadata, source: withoutQuery(source.url) } },
  };
  const head = encodeHead(properties, entries);
  const tiles = entries.reduce((sum, { runLength }) => sum + runLength, 0);
  const absolute = contents.map(({ offset, length }) => ({ offset: header.tileDataOffset + offset, length }));
  return { head, contents: absolute, bytes: head.length + bytes, tiles, maxZoom: zoom };
}
