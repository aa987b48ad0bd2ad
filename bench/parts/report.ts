import { cpus, totalmem } from 'node:os';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

/** Results of the rounds of each contender, by name. */
export type Series = Readonly<Record<string, readonly number[]>>;

/** Takes one figure of each result. */
export function seriesOf<Result>(
  results: Readonly<Record<string, readonly Result[]>>,
  value: (result: Result) => number,
): Record<string, number[]> {
  return Object.fromEntries(Object.entries(results).map(([name, rounds]) => [name, rounds.map(value)]));
}

/** Computes the median. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
}

const maxMs = 60_000;

/** A histogram of times in milliseconds with three significant digits. */
export class TimeHistogram {
  readonly #microseconds: RecordableHistogram = createHistogram({ highest: maxMs * 1000, figures: 3 });

  record(ms: number): void {
    this.#microseconds.record(Math.min(maxMs * 1000, Math.max(1, Math.round(ms * 1000))));
  }

  /** Returns a quantile (0 to 1) in ms; NaN when empty. */
  quantile(share: number): number {
    const { count } = this.#microseconds;
    return count === 0 ? Number.NaN : this.#microseconds.percentile(share * 100) / 1000;
  }
}

/** Formats a number with a precision that fits its size. */
export function figure(value: number): string {
  if (Number.isNaN(value)) return '-';
  const digits = Math.abs(value) >= 1000 ? 0 : Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits, minimumFractionDigits: digits });
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

function keep(name: string, unit: string, values: readonly number[]): void {
  if (values.length === 0 || values.some(Number.isNaN)) return;
  const what = section === '' ? name : `${section}: ${name}`;
  printed.push({ what, unit, median: median(values), min: Math.min(...values), max: Math.max(...values) });
}

/** Prints a title, which the figures below it bear. */
export function printSection(title: string, details: string): void {
  section = title;
  console.log(`\n${title}: ${details}`);
}

/** Prints rows with the first column aligned left, the others right. */
function printCells(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_cell, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  for (const [first = '', ...others] of rows) {
    const cells = others.map((cell, index) => cell.padStart(widths[index + 1] ?? 0));
    console.log(`  ${[first.padEnd(widths[0] ?? 0), ...cells].join('   ')}`);
  }
}

/** Prints a table of figures; its first row names the columns. */
export function printTable(
  header: readonly string[],
  rows: readonly (readonly [string, ...(number | string)[]])[],
): void {
  for (const [name, ...cells] of rows) {
    for (const [column, cell] of cells.entries()) {
      if (typeof cell === 'number') keep(name, header[column + 1] ?? '', [cell]);
    }
  }
  printCells([header, ...rows.map((row) => row.map((cell) => (typeof cell === 'number' ? figure(cell) : cell)))]);
}

/** Prints the rounds of each series with minimum, median and maximum. */
export function printRounds(series: Series, unit: string): void {
  for (const [name, values] of Object.entries(series)) keep(name, unit, values);
  const rounds = Math.max(...Object.values(series).map((values) => values.length));
  printCells([
    [unit, ...Array.from({ length: rounds }, (_, round) => `round ${round + 1}`), 'min', 'median', 'max'],
    ...Object.entries(series).map(([name, values]) => [
      name,
      ...[...values, Math.min(...values), median(values), Math.max(...values)].map(figure),
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

let engines = '';

/** The engines of the last benchmark. */
export const describeEngines = (): string => engines;

/** Prints the machine and the engines, which every figure depends on. */
export function printMachine({ database, redis }: { readonly database: string; readonly redis: string }): void {
  engines = `database ${database}; Redis ${redis}`;
  console.log(`machine   ${describeMachine()}\ndatabase  ${database}\nredis     ${redis}\n`);
}
