import { type FileHandle, open, stat } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { versionOf } from '@odograph/http/file-answer';
import { findBasemapFault, vectorTiles } from '@odograph/map-tiles/metadata';

/** The content of a file that browsers can draw. */
interface PmtilesContent {
  readonly fault: undefined;
  readonly tiles: 'vector' | 'raster';
  readonly attribution: string;
  /** URL from which the file was downloaded, if its metadata has it. */
  readonly source: string | undefined;
  readonly minZoom: number;
  readonly maxZoom: number;
  /** West, south, east and north, degrees. */
  readonly bounds: readonly number[];
  readonly bytes: number;
  readonly changedAt: Date;
}

/** The content of a file, or its fault. */
export type PmtilesState = { readonly fault: string } | PmtilesContent;

const headerBytes = 127;
/** The root directory and the metadata of a planet are far smaller. */
const maxPartBytes = 8 * 1024 ** 2;
const uncompressed = 1;
const gzip = 2;
/** PNG, JPEG, WebP, AVIF. */
const rasterTiles: readonly number[] = [2, 3, 4, 5];

class PmtilesFault extends Error {}

/** Part of the file. */
type Part = { readonly offset: number; readonly length: number };

type Header = ReturnType<typeof readHeader>;

/** Reads the header (PMTiles specification 3, "Header"). @throws PmtilesFault */
function readHeader(bytes: Buffer) {
  if (bytes.toString('latin1', 0, 7) !== 'PMTiles' || bytes.length < headerBytes) {
    throw new PmtilesFault('is not a PMTiles file');
  }
  const version = bytes.readUInt8(7);
  if (version !== 3) throw new PmtilesFault(`has version ${version} of PMTiles, not 3`);
  const partAt = (position: number): Part => ({
    offset: Number(bytes.readBigUInt64LE(position)),
    length: Number(bytes.readBigUInt64LE(position + 8)),
  });
  const [rootDirectory, metadata, leaves, tiles] = [partAt(8), partAt(24), partAt(40), partAt(56)];
  return {
    rootDirectory,
    metadata,
    /** Where the last part ends. */
    end: Math.max(...[rootDirectory, metadata, leaves, tiles].map(({ offset, length }) => offset + length)),
    internalCompression: bytes.readUInt8(97),
    tileCompression: bytes.readUInt8(98),
    tileType: bytes.readUInt8(99),
    minZoom: bytes.readUInt8(100),
    maxZoom: bytes.readUInt8(101),
    bounds: [102, 106, 110, 114].map((position) => bytes.readInt32LE(position) / 1e7),
  };
}

/** Checks a header. @throws PmtilesFault when browsers cannot read the file */
function requireReadable({ end, internalCompression, tileCompression, tileType }: Header, size: number): void {
  if (size < end) throw new PmtilesFault(`is truncated: ${size} of ${end} bytes`);
  const isReadable = (compression: number) => compression === uncompressed || compression === gzip;
  const isVector = tileType === vectorTiles;
  if (!isReadable(internalCompression) || (isVector && !isReadable(tileCompression))) {
    throw new PmtilesFault('is compressed by a method that browsers cannot read; use gzip');
  }
  if (!isVector && !rasterTiles.includes(tileType)) throw new PmtilesFault('has tiles of an unknown type');
}

async function readPart(file: FileHandle, { offset, length }: Part, compression: number): Promise<Buffer> {
  if (length > maxPartBytes) throw new PmtilesFault('is damaged');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
  if (bytesRead < length) throw new PmtilesFault('is truncated');
  try {
    return compression === gzip ? gunzipSync(buffer, { maxOutputLength: maxPartBytes }) : buffer;
  } catch (cause) {
    throw new PmtilesFault('is damaged', { cause });
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function readMetadata(bytes: Buffer, tileType: number) {
  try {
    const metadata = JSON.parse(bytes.toString()) as Record<string, unknown>;
    const { attribution, source } = metadata;
    const fault = findBasemapFault(tileType, metadata);
    return { fault, attribution: textOf(attribution) ?? '', source: textOf(source) };
  } catch (cause) {
    throw new PmtilesFault('is damaged', { cause });
  }
}

async function inspect(file: FileHandle): Promise<PmtilesContent> {
  const { size, mtime } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
  const header = readHeader(buffer.subarray(0, bytesRead));
  requireReadable(header, size);
  await readPart(file, header.rootDirectory, header.internalCompression);
  const metadata = await readPart(file, header.metadata, header.internalCompression);
  const { fault, attribution, source } = readMetadata(metadata, header.tileType);
  if (fault !== undefined) throw new PmtilesFault(fault);
  const { minZoom, maxZoom, bounds } = header;
  const tiles = header.tileType === vectorTiles ? 'vector' : 'raster';
  return { fault, tiles, attribution, source, minZoom, maxZoom, bounds, bytes: size, changedAt: mtime };
}

/** Inspects a PMTiles file. A fault is a verb phrase, such as `is truncated`. @throws when the file cannot be opened */
export async function inspectPmtiles(path: string): Promise<PmtilesState> {
  const file = await open(path);
  try {
    return await inspect(file);
  } catch (error) {
    if (error instanceof PmtilesFault) return { fault: error.message };
    throw error;
  } finally {
    await file.close();
  }
}

function describeFault(error: unknown): string {
  const code = String(Object(error).code);
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'does not exist',
    EACCES: 'may not be read by this process',
    EISDIR: 'is a directory',
  };
  return reasons[code] ?? `cannot be read (${code})`;
}

/** The PMTiles file of the map, which may be replaced, damaged and repaired while the platform runs. */
export class PmtilesFile {
  readonly path: string;
  readonly #isOptional: boolean;
  readonly #onChange: (state: PmtilesState | undefined) => void;
  #etag: string | undefined;
  #state: PmtilesState | undefined;

  /**
   * @param isOptional whether the file may be missing
   * @param onChange called when the file becomes usable, unusable or missing
   */
  constructor(path: string, isOptional: boolean, onChange: (state: PmtilesState | undefined) => void) {
    this.path = path;
    this.#isOptional = isOptional;
    this.#onChange = onChange;
  }

  /** Checks the file if it changed since the last check; undefined if an optional file is missing. Never throws. */
  async check(): Promise<PmtilesState | undefined> {
    const before = this.#state;
    const state = await this.#read().catch((error: unknown): PmtilesState | undefined => {
      this.#etag = undefined;
      return this.#isOptional && Object(error).code === 'ENOENT' ? undefined : { fault: describeFault(error) };
    });
    this.#state = state;
    const hasChanged = (before === undefined) !== (state === undefined) || before?.fault !== state?.fault;
    if (hasChanged) this.#onChange(state);
    return state;
  }

  async #read(): Promise<PmtilesState> {
    const { etag } = versionOf(await stat(this.path));
    if (this.#state !== undefined && etag === this.#etag) return this.#state;
    const state = await inspectPmtiles(this.path);
    this.#etag = etag;
    return state;
  }
}
