import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runChecks } from './checks.ts';
import { runInstalled } from './run-command.ts';

interface Summary {
  numPassedTests: number;
  numFailedTests: number;
  numFailedTestSuites: number;
  numPendingTests: number;
  numTodoTests: number;
}

function readSummary(file: string): Summary | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Summary;
  } catch {
    return undefined;
  }
}

/** Runs the type check, the linters and every test; the last line counts them, each check as one. */
function main(filters: readonly string[]): void {
  const failedChecks = runChecks();
  const directory = mkdtempSync(join(tmpdir(), 'odograph-summary-'));
  const file = join(directory, 'summary.json');
  const ended = runInstalled(
    'vitest',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile=${file}`,
    ...filters,
  );
  const summary = readSummary(file);
  rmSync(directory, { recursive: true });
  const passed = summary?.numPassedTests ?? 0;
  // A file that does not load fails without a failed test.
  const failedTests = summary ? Math.max(summary.numFailedTests, ended ? 0 : 1) : 1;
  const skipped = (summary?.numPendingTests ?? 0) + (summary?.numTodoTests ?? 0);
  const failed = failedTests + failedChecks.length;
  for (const check of failedChecks) console.log(`check failed: ${check}`);
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 ? 1 : 0;
}

main(process.argv.slice(2));
