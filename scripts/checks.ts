import { runInstalled } from './run-command.ts';

const checks: readonly [name: string, program: string, ...parameters: string[]][] = [
  ['types', 'tsc'],
  ['types of the console', 'tsc', '--project', 'apps/console'],
  ['format and lint', 'biome', 'ci', '--error-on-warnings', '.'],
  ['promises, cycles and sizes', 'oxlint', '--type-aware'],
  ['unused files, exports and dependencies', 'knip'],
];

/** Runs the type check and every linter, also when one fails. @returns the names of those that failed */
export function runChecks(): string[] {
  return checks.filter(([, program, ...parameters]) => !runInstalled(program, ...parameters)).map(([name]) => name);
}
