import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { type CanFrame, compileDecoder } from '../packages/codec/can/decode.ts';
import { parseDbc } from '../packages/codec/can/parse-dbc.ts';
import { readOptions } from './parts/options.ts';
import { figure, printRounds } from './parts/report.ts';
import { median } from './parts/statistics.ts';

export const description = 'records a second that one core decodes, for each format';

const options = {
  seconds: { value: 1, help: 'length of a round' },
  rounds: { value: 5, help: 'rounds of each format' },
} as const;

interface Format {
  readonly name: string;
  /** Records a second on one core. */
  readonly goal: number;
  /** Prepares the input. @returns a function that decodes some of it and returns the number of records */
  prepare(): () => number;
}

const formats: readonly Format[] = [
  { name: 'CAN frames, J1939', goal: 300_000, prepare: () => decodeFrames('j1939', j1939Frame) },
  { name: 'CAN frames, OBD-II', goal: 300_000, prepare: () => decodeFrames('obd2', obd2Frame) },
];

const distinctFrames = 10_000;

function decodeFrames(name: string, frame: (index: number) => CanFrame): () => number {
  const dbc = readFileSync(new URL(`../packages/codec/can/data/${name}.dbc`, import.meta.url));
  const decode = compileDecoder(parseDbc(dbc).database);
  const frames = Array.from({ length: distinctFrames }, (_, index) => frame(index));
  return () => {
    let signals = 0;
    for (const one of frames) signals += decode(one).length;
    if (signals < frames.length) throw new Error(`only ${signals} signals in ${frames.length} frames`);
    return frames.length;
  };
}

/** The same bytes in every run, and other ones for every frame. */
function bytesOf(index: number): Uint8Array {
  return Uint8Array.from({ length: 8 }, (_, byte) => Math.imul(index + 1, 0x9e3779b1) >>> (byte * 3));
}

const parameterGroups = [61444, 61443, 65265, 65262, 65266, 65253, 65276, 65269, 65217, 65271];

function j1939Frame(index: number): CanFrame {
  const pgn = parameterGroups[index % parameterGroups.length] ?? 0;
  return { id: (6 << 26) | (pgn << 8) | (index % 250), isExtended: true, data: bytesOf(index) };
}

const parameters = [0x01, 0x04, 0x05, 0x0c, 0x0d, 0x10, 0x11, 0x2f, 0x42, 0x5e];

function obd2Frame(index: number): CanFrame {
  const data = bytesOf(index);
  data.set([6, 0x41, parameters[index % parameters.length] ?? 0]);
  return { id: 0x7e8 + (index % 8), isExtended: false, data };
}

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
  console.log(`machine   ${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node.js ${process.version}\n`);
  const decoders = formats.map((format) => ({ ...format, decode: format.prepare(), results: [] as number[] }));
  for (const { decode } of decoders) measure(decode, seconds / 2);
  for (let round = 0; round < rounds; round += 1) {
    for (const { decode, results } of decoders) results.push(measure(decode, seconds));
  }
  printRounds(Object.fromEntries(decoders.map(({ name, results }) => [name, results])), 'records/s a core');
  for (const { name, goal, results } of decoders) {
    console.log(`  ${name}: ${figure(median(results) / goal)} of the goal of ${figure(goal)} records/s`);
  }
}
