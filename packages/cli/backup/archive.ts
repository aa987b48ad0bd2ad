import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '@odograph/runtime/message-of';
import { extract, pack } from 'tar-stream';

/** Writes the entries of an archive. */
export interface ArchiveWriter {
  add(name: string, content: Buffer): Promise<void>;
}

/**
 * Writes a tar file that only its owner can read. It gets its name when it is complete: an interrupted backup leaves no
 * file that looks like one.
 */
export async function writeArchive<Result>(
  path: string,
  write: (archive: ArchiveWriter) => Promise<Result>,
): Promise<Result> {
  // Another backup may be writing to the same path.
  const unfinished = `${path}.${randomUUID()}.unfinished`;
  const tar = pack();
  const written = pipeline(tar, createWriteStream(unfinished, { mode: 0o600, flush: true }));
  const add = (name: string, content: Buffer) =>
    new Promise<void>((resolve, reject) => {
      written.catch(reject);
      tar.entry({ name, mode: 0o600 }, content, (error) => (error ? reject(error) : resolve()));
    });
  try {
    const result = await write({ add });
    tar.finalize();
    await written;
    await rename(unfinished, path);
    return result;
  } catch (error) {
    tar.destroy();
    await written.catch(() => undefined);
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** An entry of an archive, with the offset of its header in the file. */
export interface ArchiveEntry {
  name: string;
  content: Buffer;
  byteOffset: number;
}

/** tar writes in blocks of this size: a header, then the content (POSIX.1-2017, pax, "ustar Interchange Format"). */
const blockBytes = 512;

/**
 * Yields the entries of a tar file in order.
 * @throws Error that names the file, and the entry and byte where it is damaged
 */
export async function* readArchive(path: string): AsyncGenerator<ArchiveEntry> {
  const tar = extract();
  const read = pipeline(createReadStream(path), tar);
  // The iteration below reports the failure.
  read.catch(() => undefined);
  let byteOffset = 0;
  let place = 'its beginning';
  try {
    for await (const entry of tar) {
      const { name, size } = entry.header;
      place = `${name}, which begins at byte ${byteOffset}`;
      const chunks: Buffer[] = [];
      for await (const chunk of entry) chunks.push(chunk as Buffer);
      yield { name, content: Buffer.concat(chunks), byteOffset };
      byteOffset += blockBytes + Math.ceil(size / blockBytes) * blockBytes;
      place = `byte ${byteOffset}, after ${name}`;
    }
    await read;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') throw cause;
    const reason = messageOf(cause);
    throw new Error(`${path} is damaged in ${place}: ${reason}`, { cause });
  }
}
