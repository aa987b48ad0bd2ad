import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { runChecks } from './checks.ts';
import { root, runInstalled } from './run-command.ts';

interface Summary {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    name: string;
    status: 'passed' | 'failed';
    assertionResults: { status: string; fullName: string }[];
  }[];
}

interface TestRun {
  passed: number;
  failed: number;
  skipped: number;
  failedFiles: string[];
  failedTests: string[];
}

/** With more failed files than this, the fault is hardly that they ran at the same time. */
const mostRepeatedFiles = 3;

function readSummary(file: string): Summary | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Summary;
  } catch {
    return undefined;
  }
}

function runTests(options: readonly string[]): TestRun {
  const directory = mkdtempSync(join(tmpdir(), 'odograph-summary-'));
  const file = join(directory, 'summary.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${file}`];
  const ended = runInstalled('vitest', 'run', ...reporters, ...options);
  const summary = readSummary(file);
  rmSync(directory, { recursive: true });
  const failedFiles = summary?.testResults.filter(({ status }) => status === 'failed') ?? [];
  return {
    passed: summary?.numPassedTests ?? 0,
    // A file that does not load fails without a failed test.
    failed: summary ? Math.max(summary.numFailedTests, ended ? 0 : 1) : 1,
    skipped: (summary?.numPendingTests ?? 0) + (summary?.numTodoTests ?? 0),
    failedFiles: failedFiles.map(({ name }) => relative(root, name)),
    failedTests: failedFiles.flatMap(({ assertionResults }) =>
      assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
    ),
  };
}

/**
 * Runs a few failed files again, one at a time. A test that passes now is unstable on a busy machine: it is named, so that
 * somebody mends it, and holds up nothing else.
 */
function repeatFailed(first: TestRun): TestRun {
  const { failedFiles } = first;
  if (failedFiles.length === 0 || failedFiles.length > mostRepeatedFiles) return first;
  console.log(`\nfailed; running again, one at a time: ${failedFiles.join(', ')}\n`);
  const second = runTests(['--no-file-parallelism', ...failedFiles]);
  for (const name of first.failedTests.filter((test) => !second.failedTests.includes(test))) {
    console.log(`UNSTABLE, passed only when run again: ${name}`);
  }
  const recovered = Math.max(0, first.failed - second.failed);
  return { ...second, passed: first.passed + recovered, skipped: first.skipped };
}

/** Runs the type check, the linters and every test; the last line counts them, each check as one. */
function main(filters: readonly string[]): void {
  const failedChecks = runChecks();
  const { passed, failed: failedTests, skipped } = repeatFailed(runTests(filters));
  const failed = failedTests + failedChecks.length;
  for (const check of failedChecks) console.log(`check failed: ${check}`);
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 ? 1 : 0;
}

main(process.argv.slice(2));
