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
  keepCells(rows);
  printRows(rows);
}

function printRows(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    console.log(`  ${cells.join('   ')}`);
  }
}

/** A figure of a benchmark. */
export interface Row {
  readonly what: string;
  readonly unit: string;
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

let printed: Row[] = [];
let section = '';

/** Returns the figures that were printed since the last call, for `npm run bench -- all`. */
export function takePrinted(): Row[] {
  const rows = printed;
  printed = [];
  section = '';
  return rows;
}

/** Prints a title, which the figures below it bear. */
export function printSection(title: string, details: string): void {
  section = title;
  console.log(`\n${title}: ${details}`);
}

function keep(name: string, unit: string, values: readonly number[]): void {
  if (values.length === 0 || values.some(Number.isNaN)) return;
  const what = section === '' ? name : `${section}: ${name}`;
  printed.push({ what, unit, median: median(values), min: Math.min(...values), max: Math.max(...values) });
}

const numberOf = (cell: string): number => Number(cell.replaceAll(',', '').trim() || Number.NaN);

/** Keeps the numbers of a table whose first row names its columns. */
function keepCells([header = [], ...rows]: readonly (readonly string[])[]): void {
  for (const [name = '', ...cells] of rows)
    for (const [column, cell] of cells.entries()) keep(name, header[column + 1] ?? '', [numberOf(cell)]);
}

/** Prints the rounds of each series with minimum, median and maximum. */
export function printRounds(series: Readonly<Record<string, readonly number[]>>, unit: string): void {
  for (const [name, values] of Object.entries(series)) keep(name, unit, values);
  const rounds = Math.max(...Object.values(series).map((values) => values.length));
  const numbers = Array.from({ length: rounds }, (_, round) => `round ${round + 1}`);
  printRows([
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
  keep(`${name} over ${reference}`, 'ratio', [ratio]);
  console.log(`  ${name} over ${reference}: ${figure(ratio)}${goal === '' ? '' : ` (goal: ${goal})`}`);
}

/** Names the machine, such as `2 cores (AMD EPYC), 24 GiB, Node.js v20.20.2`. */
export function describeMachine(): string {
  const processors = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${processors.length} cores (${processors[0]?.model ?? 'unknown'}), ${memory} GiB, Node.js ${process.version}`;
}

/** Prints the machine and the engines, which every figure depends on. */
export function printMachine({ database, redis }: Pick<Engines, 'database' | 'redis'>): void {
  console.log(`machine   ${describeMachine()}`);
  console.log(`database  ${database}`);
  console.log(`redis     ${redis}\n`);
}
