import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Runs a program from node_modules/.bin with inherited output. @returns whether it succeeded */
export function runInstalled(program: string, ...parameters: string[]): boolean {
  const path = join(root, 'node_modules', '.bin', program);
  const { status } = spawnSync(path, parameters, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' });
  return status === 0;
}
