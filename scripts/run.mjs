// Runs a TypeScript file of this repository: installs missing dependencies first, and bundles the file where Node.js cannot
// run TypeScript (before 22.18). Plain JavaScript, because it runs before anything is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** npm writes a copy of the lock file when an installation is complete. */
function isInstalled() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installed)) return false;
  const wanted = Object.entries(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages);
  const present = JSON.parse(readFileSync(installed, 'utf8')).packages;
  return wanted.every(
    ([path, { version, optional, link }]) =>
      !path.startsWith('node_modules/') || optional || link || present[path]?.version === version,
  );
}

if (!isInstalled()) {
  console.error('installing what is missing (npm ci)');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(status ?? 1);
}

/** Packages of hundreds of small modules, which take longer to load one by one than all the rest. */
const bundledPackage = /^(@odograph|typebox|kysely|@fastify\/type-provider-typebox)(\/|$)/;

/** Finds the directory of the bundle in `directory` whose source files are unchanged. */
function findCurrent(directory) {
  const index = join(directory, 'index.json');
  if (!existsSync(index)) return undefined;
  const { name, inputs } = JSON.parse(readFileSync(index, 'utf8'));
  const isUnchanged = ([path, mtimeMs]) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs === mtimeMs;
  return inputs.every(isUnchanged) ? join(directory, name) : undefined;
}

/**
 * Adds a bundle under a name that only bundles of the same sources have, and then names it as the current one. Processes that
 * start at once build the same bundle; neither step takes a file away from one that is already loading it.
 */
function addBundle(directory, outdir, inputs) {
  const name = createHash('sha256').update(JSON.stringify(inputs)).digest('hex').slice(0, 16);
  if (!existsSync(join(directory, name))) {
    try {
      renameSync(outdir, join(directory, name));
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(error.code)) throw error;
    }
  }
  rmSync(outdir, { recursive: true, force: true });
  const index = `${outdir}.json`;
  writeFileSync(index, JSON.stringify({ name, inputs }));
  renameSync(index, join(directory, 'index.json'));
  const isOutdated = (entry) => /^[0-9a-f]{16}$/.test(entry) && entry !== name;
  for (const entry of readdirSync(directory).filter(isOutdated)) {
    rmSync(join(directory, entry), { recursive: true, force: true });
  }
  return join(directory, name);
}

/**
 * Bundles a TypeScript file with what it imports, unless that is done; returns the path of the JavaScript. A loader that
 * translates module by module, such as tsx, takes three times as long to start the platform.
 */
async function bundle(source) {
  const directory = join(root, 'node_modules/.cache/odograph', relative(root, source));
  const file = basename(source).replace(/\.ts$/, '.js');
  const current = findCurrent(directory);
  if (current) return join(current, file);
  const { build, stop } = await import('esbuild');
  const outdir = join(directory, `.${process.pid}`);
  const { metafile } = await build({
    entryPoints: [source],
    outdir,
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: 'error',
    plugins: [
      {
        name: 'this repository',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
            kind === 'entry-point' || bundledPackage.test(path) ? undefined : { path, external: true },
          );
          onLoad({ filter: /\.ts$/ }, ({ path }) => ({
            contents: readFileSync(path, 'utf8')
              .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
              .replaceAll('import.meta.dirname', JSON.stringify(dirname(path))),
            loader: 'ts',
          }));
        },
      },
    ],
  });
  // Otherwise esbuild's process lives as long as the platform.
  await stop();
  const inputs = [...Object.keys(metafile.inputs), 'scripts/run.mjs']
    .sort()
    .map((path) => [path, statSync(join(root, path)).mtimeMs]);
  return join(addBundle(directory, outdir, inputs), file);
}

const [target, ...rest] = process.argv.slice(2);
const source = resolve(root, target);
process.argv = [process.argv[0], source, ...rest];
if (!process.features.typescript) process.setSourceMapsEnabled(true);
await import(pathToFileURL(process.features.typescript ? source : await bundle(source)).href);
