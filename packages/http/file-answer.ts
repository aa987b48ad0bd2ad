import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A file at one moment: its size, and an entity tag that changes whenever it is written or replaced (RFC 9110, 8.8.3). */
export interface FileVersion {
  readonly size: number;
  readonly etag: string;
}

/** Describes a file as it is now. */
export function versionOf({ size, mtimeMs, ino }: Stats): FileVersion {
  return { size, etag: `"${[ino, size, Math.round(mtimeMs * 1000)].map((part) => part.toString(36)).join('-')}"` };
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

/** Decides how to answer a file or a part of it. The entity tag lets a client notice that it was replaced between two parts. */
function answerWithFile(request: IncomingHttpHeaders, { size, etag }: FileVersion): FileAnswer {
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

/** Sends a file or the part of it that the request names, and closes it. */
export async function sendStoredFile(
  { headers: requested, method }: FastifyRequest,
  reply: FastifyReply,
  handle: FileHandle,
): Promise<FastifyReply> {
  // The stream of the answer closes the file too.
  reply.raw.once('close', () => void handle.close().catch(() => undefined));
  const { status, headers, range } = answerWithFile(requested, versionOf(await handle.stat()));
  const isEmpty = range === undefined || range.end < range.start || method === 'HEAD';
  return reply
    .code(status)
    .headers(headers)
    .send(isEmpty ? Readable.from([]) : handle.createReadStream(range));
}
