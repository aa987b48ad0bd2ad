// Runs a TypeScript file of this repository as a bundle, which loads several times faster than its modules one by one.
// Installs missing dependencies first. Plain JavaScript, because it runs before anything is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
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

function installMissing() {
  if (isInstalled()) return;
  console.error('installing what is missing (npm ci)');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(status ?? 1);
}

/** Packages of many small modules, and those that every command loads. The others are imported where they are installed. */
const bundledPackage = /^(@odograph|typebox|kysely|@fastify\/type-provider-typebox|commander|ipaddr\.js)(\/|$)/;

/** Whoever changes a dependency changes these. */
const lockFiles = ['package-lock.json', 'node_modules/.package-lock.json'];

/** Finds the directory of the bundle in `directory` whose source files and dependencies are unchanged. */
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

/** Bundles a TypeScript file with what it imports, unless that is done; returns the path of the JavaScript. */
async function bundle(source) {
  const directory = join(root, 'node_modules/.cache/odograph', relative(root, source));
  const file = basename(source).replace(/\.ts$/, '.js');
  const current = findCurrent(directory);
  if (current) return join(current, file);
  installMissing();
  const { build, stop } = await import('esbuild');
  const outdir = join(directory, `.${process.pid}`);
  mkdirSync(outdir, { recursive: true });
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
    // CommonJS packages call it for modules of Node.js.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);",
    },
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
  const sources = Object.keys(metafile.inputs).filter((path) => !path.startsWith('node_modules/'));
  const inputs = [...sources, ...lockFiles, 'scripts/run.mjs']
    .sort()
    .map((path) => [path, statSync(join(root, path)).mtimeMs]);
  return join(addBundle(directory, outdir, inputs), file);
}

/** Returns the file to run: the bundle, or the source in a read-only installation, if Node.js runs TypeScript (22.18). */
async function findProgram(source) {
  try {
    return await bundle(source);
  } catch (error) {
    if (!process.features.typescript || !['EACCES', 'EROFS'].includes(error.code)) throw error;
    return source;
  }
}

const [target, ...rest] = process.argv.slice(2);
const source = resolve(root, target);
process.argv = [process.argv[0], source, ...rest];
process.setSourceMapsEnabled(true);
await import(pathToFileURL(await findProgram(source)).href);
