import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { installPython, root } from '../run-command.ts';
import { type Comparison, compareFile, type ReferenceFile } from './compare.ts';

/** The Python package to compare with, and public files at the commits of the published figures. */
const cantools = 'cantools==45.1.0';
const repositories = {
  cantools: { url: 'https://github.com/cantools/cantools', commit: 'c1dcd3968abc66aae9558605711a6bb7c718a6b7' },
  opendbc: { url: 'https://github.com/commaai/opendbc', commit: '7343a66d46213d5f73528afc6c6db713ebd88a9d' },
};

const ownFiles = join(root, 'packages/codec/can/data');
const { values: options } = parseArgs({
  options: {
    directory: { type: 'string', default: join(tmpdir(), 'odograph-compare-can') },
    seed: { type: 'string', default: '1' },
    frames: { type: 'string', default: '20' },
  },
});

/** Fetches the files of a repository; a directory that exists is used as it is. */
function fetchRepository(directory: string, { url, commit }: { url: string; commit: string }): void {
  if (existsSync(directory)) return;
  mkdirSync(directory, { recursive: true });
  const git = (...parameters: string[]): void => {
    const { status } = spawnSync('git', ['-C', directory, ...parameters], { stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Error(`missing: git, and a network to fetch ${url}`);
  };
  git('init', '--quiet');
  git('fetch', '--quiet', '--depth', '1', url, commit);
  git('checkout', '--quiet', 'FETCH_HEAD');
}

function print({ file, removed }: ReferenceFile, { differences }: Comparison): void {
  if (differences.size > 0 || removed.length > 0) console.log(file);
  for (const reason of new Set(removed.map((one) => one.reason))) {
    const lines = removed.filter((one) => one.reason === reason).map(({ line }) => line);
    console.log(
      `  removed for cantools: ${lines.length > 1 ? `${lines.length} lines from` : 'line'} ${lines[0]}: ${reason}`,
    );
  }
  for (const [difference, times] of differences) console.log(`  ${difference}${times > 1 ? ` (${times} times)` : ''}`);
}

/** Decodes random frames of every message of every file with cantools and with our decoder, and lists what differs. */
async function main(): Promise<void> {
  const directory = resolve(options.directory);
  const python = join(installPython(cantools), 'python');
  for (const [name, repository] of Object.entries(repositories)) {
    fetchRepository(join(directory, name), repository);
  }
  const directories = [ownFiles, ...Object.keys(repositories).map((name) => join(directory, name))];
  const parameters = [join(import.meta.dirname, 'reference.py'), options.seed, options.frames, ...directories];
  const reference = spawn(python, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(reference, 'close');
  const total: Record<string, number> = {};
  const add = (name: string, count: number): void => {
    total[name] = (total[name] ?? 0) + count;
  };
  for await (const line of createInterface(reference.stdout)) {
    const file: ReferenceFile = JSON.parse(line);
    const comparison = compareFile(file);
    print(file, comparison);
    const { differences, ...counts } = comparison;
    add('files', 1);
    for (const [name, value] of Object.entries(counts)) add(name, value);
    add('linesRemoved', file.removed.length);
    add('differences', differences.size);
  }
  const [code] = await closed;
  if (code !== 0) throw new Error(`reference.py ended with ${code}`);
  console.table(total);
}

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
