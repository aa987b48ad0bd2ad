import { type FileHandle, open, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lockDirectory } from '@odograph/embedded/process/directory-lock';
import { type Bounds, type Content, type Extract, formatGib, inOrder, planExtract } from './extract.ts';
import { RangeSource } from './range-source.ts';

/** A part of a map to download. */
export interface MapRequest {
  readonly bounds: Bounds;
  readonly maxZoom: number | undefined;
  /** URL of a PMTiles archive; the newest Protomaps build when undefined. */
  readonly from: string | undefined;
}

/** A downloaded map. */
export interface MapDownload {
  readonly file: string;
  readonly from: string;
  readonly bbox: string;
  readonly maxZoom: number;
  readonly tiles: number;
  readonly bytes: number;
}

const protomapsIndex = 'https://build-metadata.protomaps.dev/builds.json';
const protomapsBuilds = 'https://build.protomaps.com/';
/** The console draws this version of the schema. */
const schemaVersion = /^4\./;

const maxRequestBytes = 4 * 1024 ** 2;
/** Reading this many unneeded bytes is faster than another request. */
const maxUnneededBytes = 64 * 1024;
const parallelRequests = 4;

/**
 * Finds the newest daily build of Protomaps with the schema that the console draws.
 * @param preferred returned if it is still published
 * @throws Error when the index cannot be read
 */
export async function findBuild(preferred: string | undefined, index = protomapsIndex): Promise<string> {
  const response = await fetch(index).catch((cause: unknown) => {
    throw new Error(`no answer from ${index}; give an archive with --from`, { cause });
  });
  const builds: unknown = await response.json().catch(() => undefined);
  const urls = (Array.isArray(builds) ? builds : [])
    .filter(({ key, version }) => /^\d{8}\.pmtiles$/.test(String(key)) && schemaVersion.test(String(version)))
    .map(({ key }) => `${protomapsBuilds}${key}`)
    .sort();
  const newest = urls.at(-1);
  if (newest === undefined)
    throw new Error(`${index} lists no build with schema version 4; give an archive with --from`);
  return preferred !== undefined && urls.includes(preferred) ? preferred : newest;
}

const partialName = 'map.pmtiles';

/** Describes a partial file; stored next to it. */
interface Journal {
  readonly from: string;
  readonly etag: string | undefined;
  readonly bounds: Bounds;
  readonly maxZoom: number | undefined;
}

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

async function readJournal(path: string): Promise<Journal | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Contents that one request reads, including the bytes between them. */
interface Chunk {
  readonly offset: number;
  length: number;
  readonly contents: Content[];
  /** Offset of its end in the extract. */
  end: number;
}

function chunksOf({ head, contents }: Extract): Chunk[] {
  const chunks: Chunk[] = [];
  let end = head.length;
  for (const content of contents) {
    end += content.length;
    const last = chunks.at(-1);
    const length = content.offset + content.length - (last?.offset ?? 0);
    if (last && content.offset - (last.offset + last.length) <= maxUnneededBytes && length <= maxRequestBytes) {
      Object.assign(last, { length, end });
      last.contents.push(content);
    } else chunks.push({ ...content, contents: [content], end });
  }
  return chunks;
}

async function fetchChunk(source: RangeSource, { offset, length, contents, end }: Chunk) {
  const bytes = await source.read(offset, length);
  if (bytes.length < length) throw new Error(`${source.url} is truncated`);
  const parts = contents.map((content) => {
    const start = content.offset - offset;
    return bytes.subarray(start, start + content.length);
  });
  return { data: Buffer.concat(parts), end };
}

/** Checks the free disk space. @throws Error when the rest of the file would not fit */
async function requireSpace(directory: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(directory);
  const free = bavail * bsize;
  if (free < bytes)
    throw new Error(`${directory} has ${formatGib(free)} free, and the map needs ${formatGib(bytes)} more`);
}

async function writeContents(
  file: FileHandle,
  source: RangeSource,
  chunks: readonly Chunk[],
  total: number,
  onProgress: (text: string) => void,
): Promise<void> {
  for await (const { data, end } of inOrder(chunks, parallelRequests, (chunk) => fetchChunk(source, chunk))) {
    await file.appendFile(data);
    onProgress(`${Math.floor((end / total) * 100)} % of ${formatGib(total)}`);
  }
  await file.sync();
}

/** Opens the partial file, truncated to whole chunks or new with only the head. @returns it with its size in bytes */
async function openPartial(path: string, head: Buffer, chunks: readonly Chunk[], isContinued: boolean) {
  const file = await open(path, isContinued ? 'a' : 'w');
  const { size } = await file.stat();
  const done = chunks.findLast(({ end }) => end <= size)?.end ?? head.length;
  if (isContinued && size >= head.length) {
    await file.truncate(done);
    return { file, done };
  }
  await file.truncate(0);
  await file.appendFile(head);
  return { file, done: head.length };
}

/** Downloads into a directory, or continues the download there. @returns the plan and the URL of the source */
async function downloadInto(
  directory: string,
  { bounds, maxZoom, from }: MapRequest,
  onProgress: (text: string) => void,
  index: string | undefined,
): Promise<{ extract: Extract; url: string }> {
  const journalPath = join(directory, 'journal.json');
  const journal = await readJournal(journalPath);
  const isSameArea = journal !== undefined && isEqual([journal.bounds, journal.maxZoom], [bounds, maxZoom]);
  const source = new RangeSource(from ?? (await findBuild(isSameArea ? journal.from : undefined, index)));
  const extract = await planExtract(source, bounds, maxZoom, onProgress);
  const current: Journal = { from: source.url, etag: source.etag, bounds, maxZoom };
  const chunks = chunksOf(extract);
  const { file, done } = await openPartial(
    join(directory, partialName),
    extract.head,
    chunks,
    isEqual(journal, current),
  );
  try {
    await requireSpace(directory, extract.bytes - done);
    await writeFile(journalPath, JSON.stringify(current));
    const left = chunks.filter(({ end }) => end > done);
    await writeContents(file, source, left, extract.bytes, onProgress);
  } finally {
    await file.close();
  }
  return { extract, url: source.url };
}

/**
 * Downloads the tiles of an area from a PMTiles archive and replaces a file with them atomically. An interrupted
 * download stays in the directory `FILE.part`; the same request resumes it.
 * @param onProgress receives a message to display
 * @throws Error when the source cannot be read by ranges, the area is too large, the disk lacks space, or another
 *   process downloads to the same file
 */
export async function downloadMap(
  path: string,
  request: MapRequest,
  onProgress: (text: string) => void,
  index?: string,
): Promise<MapDownload> {
  const directory = `${path}.part`;
  const unlock = await lockDirectory(directory, process.pid);
  try {
    const { extract, url } = await downloadInto(directory, request, onProgress, index);
    await rename(join(directory, partialName), path);
    await rm(directory, { recursive: true });
    const { tiles, bytes, maxZoom } = extract;
    return { file: path, from: url, bbox: request.bounds.join(','), maxZoom, tiles, bytes };
  } finally {
    unlock();
  }
}
