import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
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

/**
 * Installs Python packages in a virtual environment that later runs reuse.
 * @param packages with their versions, such as cantools==45.1.0
 * @returns the folder of its programs
 * @throws Error `missing: …` without Python or a network
 */
export function installPython(...packages: readonly string[]): string {
  const environment = join(tmpdir(), `odograph-${packages.join('-').replaceAll('==', '-')}`);
  const programs = join(environment, 'bin');
  const installed = join(environment, 'installed');
  if (existsSync(installed)) return programs;
  const run = (program: string, ...parameters: string[]) =>
    spawnSync(program, parameters, { stdio: ['ignore', 2, 2] }).status === 0;
  if (!run('python3', '-m', 'venv', environment)) throw new Error('missing: python3 with venv');
  if (!run(join(programs, 'pip'), 'install', '--quiet', '--disable-pip-version-check', ...packages)) {
    throw new Error(`missing: a network to install ${packages.join(' and ')}`);
  }
  writeFileSync(installed, '');
  return programs;
}
