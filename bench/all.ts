import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { type Benchmark, readOptions } from './parts/benchmark.ts';
import { describeEngines, describeMachine, figure, type Row, takePrinted } from './parts/report.ts';

const options = { only: ['', 'comma-separated benchmarks; all by default'] } as const;

const directory = join(import.meta.dirname, 'results');

/** Sizes at which all benchmarks together take less than 45 minutes on two cores. */
const sittings: readonly (readonly [name: string, parameters: string])[] = [
  ['ingest', '--rounds 3'],
  ['ingest', '--rounds 3 --readings 50'],
  ['ingest', '--rounds 3 --readings 50 --age 20d'],
  ['history', '--readings 1000000 --vehicles 50'],
  ['history', '--readings 1000000 --vehicles 500'],
  ['history', '--interval 15768 --rounds 3'],
  ['latest', '--vehicles 50000'],
  ['command', '--rounds 3'],
  ['connections', '--devices 5000 --rounds 2'],
  ['gateway', '--devices 2000 --rounds 2'],
  ['webhooks', '--events 20000'],
  ['alarms', '--uploads 200000 --rounds 3'],
  ['export', '--readings 500000'],
  ['storage', '--days 2'],
  ['growth', '--uploads 100000 --rounds 2 --rows 1000000,3000000 --processes 1,2'],
  ['streams', ''],
  ['codecs', '--rounds 3'],
  ['screens', '--map-seconds 45'],
];

/** A figure of a sitting. */
interface Result extends Row {
  /** The command line after `npm run bench --`. */
  readonly command: string;
}

interface Table {
  readonly at: string;
  readonly machine: string;
  readonly engines: string;
  /** 15-minute load average at the start. */
  readonly loadAverage: number;
  readonly results: readonly Result[];
  /** Benchmarks that did not end, with the reason. */
  readonly failed: readonly string[];
}

/** A change by which a figure is called slower; less is noise on a machine with neighbours. */
const noticeable = 0.15;

/** Whether a larger figure is the better one; undefined where neither is. */
function isHigherBetter({ what, unit }: Row): boolean | undefined {
  if (/\/s|a second|per second/.test(unit)) return true;
  if (/\bms\b|µs|seconds|MiB|KiB|bytes/i.test(unit)) return false;
  return unit === 'ratio' && /^(.*: )?odograph over/.test(what) ? true : undefined;
}

const keyOf = ({ command, what, unit }: Result): string => `${command} | ${what} | ${unit}`;

/** Lists the figures that are noticeably worse than in another table of the same machine. */
function findSlower(now: Table, before: Table): string[] {
  const old = new Map(before.results.map((result) => [keyOf(result), result.median]));
  return now.results.flatMap((result) => {
    const [higher, last] = [isHigherBetter(result), old.get(keyOf(result))];
    if (higher === undefined || last === undefined || last === 0) return [];
    const change = result.median / last;
    const isSlower = higher ? change < 1 - noticeable : change > 1 + noticeable;
    return isSlower ? [`${keyOf(result)}: ${figure(last)} before, ${figure(result.median)} now`] : [];
  });
}

function toMarkdown({ at, machine, engines, loadAverage, results, failed }: Table, slower: readonly string[]): string {
  const rows = results.map(
    ({ command, what, unit, median, min, max }) =>
      `| \`${command}\` | ${what.replaceAll('|', '/')} | ${unit} | ${figure(median)} | ${figure(min)} to ${figure(max)} |`,
  );
  return [
    `# Benchmarks of ${at}`,
    '',
    `${machine}; ${engines}. Load average at the start ${figure(loadAverage)}.`,
    '',
    '| npm run bench -- | what | unit | median | range |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    ...(failed.length > 0 ? ['', '## Failed', ...failed.map((line) => `- ${line}`)] : []),
    ...(slower.length > 0 ? ['', '## Worse than in the table before', ...slower.map((line) => `- ${line}`)] : []),
    '',
  ].join('\n');
}

async function readPrevious(): Promise<Table | undefined> {
  const last = (await readdir(directory))
    .filter((name) => name.endsWith('.json'))
    .sort()
    .at(-1);
  return last === undefined ? undefined : (JSON.parse(await readFile(join(directory, last), 'utf8')) as Table);
}

/** Runs one benchmark. @returns its figures */
async function sit(name: string, parameters: string): Promise<Result[]> {
  const command = `${name} ${parameters}`.trim();
  console.log(`\n== ${command}\n`);
  takePrinted();
  const { benchmark } = (await import(`./${name}.ts`)) as { benchmark: Benchmark };
  await benchmark.run(parameters.split(' ').filter((part) => part !== ''));
  return takePrinted().map((row) => ({ command, ...row }));
}

export const benchmark: Benchmark = {
  description: 'every benchmark except soak; writes a table to bench/results and compares it with the previous one',
  async run(parameters) {
    const { only } = readOptions(parameters, options);
    await mkdir(directory, { recursive: true });
    const before = await readPrevious();
    const results: Result[] = [];
    const failed: string[] = [];
    const at = new Date().toISOString().slice(0, 16).replace(':', '');
    const loadAverage = loadavg()[2] ?? 0;
    for (const [name, sizes] of sittings.filter(([name]) => only === '' || only.split(',').includes(name))) {
      try {
        results.push(...(await sit(name, sizes)));
      } catch (error) {
        console.error(error);
        failed.push(`${name} ${sizes}: ${String(error)}`);
      }
    }
    const table = { at, machine: describeMachine(), engines: describeEngines(), loadAverage, results, failed };
    const slower = before === undefined ? [] : findSlower(table, before);
    await writeFile(join(directory, `${at}.json`), `${JSON.stringify(table, undefined, 1)}\n`);
    await writeFile(join(directory, `${at}.md`), toMarkdown(table, slower));
    console.log(`\n${results.length} figures in ${join(directory, `${at}.md`)}; failed: ${failed.length}`);
    for (const line of slower) console.log(`worse: ${line}`);
    if (failed.length > 0) process.exitCode = 1;
  },
};
