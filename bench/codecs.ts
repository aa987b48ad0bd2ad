import { benchedFormats } from './parts/codec-formats.ts';
import { readOptions } from './parts/options.ts';
import { describeMachine, figure, printRounds } from './parts/report.ts';
import { median } from './parts/statistics.ts';

export const description = 'records a second that one core decodes, for each format';

const options = {
  seconds: { value: 1, help: 'length of a round' },
  rounds: { value: 5, help: 'rounds of each format' },
} as const;

/** Decodes for a time. @returns records a second of CPU, whatever else the machine does */
function measure(decode: () => number, seconds: number): number {
  const start = process.cpuUsage();
  const end = performance.now() + seconds * 1000;
  let records = 0;
  while (performance.now() < end) records += decode();
  const { user, system } = process.cpuUsage(start);
  return (records / (user + system)) * 1e6;
}

export async function run(given: readonly string[]): Promise<void> {
  const { seconds, rounds } = readOptions(given, options);
  console.log(`machine   ${describeMachine()}\n`);
  const decoders = benchedFormats.map((format) => ({ ...format, decode: format.prepare(), results: [] as number[] }));
  for (const { decode } of decoders) measure(decode, seconds / 2);
  for (let round = 0; round < rounds; round += 1) {
    for (const { decode, results } of decoders) results.push(measure(decode, seconds));
  }
  printRounds(Object.fromEntries(decoders.map(({ name, results }) => [name, results])), 'records/s a core');
  for (const { name, goal, results } of decoders) {
    if (goal === undefined) continue;
    console.log(`  ${name}: ${figure(median(results) / goal)} of the goal of ${figure(goal)} records/s`);
  }
}
