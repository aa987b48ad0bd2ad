import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BaseSequencer, createVitest, type TestModule, type TestSpecification, type Vitest } from 'vitest/node';
import { root } from '../run-command.ts';
import { type Area, areas } from './areas.ts';
import { findMutants, type Mutant } from './places.ts';

type Verdict = 'compiles' | 'refused' | 'caught' | 'survived';

/** Mutants by id; `by` is the failure that caught the mutant. */
type Report = Record<string, Mutant & { readonly verdict: Verdict; readonly by?: string }>;

const reportPath = join(root, 'node_modules/.cache/odograph/mutants.json');
const report: Report = existsSync(reportPath) ? JSON.parse(readFileSync(reportPath, 'utf8')) : {};

function record(mutant: Mutant, verdict: Verdict, by?: string): void {
  report[mutant.id] = { ...mutant, verdict, ...(by !== undefined && { by }) };
  mkdirSync(dirname(reportPath), { recursive: true });
  writeFileSync(reportPath, JSON.stringify(report, null, 1));
}

const run = (program: string, ...parameters: string[]): string =>
  spawnSync(program, parameters, { cwd: root, encoding: 'utf8' }).stdout;
const readSource = (file: string): string => readFileSync(join(root, file), 'utf8');

const listSources = (paths: readonly string[] = []): string[] =>
  paths
    .flatMap((path) => run('git', 'ls-files', path).split('\n'))
    .filter((path) => path.endsWith('.ts') && !/\.(test|fixture|d)\.ts$/.test(path));

/** Lists every mutant of an area, ordered so that the first ones are spread over files and kinds. */
function listMutants({ files, parts }: Area): Mutant[] {
  const ranks = new Map<string, number>();
  return [
    ...listSources(files).flatMap((file) => findMutants(file, readSource(file))),
    ...listSources(parts?.files).flatMap((file) => findMutants(file, readSource(file), parts?.within)),
  ]
    .sort((one, other) => (one.id < other.id ? -1 : 1))
    .map((mutant) => {
      const group = `${mutant.file} ${mutant.kind}`;
      const rank = ranks.get(group) ?? 0;
      ranks.set(group, rank + 1);
      return { mutant, rank };
    })
    .sort((one, other) => one.rank - other.rank)
    .map(({ mutant }) => mutant);
}

/** Applies a mutant and keeps the number of lines, so that errors have the line numbers of the source. */
function applyMutant(source: string, { start, end, from, to }: Mutant): string {
  const lost = from.split('\n').length - to.split('\n').length;
  return source.slice(0, start) + to + '\n'.repeat(Math.max(0, lost)) + source.slice(end);
}

/** Runs `use` while mutants are applied to their files, at most one per declaration. */
async function withMutants<T>(mutants: readonly Mutant[], use: () => T | Promise<T>): Promise<T> {
  const originals = new Map(mutants.map(({ file }) => [file, readSource(file)]));
  const restore = (): void => {
    for (const [file, source] of originals) writeFileSync(join(root, file), source);
  };
  process.once('exit', restore);
  try {
    for (const [file, source] of originals) {
      const own = mutants.filter((mutant) => mutant.file === file).sort((one, other) => other.start - one.start);
      writeFileSync(join(root, file), own.reduce(applyMutant, source));
    }
    return await use();
  } finally {
    restore();
    process.off('exit', restore);
  }
}

const choose = (mutants: readonly Mutant[], count: number): Mutant[] =>
  mutants.filter(({ id }) => report[id]?.verdict !== 'refused').slice(0, count);

/** Chooses the first mutants of each area that pass the type check, which checks many at once. */
async function chooseMutants(
  lists: readonly { readonly all: readonly Mutant[]; readonly count: number }[],
): Promise<void> {
  for (;;) {
    const unchecked = lists
      .flatMap(({ all, count }) => choose(all, count))
      .filter(({ id }) => report[id] === undefined);
    if (unchecked.length === 0) return;
    const batch = [...new Map(unchecked.map((one) => [`${one.file} ${one.declaration[0]}`, one])).values()];
    const buildInfo = join(dirname(reportPath), 'mutants.tsbuildinfo');
    const output = await withMutants(batch, () =>
      run(join(root, 'node_modules/.bin/tsc'), '--pretty', 'false', '--incremental', '--tsBuildInfoFile', buildInfo),
    );
    const errors = [...output.matchAll(/^(\S+)\((\d+),/gm)].map(([, file, line]) => ({ file, line: Number(line) }));
    for (const mutant of batch) {
      const own = errors.filter(({ file }) => file === mutant.file);
      const isOf = ({ declaration }: Mutant, line: number): boolean => line >= declaration[0] && line <= declaration[1];
      // An error outside of these declarations may come from any mutant in the file.
      const isRefused = own.some(
        ({ line }) => isOf(mutant, line) || !batch.some((one) => one.file === mutant.file && isOf(one, line)),
      );
      record(mutant, isRefused ? 'refused' : 'compiles');
    }
  }
}

/** Runs test files in the order set last. */
class InOrder extends BaseSequencer {
  static order: readonly string[] = [];
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => InOrder.order.indexOf(moduleId);
    return files.sort((one, other) => place(one) - place(other));
  }
}

/** A mutant whose tests run longer counts as caught. */
const maxRunMs = 300_000;

const describeFailure = (module: TestModule): string => {
  const [failed] = [...module.children.allTests('failed')];
  const error = failed?.result().errors?.[0] ?? module.errors()[0];
  return `${failed?.fullName ?? module.relativeModuleId}: ${String(error?.message).split('\n')[0]}`;
};

/** Runs test files until a test fails. @returns its name and message; undefined if none fails */
async function findFailure(vitest: Vitest, files: readonly string[]): Promise<string | undefined> {
  const found = await Promise.all(files.map((file) => vitest.globTestSpecifications([file])));
  const specifications = [...new Map(found.flat().map((one) => [one.moduleId, one])).values()];
  InOrder.order = specifications.map(({ moduleId }) => moduleId);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    // The second request kills the worker.
    void vitest.cancelCurrentRun('keyboard-input');
    void vitest.cancelCurrentRun('keyboard-input');
  }, maxRunMs);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  clearTimeout(timer);
  if (isLate) return 'time limit';
  const failed = testModules.find((module) => InOrder.order.includes(module.moduleId) && module.state() === 'failed');
  return failed ? describeFailure(failed) : unhandledErrors.length > 0 ? 'unhandled error' : undefined;
}

async function testArea(name: string, area: Area, ids: readonly string[]): Promise<void> {
  const vitest = await createVitest('test', {
    ...{ watch: false, bail: 1, maxWorkers: 1, testTimeout: 60_000, hookTimeout: 90_000, isolate: false },
    sequence: { sequencer: InOrder },
    reporters: [{}],
    ...(area.isPure && { config: false, include: area.tests.map((folder) => `${folder}**/*.test.ts`) }),
  });
  const failure = await findFailure(vitest, area.tests);
  if (failure !== undefined) throw new Error(`${name}: "${failure}" fails without a mutant`);
  const mutants = choose(listMutants(area), area.mutants);
  for (const mutant of mutants.filter(({ id }) => ids.length === 0 || ids.includes(id))) {
    const path = join(root, mutant.file);
    const near = area.near?.[mutant.file] ?? [path.replace(/\.ts$/, '.test.ts'), `${dirname(path)}/`];
    const by = await withMutants([mutant], () => {
      vitest.invalidateFile(path);
      return findFailure(vitest, [...near, ...area.tests]);
    });
    vitest.invalidateFile(path);
    record(mutant, by === undefined ? 'survived' : 'caught', by);
    if (by === undefined)
      console.log(`survived ${mutant.id} ${mutant.file}:${mutant.line} ${mutant.from} -> ${mutant.to}`);
  }
  await vitest.close();
  const count = (verdict: Verdict): number => mutants.filter(({ id }) => report[id]?.verdict === verdict).length;
  console.log(`${name}: ${count('caught')} of ${count('caught') + count('survived')} caught`);
}

/** Tests the named areas, by default all, with the mutants of the given ids, by default all. */
async function main(parameters: readonly string[]): Promise<void> {
  const ids = parameters.filter((one) => /^[0-9a-f]{10}$/.test(one));
  const unknown = parameters.filter((one) => !Object.hasOwn(areas, one) && !ids.includes(one));
  if (unknown.length > 0) {
    const known = Object.keys(areas).join(', ');
    console.error(
      `unknown parameters: ${unknown.join(', ')}; expected an area (${known}) or a mutant id (10 hexadecimal digits)`,
    );
    process.exit(2);
  }
  const named = Object.entries(areas).filter(([name]) => parameters.includes(name));
  const chosen = named.length > 0 ? named : Object.entries(areas);
  await chooseMutants(chosen.map(([, area]) => ({ all: listMutants(area), count: area.mutants })));
  for (const [name, area] of chosen) await testArea(name, area, ids);
}

await main(process.argv.slice(2));
// Vitest reports the failures that caught the mutants as its own.
process.exitCode = 0;
