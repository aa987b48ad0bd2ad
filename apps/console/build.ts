import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const directory = import.meta.dirname;
const output = join(directory, 'dist');
/** Names what was built: the hash of the sources. */
const stamp = join(output, '.sources');
const single = ['index.html', 'package.json', 'vite.config.ts', 'build.ts'];
const compressible = /\.(?:js|mjs|css|json|svg|html)$/;

/** Lists the source files, relative to the workspace. */
function sourceFiles(): string[] {
  const below = (folder: string) =>
    readdirSync(join(directory, folder), { recursive: true, encoding: 'utf8', withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(directory, join(entry.parentPath, entry.name)));
  return [...single, ...below('src')].sort();
}

/** Hashes the sources and the versions of every dependency. */
function hashSources(): string {
  const hash = createHash('sha256').update(readFileSync(join(directory, '../../package-lock.json')));
  for (const path of sourceFiles()) hash.update(path).update(readFileSync(join(directory, path)));
  return hash.digest('hex');
}

/** Writes NAME.br and NAME.gz of each file that compresses, so that no request compresses anything. */
async function compress(folder: string): Promise<void> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => compressible.test(name));
  for (const name of files) {
    const path = join(folder, name);
    const content = readFileSync(path);
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
    writeFileSync(`${path}.br`, await promisify(brotliCompress)(content, { params }));
    writeFileSync(`${path}.gz`, await promisify(gzip)(content, { level: 9 }));
  }
}

/**
 * Builds the console into dist/, unless dist/ was built from these sources.
 * @throws what Vite reports; the former build stays
 */
export default async function buildConsole(): Promise<void> {
  const hash = hashSources();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  console.error('building the console');
  const { build } = await import('vite');
  // Two processes may build at the same time, such as a test and a start.
  const unfinished = `${output}-${process.pid}`;
  try {
    const outDir = relative(directory, unfinished);
    await build({ configFile: join(directory, 'vite.config.ts'), logLevel: 'warn', build: { outDir } });
    await compress(unfinished);
    writeFileSync(join(unfinished, '.sources'), hash);
    rmSync(output, { recursive: true, force: true });
    renameSync(unfinished, output);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
