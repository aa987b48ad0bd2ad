// Runs a TypeScript file of this repository: installs missing dependencies first, and bundles the file where Node.js cannot
// run TypeScript (before 22.18). Plain JavaScript, because it runs before anything is installed.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
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

/** Whether the files from which a bundle was made are unchanged. */
function isCurrent(inputsFile) {
  if (!existsSync(inputsFile)) return false;
  const inputs = Object.entries(JSON.parse(readFileSync(inputsFile, 'utf8')));
  return inputs.every(([path, mtimeMs]) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs === mtimeMs);
}

/**
 * Bundles a TypeScript file with what it imports, unless that is done; returns the path of the JavaScript. A loader that
 * translates module by module, such as tsx, takes three times as long to start the platform.
 */
async function bundle(source) {
  const directory = join(root, 'node_modules/.cache/odograph', relative(root, source));
  const inputsFile = join(directory, 'inputs.json');
  const built = join(directory, basename(source).replace(/\.ts$/, '.js'));
  if (isCurrent(inputsFile)) return built;
  const { build } = await import('esbuild');
  // Several processes may start at once: the first to finish provides the bundle of all.
  const outdir = `${directory}.${process.pid}`;
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
  if (isCurrent(inputsFile)) {
    rmSync(outdir, { recursive: true });
    return built;
  }
  const inputs = [...Object.keys(metafile.inputs), 'scripts/run.mjs'].map((path) => [
    path,
    statSync(join(root, path)).mtimeMs,
  ]);
  writeFileSync(join(outdir, 'inputs.json'), JSON.stringify(Object.fromEntries(inputs)));
  rmSync(directory, { recursive: true, force: true });
  renameSync(outdir, directory);
  return built;
}

const [target, ...rest] = process.argv.slice(2);
const source = resolve(root, target);
process.argv = [process.argv[0], source, ...rest];
if (!process.features.typescript) process.setSourceMapsEnabled(true);
await import(pathToFileURL(process.features.typescript ? source : await bundle(source)).href);
