import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { zxyToTileId } from 'pmtiles';

/** A tile of an archive. */
export interface Tile {
  readonly z: number;
  readonly x: number;
  readonly y: number;
  /** As it is stored: compressed with gzip if it is a vector tile. */
  readonly data: Buffer;
}

export interface ArchiveProperties {
  /** 1 for vector tiles, 2 for PNG, 3 for JPEG, 4 for WebP (PMTiles specification 3, "Tile Type"). */
  readonly tileType: number;
  /** 1 for none, 2 for gzip (PMTiles specification 3, "Compression"); by default 2 for vector tiles, else 1. */
  readonly tileCompression?: number;
  readonly minZoom: number;
  readonly maxZoom: number;
  /** West, south, east and north, degrees. */
  readonly bounds: readonly [number, number, number, number];
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A run of tiles with equal content in a directory; the offset counts from the first content. */
export interface Entry {
  readonly tileId: number;
  readonly offset: number;
  readonly length: number;
  runLength: number;
}

const headerBytes = 127;
/** Clients read this much at first (PMTiles specification 3, "Root Directory"). */
const maxFirstReadBytes = 16_384;
const leafEntries = 4096;
/** More entries never fit into the first read. */
const maxRootEntries = 16_384;
const gzip = 2;
const uncompressed = 1;

/** Encodes a whole number as a Protocol Buffers varint, the integer encoding of PMTiles and vector tiles. */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  while (left >= 0x80) {
    bytes.push((left % 0x80) | 0x80);
    left = Math.floor(left / 0x80);
  }
  return [...bytes, left];
}

/** Encodes entries column by column (PMTiles specification 3, "Directory Serialization"). */
function encodeDirectory(entries: readonly Entry[]): Buffer {
  const offsets = entries.map(({ offset }, index) => {
    const before = entries[index - 1];
    return before && before.offset + before.length === offset ? 0 : offset + 1;
  });
  const columns = [
    [entries.length],
    entries.map(({ tileId }, index) => tileId - (entries[index - 1]?.tileId ?? 0)),
    entries.map(({ runLength }) => runLength),
    entries.map(({ length }) => length),
    offsets,
  ];
  return gzipSync(Buffer.from(columns.flat().flatMap(varint)));
}

/** Encodes the root directory, and leaf directories if the root would not fit into the first read of a client. */
function encodeDirectories(entries: readonly Entry[]): { root: Buffer; leaves: Buffer } {
  if (entries.length <= maxRootEntries) {
    const root = encodeDirectory(entries);
    if (headerBytes + root.length <= maxFirstReadBytes) return { root, leaves: Buffer.alloc(0) };
  }
  const leaves: Buffer[] = [];
  const pointers: Entry[] = [];
  let offset = 0;
  for (let start = 0; start < entries.length; start += leafEntries) {
    const leaf = encodeDirectory(entries.slice(start, start + leafEntries));
    pointers.push({ tileId: entries[start]?.tileId ?? 0, offset, length: leaf.length, runLength: 0 });
    leaves.push(leaf);
    offset += leaf.length;
  }
  return { root: encodeDirectory(pointers), leaves: Buffer.concat(leaves) };
}

/** Tells whether the contents are in the order of the tiles (PMTiles specification 3, "Clustered"). */
function areClustered(entries: readonly Entry[]): boolean {
  let end = 0;
  return entries.every(({ offset, length }) => {
    if (offset > end) return false;
    end = Math.max(end, offset + length);
    return true;
  });
}

/**
 * Encodes the head of a PMTiles archive (PMTiles specification 3): everything before the tile contents.
 * @param entries ordered by tile id, at most one per tile
 */
export function encodeHead(properties: ArchiveProperties, entries: readonly Entry[]): Buffer {
  const { tileType, minZoom, maxZoom, bounds, metadata } = properties;
  const { tileCompression = tileType === 1 ? gzip : uncompressed } = properties;
  const { root, leaves } = encodeDirectories(entries);
  const encodedMetadata = gzipSync(JSON.stringify(metadata));
  const size = entries.reduce((end, { offset, length }) => Math.max(end, offset + length), 0);
  const tiles = entries.reduce((sum, { runLength }) => sum + runLength, 0);
  const header = Buffer.alloc(headerBytes);
  header.write('PMTiles', 'latin1');
  header.writeUInt8(3, 7);
  let position = headerBytes;
  for (const [index, length] of [root.length, encodedMetadata.length, leaves.length, size].entries()) {
    header.writeBigUInt64LE(BigInt(position), 8 + index * 16);
    header.writeBigUInt64LE(BigInt(length), 16 + index * 16);
    position += length;
  }
  const contents = new Set(entries.map(({ offset }) => offset)).size;
  for (const [index, count] of [tiles, entries.length, contents].entries()) {
    header.writeBigUInt64LE(BigInt(count), 72 + index * 8);
  }
  header.set([areClustered(entries) ? 1 : 0, gzip, tileCompression, tileType, minZoom, maxZoom], 96);
  for (const [index, degrees] of bounds.entries()) header.writeInt32LE(Math.round(degrees * 1e7), 102 + index * 4);
  const [west, south, east, north] = bounds;
  header.writeUInt8(minZoom, 118);
  header.writeInt32LE(Math.round(((west + east) / 2) * 1e7), 119);
  header.writeInt32LE(Math.round(((south + north) / 2) * 1e7), 123);
  return Buffer.concat([header, root, encodedMetadata, leaves]);
}

/**
 * Encodes a PMTiles archive (PMTiles specification 3), clustered and with each content stored once.
 * @returns its parts in order, to be written one after the other
 */
export function encodeArchive(properties: ArchiveProperties, tiles: readonly Tile[]): Buffer[] {
  const sorted = tiles
    .map(({ z, x, y, data }) => ({ tileId: zxyToTileId(z, x, y), data }))
    .sort((one, other) => one.tileId - other.tileId);
  const contents: Buffer[] = [];
  const offsets = new Map<string, number>();
  const entries: Entry[] = [];
  let size = 0;
  for (const { tileId, data } of sorted) {
    const digest = createHash('sha256').update(data).digest('base64');
    const offset = offsets.get(digest) ?? size;
    const last = entries.at(-1);
    if (last && last.offset === offset && last.tileId + last.runLength === tileId) {
      last.runLength += 1;
      continue;
    }
    if (offset === size) {
      offsets.set(digest, offset);
      contents.push(data);
      size += data.length;
    }
    entries.push({ tileId, offset, length: data.length, runLength: 1 });
  }
  return [encodeHead(properties, entries), ...contents];
}
