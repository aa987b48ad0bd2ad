// Runs a TypeScript file of this repository: installs missing dependencies first, and uses tsx where Node.js cannot run
// TypeScript. Plain JavaScript, because it runs before anything is installed.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
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

const [target, ...rest] = process.argv.slice(2);
if (!process.features.typescript) {
  const { register } = await import('tsx/esm/api');
  register();
}
process.argv = [process.argv[0], resolve(root, target), ...rest];
await import(pathToFileURL(resolve(root, target)).href);
