import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const directory = import.meta.dirname;
const output = join(directory, 'dist');
const compressible = /\.(?:js|mjs|css|json|svg|html)$/;

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

/** Builds the console into dist/. @throws what Vite reports; the former build stays */
export async function buildConsole(): Promise<void> {
  const { build } = await import('vite');
  // Two processes may build at the same time, such as a test and a start.
  const unfinished = `${output}-${process.pid}`;
  try {
    const outDir = relative(directory, unfinished);
    await build({ configFile: join(directory, 'vite.config.ts'), logLevel: 'warn', build: { outDir } });
    const licenses = join(unfinished, 'licenses.md');
    const notice = readFileSync(join(directory, '../../NOTICE'), 'utf8');
    writeFileSync(join(unfinished, 'licenses.txt'), `${notice}\n${readFileSync(licenses, 'utf8')}`);
    rmSync(licenses);
    await compress(unfinished);
    rmSync(output, { recursive: true, force: true });
    renameSync(unfinished, output);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
