import { createHash, type Hash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { findUnknownMigrations, isPrerelease } from '@odograph/database/migrate';
import { platformVersion } from '@odograph/runtime/platform-version';
import Value from 'typebox/value';
import { type ArchiveEntry, readArchive } from './archive.ts';
import { EncryptedSecrets, Manifest, schemaOf } from './manifest.ts';

/** The name of an entry that holds rows of a table. */
export const partName = /^tables\/([^/]+)\/\d+\.copy\.gz$/;

/** The rows of a table as they were found. */
interface FoundTable {
  hash: Hash;
  /** Offset of its first entry in the file. */
  byteOffset: number;
}

interface Content {
  tables: ReadonlyMap<string, FoundTable>;
  manifest: unknown;
  keys: EncryptedSecrets | undefined;
  lastEntry: string;
}

/** Parses an entry. @throws Error that names it, when it was changed */
function parseEntry<Result>(
  file: string,
  { name, content, byteOffset }: ArchiveEntry,
  parse: (content: Buffer) => Result,
): Result {
  try {
    return parse(content);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${file} is damaged in ${name}, which begins at byte ${byteOffset}: ${reason}`, { cause });
  }
}

const parseJson = (content: Buffer): unknown => JSON.parse(content.toString('utf8'));

async function readContent(file: string): Promise<Content> {
  const tables = new Map<string, FoundTable>();
  const content: Omit<Content, 'tables'> = { manifest: undefined, keys: undefined, lastEntry: 'its beginning' };
  for await (const entry of readArchive(file)) {
    const { name, byteOffset } = entry;
    const table = partName.exec(name)?.[1];
    if (table !== undefined) {
      const found = tables.get(table) ?? { hash: createHash('sha256'), byteOffset };
      parseEntry(file, entry, (rows) => found.hash.update(gunzipSync(rows)));
      tables.set(table, found);
    } else if (name === 'manifest.json') content.manifest = parseEntry(file, entry, parseJson);
    else if (name === 'keys.json') {
      content.keys = parseEntry(file, entry, (json) => Value.Parse(EncryptedSecrets, parseJson(json)));
    }
    content.lastEntry = name;
  }
  return { ...content, tables };
}

/** @throws Error when this version cannot read the manifest */
function checkManifest(file: string, { manifest, lastEntry }: Content): Manifest {
  if (manifest === undefined) {
    throw new Error(`${file} is not a complete backup: it ends after ${lastEntry}, without manifest.json`);
  }
  if (Value.Check(Manifest, manifest)) return manifest;
  const [fault] = Value.Errors(Manifest, manifest);
  throw new Error(`${file} cannot be restored by this version: manifest.json${fault?.instancePath} ${fault?.message}`);
}

/** @throws Error that names a table whose rows differ from the manifest */
function checkTables(file: string, { tables }: Content, manifest: Manifest): void {
  for (const { name, sha256 } of manifest.tables) {
    const found = tables.get(name);
    if ((found?.hash ?? createHash('sha256')).digest('hex') === sha256) continue;
    const place = found === undefined ? 'has no entry' : `begins at byte ${found.byteOffset}`;
    throw new Error(`${file} is damaged: table ${name}, which ${place}, differs from its SHA-256`);
  }
}

/** @throws Error when a version before 0.1.0 or a newer one made the backup */
async function checkVersion(file: string, manifest: Manifest): Promise<void> {
  const names = manifest.migrations.map(({ name }) => name);
  if (isPrerelease(names)) throw new Error(`${file} is from before 0.1.0, which cannot be restored by this version`);
  const unknown = await findUnknownMigrations(names);
  if (unknown.length === 0) return;
  const own = `${file} is of version ${manifest.version} with schema ${schemaOf(manifest)}`;
  throw new Error(`${own}, which is newer than this version, ${platformVersion()}: restore it with that version`);
}

/**
 * Reads a backup once and checks it against its manifest, before anything is restored.
 * @throws Error that names what is missing, damaged or of a newer version
 */
export async function inspectBackup(file: string): Promise<{ manifest: Manifest; keys: EncryptedSecrets | undefined }> {
  const content = await readContent(file);
  const manifest = checkManifest(file, content);
  checkTables(file, content, manifest);
  await checkVersion(file, manifest);
  return { manifest, keys: content.keys };
}
