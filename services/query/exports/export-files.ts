import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** No room for an export: exports reached their limit, or the disk is full. The message is shown to the client. */
export class NoRoom extends Error {}

/** A file while it is written, under a name of its own: another process may write the same export. */
export interface ExportDraft {
  /** @throws NoRoom */
  append(pieces: readonly (string | Uint8Array)[]): Promise<void>;
  readonly bytes: number;
  /** Puts the file under its final name, once it is on disk. */
  keep(): Promise<void>;
  /** Deletes it unless it was kept. */
  discard(): Promise<void>;
}

const fileForm = /^\d+-[0-9a-f-]{36}(\.[0-9a-f-]{36}\.part)?$/;
/** A process writes at least once in this time; an older draft was left behind by one that was killed. */
const draftTimeoutMs = 600_000;
/** How far a file may grow before the other files are measured again. */
const measureBytes = 64 * 1024 ** 2;

/** The files of exports in a directory that all query processes share: named by their jobs, and readable by this user alone. */
export class ExportFiles {
  readonly #directory: string;
  readonly #maximumBytes: number;

  constructor(directory: string, maximumBytes: number) {
    this.#directory = directory;
    this.#maximumBytes = maximumBytes;
  }

  /** Opens the file of a job. @throws when it does not exist, or cannot be read */
  open(jobId: string): Promise<FileHandle> {
    return open(this.#pathOf(jobId));
  }

  /** Begins the file of a job. */
  async begin(jobId: string): Promise<ExportDraft> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const path = this.#pathOf(`${jobId}.${randomUUID()}.part`);
    const handle = await open(path, 'wx', 0o600);
    let [bytes, measuredAt, others] = [0, Number.NEGATIVE_INFINITY, 0];
    let isOpen = true;
    const close = async () => {
      if (isOpen) await handle.close();
      isOpen = false;
    };
    return {
      get bytes() {
        return bytes;
      },
      append: async (pieces) => {
        if (bytes - measuredAt >= measureBytes) {
          others = (await this.#measure()) - bytes;
          measuredAt = bytes;
        }
        for (const piece of pieces) {
          const data = typeof piece === 'string' ? Buffer.from(piece) : piece;
          bytes += data.length;
          if (others + bytes > this.#maximumBytes)
            throw new NoRoom(`exports have reached their limit of ${Math.round(this.#maximumBytes / 1024 ** 2)} MiB`);
          await handle.writeFile(data).catch(asNoRoom);
        }
      },
      keep: async () => {
        await handle.sync();
        await close();
        await rename(path, this.#pathOf(jobId));
      },
      discard: async () => {
        await close();
        await rm(path, { force: true });
      },
    };
  }

  async remove(jobId: string): Promise<void> {
    await rm(this.#pathOf(jobId), { force: true });
  }

  /** Deletes files whose job does not exist, and drafts that no process writes any more. */
  async sweep(findJobIds: () => Promise<ReadonlySet<string>>): Promise<void> {
    // In this order: the file of a job that is created meanwhile is not in the list.
    const names = await this.#list();
    const jobIds = await findJobIds();
    for (const name of names) {
      const [jobId = '', ...rest] = name.split('.');
      const isStale = rest.length === 0 ? !jobIds.has(jobId) : await this.#isStale(name);
      if (isStale) await rm(join(this.#directory, name), { force: true });
    }
  }

  async #isStale(name: string): Promise<boolean> {
    const { mtimeMs } = await stat(join(this.#directory, name)).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    return mtimeMs < Date.now() - draftTimeoutMs;
  }

  async #list(): Promise<string[]> {
    const names = await readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names.filter((name) => fileForm.test(name));
  }

  async #measure(): Promise<number> {
    const sizes = (await this.#list()).map((name) =>
      stat(join(this.#directory, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  }

  #pathOf(name: string): string {
    return join(this.#directory, name);
  }
}

function asNoRoom(error: NodeJS.ErrnoException): never {
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') throw new NoRoom('the disk for exports is full');
  throw error;
}
