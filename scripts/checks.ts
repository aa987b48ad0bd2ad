import { buildInterface } from './build/interface.ts';
import { runInstalled } from './run-command.ts';

const checks: readonly [name: string, program: string, ...parameters: string[]][] = [
  ['format and lint', 'biome', 'ci', '--error-on-warnings', '.'],
  ['types, promises, cycles and sizes', 'oxlint', '--type-aware', '--type-check'],
  ['unused files, exports and dependencies', 'knip'],
];

/**
 * Generates the types of the interface, then runs the type check and every linter, also when one fails.
 * @returns the names of those that failed
 */
export async function runChecks(): Promise<string[]> {
  await buildInterface();
  return checks.filter(([, program, ...parameters]) => !runInstalled(program, ...parameters)).map(([name]) => name);
}
