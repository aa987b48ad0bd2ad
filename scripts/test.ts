import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CliOptions, parseCLI, startVitest, type TestModule } from 'vitest/node';
import { runChecks } from './checks.ts';
import { root } from './run-command.ts';

interface TestRun {
  passed: number;
  skipped: number;
  /** Full names, each with its file; a file that does not load counts as one test. */
  failed: string[];
  failedFiles: string[];
  /** Rejections and exceptions outside tests. */
  unhandledErrors: number;
}

/** Above this number of failed files, load is an unlikely cause. */
const maxRepeatedFiles = 3;

/** Names the unstable tests of the last run, one a line; empty when there are none. */
const unstableTestsFile = join(root, 'unstable-tests.txt');

function nameFailures(module: TestModule): string[] {
  const failed = [...module.children.allTests('failed')].map(
    ({ fullName }) => `${module.relativeModuleId} > ${fullName}`,
  );
  return failed.length > 0 || module.ok() ? failed : [module.relativeModuleId];
}

async function runTests(filters: string[], options: CliOptions): Promise<TestRun> {
  const vitest = await startVitest('test', filters, { ...options, watch: false });
  const modules = vitest.state.getTestModules();
  const count = (state: 'passed' | 'skipped'): number =>
    modules.reduce((sum, { children }) => sum + [...children.allTests(state)].length, 0);
  const run: TestRun = {
    passed: count('passed'),
    skipped: count('skipped'),
    failed: modules.flatMap(nameFailures),
    failedFiles: modules.filter((module) => !module.ok()).map(({ relativeModuleId }) => relativeModuleId),
    unhandledErrors: vitest.state.getUnhandledErrors().length,
  };
  await vitest.close();
  return run;
}

/**
 * Runs a few failed files again, one at a time. A test that passes now is unstable: it is counted and named, so that its race
 * is found. An unhandled error always fails the run: its test may have passed.
 */
async function repeatFailed(first: TestRun): Promise<TestRun & { unstable: string[] }> {
  const { failedFiles } = first;
  if (failedFiles.length === 0 || failedFiles.length > maxRepeatedFiles) return { ...first, unstable: [] };
  console.log(`\nfailed; running again, one at a time: ${failedFiles.join(', ')}\n`);
  const second = await runTests(failedFiles, { fileParallelism: false });
  const unstable = first.failed.filter((test) => !second.failed.includes(test));
  return {
    ...second,
    passed: first.passed + unstable.length,
    skipped: first.skipped,
    unhandledErrors: first.unhandledErrors + second.unhandledErrors,
    unstable,
  };
}

/**
 * Runs the type check, the linters and the tests: `npm test -- [file name filter …] [Vitest options]`. The last line
 * reports the counts; each check and each unhandled error counts as one.
 */
async function main(): Promise<void> {
  const { filter, options } = parseCLI(['vitest', ...process.argv.slice(2)]);
  const failedChecks = await runChecks();
  const { passed, failed, skipped, unhandledErrors, unstable } = await repeatFailed(await runTests(filter, options));
  writeFileSync(unstableTestsFile, unstable.map((test) => `${test}\n`).join(''));
  for (const test of unstable) console.log(`UNSTABLE, passed only when run again: ${test}`);
  for (const check of failedChecks) console.log(`check failed: ${check}`);
  if (unhandledErrors > 0) console.log(`unhandled errors: ${unhandledErrors}`);
  const failures = failed.length + unhandledErrors + failedChecks.length;
  const rest = skipped > 0 ? `, ${skipped} skipped` : '';
  console.log(`unstable: ${unstable.length}\n${passed} passed, ${failures} failed${rest}`);
  // A process that a failed test left behind would keep this one waiting.
  process.exit(failures > 0 || passed === 0 ? 1 : 0);
}

await main();
