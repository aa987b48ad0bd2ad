import { cpus, totalmem } from 'node:os';
import type { Engines } from './engines.ts';
import { median } from './statistics.ts';

/** Formats a number with a precision that fits its size. */
export function figure(value: number): string {
  if (Number.isNaN(value)) return '-';
  const digits = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits, minimumFractionDigits: digits });
}

/** Prints a table; the first column is aligned left, the others right. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    console.log(`  ${cells.join('   ')}`);
  }
}

/** Prints the rounds of each series with minimum, median and maximum. */
export function printRounds(series: Readonly<Record<string, readonly number[]>>, unit: string): void {
  const rounds = Math.max(...Object.values(series).map((values) => values.length));
  const numbers = Array.from({ length: rounds }, (_, round) => `round ${round + 1}`);
  printTable([
    [unit, ...numbers, 'min', 'median', 'max'],
    ...Object.entries(series).map(([name, values]) => [
      name,
      ...numbers.map((_number, round) => figure(values[round] ?? Number.NaN)),
      figure(Math.min(...values)),
      figure(median(values)),
      figure(Math.max(...values)),
    ]),
  ]);
}

/** Prints the ratio of two medians and the goal. */
export function printRatio(
  name: string,
  values: readonly number[],
  [reference, references]: readonly [name: string, values: readonly number[]],
  goal = '',
): void {
  const ratio = median(values) / median(references);
  console.log(`  ${name} over ${reference}: ${figure(ratio)}${goal === '' ? '' : ` (goal: ${goal})`}`);
}

/** Prints the machine and the engines, which every figure depends on. */
export function printMachine({ database, redis }: Pick<Engines, 'database' | 'redis'>): void {
  const processors = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  console.log(
    `machine   ${processors.length} cores (${processors[0]?.model ?? 'unknown'}), ${memory} GiB, Node.js ${process.version}`,
  );
  console.log(`database  ${database}`);
  console.log(`redis     ${redis}\n`);
}
