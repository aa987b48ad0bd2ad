import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Comparison, compareFile, type ReferenceFile } from './compare.ts';

/** The Python package to compare with, and public files at the commits of the published figures. */
const cantools = 'cantools==45.1.0';
const repositories = {
  cantools: { url: 'https://github.com/cantools/cantools', commit: 'c1dcd3968abc66aae9558605711a6bb7c718a6b7' },
  opendbc: { url: 'https://github.com/commaai/opendbc', commit: '7343a66d46213d5f73528afc6c6db713ebd88a9d' },
};

const folder = dirname(fileURLToPath(import.meta.url));
const ownFiles = join(folder, '..', '..', 'packages', 'codec', 'can', 'data');
const { values: options } = parseArgs({
  options: {
    directory: { type: 'string', default: join(tmpdir(), 'odograph-compare-can') },
    seed: { type: 'string', default: '1' },
    frames: { type: 'string', default: '20' },
  },
});

/** Runs a program. @throws Error `missing: …` if it fails */
async function run(missing: string, program: string, ...parameters: string[]): Promise<void> {
  const child = spawn(program, parameters, { stdio: ['ignore', 2, 2] });
  const [code] = await once(child, 'close').catch(() => [null]);
  if (code !== 0) throw new Error(`missing: ${missing}`);
}

/** Installs cantools in an environment that later runs use again. @returns its interpreter */
async function installCantools(): Promise<string> {
  const environment = join(tmpdir(), `odograph-${cantools.replace('==', '-')}`);
  const python = join(environment, 'bin', 'python');
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', cantools];
  if (!existsSync(python)) await run('python3 with venv', 'python3', '-m', 'venv', environment);
  await run(`${cantools}, and a network to install it`, python, ...pip);
  return python;
}

/** Fetches the files of a repository; a directory that exists is used as it is. */
async function fetchRepository(directory: string, { url, commit }: { url: string; commit: string }): Promise<void> {
  if (existsSync(directory)) return;
  await mkdir(directory, { recursive: true });
  const git = (...parameters: string[]) =>
    run(`git, and a network to fetch ${url}`, 'git', '-C', directory, ...parameters);
  await git('init', '--quiet');
  await git('fetch', '--quiet', '--depth', '1', url, commit);
  await git('checkout', '--quiet', 'FETCH_HEAD');
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
  const python = await installCantools();
  for (const [name, repository] of Object.entries(repositories)) {
    await fetchRepository(join(directory, name), repository);
  }
  const directories = [ownFiles, ...Object.keys(repositories).map((name) => join(directory, name))];
  const parameters = [join(folder, 'reference.py'), options.seed, options.frames, ...directories];
  const reference = spawn(python, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(reference, 'close');
  const total = {
    files: 0,
    messages: 0,
    signals: 0,
    frames: 0,
    framesBySignal: 0,
    values: 0,
    identical: 0,
    rounded: 0,
    linesRemoved: 0,
    differences: 0,
  };
  for await (const line of createInterface(reference.stdout)) {
    const file: ReferenceFile = JSON.parse(line);
    const comparison = compareFile(file);
    print(file, comparison);
    const { differences, ...counts } = comparison;
    total.files += 1;
    total.differences += differences.size;
    total.linesRemoved += file.removed.length;
    for (const [name, value] of Object.entries(counts)) total[name as keyof typeof counts] += value;
  }
  const [code] = await closed;
  if (code !== 0) throw new Error(`reference.py ended with ${code}`);
  console.table(total);
}

await main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
