import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../run-command.ts';
import { buildChanged } from './sources.ts';

const cache = join(root, 'node_modules/.cache/odograph');
/** The OpenAPI document of the platform. */
export const documentPath = join(cache, 'openapi.json');
/** Packages that no service imports. */
const elsewhere = ['cli', 'client', 'embedded', 'simulator', 'testkit'];
const packages = readdirSync(join(root, 'packages')).filter((name) => !elsewhere.includes(name));
/** Files that scripts/interface writes; not in the repository. */
const outputs = [
  documentPath,
  ...['packages/client/interface.d.ts', 'packages/client/keyed-paths.ts', 'apps/console/src/api/limits.ts'].map(
    (name) => join(root, name),
  ),
];
const sources = ['services', ...packages.map((name) => `packages/${name}`), 'scripts/interface'];

/**
 * Writes the OpenAPI document and what is generated from it: the types of the client and the console, and the limits of
 * forms. A process of its own loads the services.
 */
export async function buildInterface(): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const stamp = join(cache, 'interface.sources');
  // `git clean` may remove the outputs but keep node_modules.
  if (!outputs.every((path) => existsSync(path))) rmSync(stamp, { force: true });
  await buildChanged(stamp, sources, () => {
    console.error('generating the types of the interface');
    const { status } = spawnSync(process.execPath, ['scripts/run.mjs', 'scripts/interface/main.ts', documentPath], {
      cwd: root,
      stdio: ['ignore', 2, 2],
    });
    if (status !== 0) throw new Error('the types of the interface were not generated');
  });
}
