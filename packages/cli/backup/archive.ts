import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { extract, pack } from 'tar-stream';

/** Writes the entries of an archive. */
export interface ArchiveWriter {
  add(name: string, content: Buffer): Promise<void>;
}

/**
 * Writes a tar file that only its owner can read. It gets its name when it is complete: an interrupted backup leaves no
 * file that looks like one.
 */
export async function writeArchive(path: string, write: (archive: ArchiveWriter) => Promise<void>): Promise<void> {
  const unfinished = `${path}.unfinished`;
  const tar = pack();
  const written = pipeline(tar, createWriteStream(unfinished, { mode: 0o600, flush: true }));
  const add = (name: string, content: Buffer) =>
    new Promise<void>((resolve, reject) => {
      written.catch(reject);
      tar.entry({ name, mode: 0o600 }, content, (error) => (error ? reject(error) : resolve()));
    });
  try {
    await write({ add });
    tar.finalize();
    await written;
    await rename(unfinished, path);
  } catch (error) {
    tar.destroy();
    await written.catch(() => undefined);
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** Yields the entries of a tar file in order. */
export async function* readArchive(path: string): AsyncGenerator<{ name: string; content: Buffer }> {
  const tar = extract();
  const read = pipeline(createReadStream(path), tar);
  // The iteration below reports the failure.
  read.catch(() => undefined);
  for await (const entry of tar) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    yield { name: entry.header.name, content: Buffer.concat(chunks) };
  }
  await read;
}
