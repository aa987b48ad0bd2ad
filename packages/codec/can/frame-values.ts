import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { positionKeyPattern } from '@odograph/contracts/positions';
import { type CanDatum, maximumReadingBytes, type RawCanFrame } from '@odograph/contracts/telemetry';
import type { CanDatabase, CanSignal, DbcFault } from './database.ts';
import { compileDecoder, type Decoder } from './decode.ts';
import { parseDbc } from './parse-dbc.ts';

/** The DBC files that ship with Odograph. */
export const shippedDatabases = ['obd2', 'j1939'] as const;

/** Reads a DBC file that ships with Odograph. */
export function readShipped(name: (typeof shippedDatabases)[number]): Promise<Buffer> {
  return readFile(fileURLToPath(new URL(`data/${name}.dbc`, import.meta.url)));
}

/** Decodes the frames of a reading to values for `can`; unknown frames and signals beyond the end of a frame give none. */
export type FrameValues = (frames: readonly RawCanFrame[]) => CanDatum[];

/** As many as a device may give itself. */
const maximumValues = 1000;
/** Characters of keys and labels; the same bounds as for the `can` values of a device. */
const maximumKeyLength = 256;
const maximumLabelLength = 1024;

/** A DBC file that is ready to decode the frames of a vehicle model. */
export interface ModelDatabase {
  /** In line order. Faulty statements and signals are left out. */
  readonly faults: readonly DbcFault[];
  /** Whether it has a message, and no fault that makes the rest of it unusable. */
  readonly isUsable: boolean;
  readonly messages: number;
  readonly signals: number;
  /** Keys of values that are removed with private positions. */
  readonly positionKeys: readonly string[];
  readonly decode: FrameValues;
}

/**
 * Compiles the DBC file of a vehicle model. A file without a message, and names and labels that are too long for `can`, are
 * faults too.
 */
export function compileModelDatabase(text: string): ModelDatabase {
  const { database, faults } = parseDbc(text);
  nameSignalsByKey(database);
  const all = [...faults];
  for (const message of database.messages) {
    all.push(...message.signals.flatMap(lengthFaults));
    message.signals = message.signals.filter((signal) => lengthFaults(signal).length === 0);
  }
  const signals = database.messages.flatMap((message) => message.signals);
  if (database.messages.length === 0 && all.length === 0) all.push({ line: 1, message: 'the file has no message' });
  const decode = compileDecoder(database);
  return {
    faults: all.sort((left, right) => left.line - right.line),
    isUsable: database.messages.length > 0 && !all.some(({ isFatal }) => isFatal),
    messages: database.messages.length,
    signals: signals.length,
    positionKeys: [...new Set(signals.map(({ name }) => name).filter((name) => positionKey.test(name)))],
    decode: (frames) => valuesOf(frames, decode),
  };
}

const positionKey = new RegExp(positionKeyPattern, 'i');

/**
 * Gives each signal a name that can be the key of its value: its own, or MESSAGE.SIGNAL if an earlier message has a signal of
 * that name. The message is also named where its name tells that it has a position, so that the key tells it.
 */
function nameSignalsByKey({ messages }: CanDatabase): void {
  const taken = new Set<string>();
  for (const message of messages) {
    const isPosition = positionKey.test(message.name);
    const names = message.signals.map(({ name }) => name);
    for (const signal of message.signals) {
      if (isPosition || taken.has(signal.name)) signal.name = `${message.name}.${signal.name}`;
    }
    for (const name of names) taken.add(name);
  }
}

function lengthFaults({ name, line, labels }: CanSignal): DbcFault[] {
  if (name.length > maximumKeyLength) {
    return [{ line, message: `the key ${name.slice(0, 40)}… has more than ${maximumKeyLength} characters` }];
  }
  const isLong = [...labels.values()].some((label) => label.length > maximumLabelLength);
  return isLong ? [{ line, message: `a label of signal ${name} has more than ${maximumLabelLength} characters` }] : [];
}

/** The last value of each key; labels in place of numbers. Signals that a J1939 device marks as without a value are left out. */
function valuesOf(frames: readonly RawCanFrame[], decode: Decoder): CanDatum[] {
  const values = new Map<string, string>();
  let characters = 0;
  for (const { id, data } of frames) {
    const frame = { id: Number.parseInt(id, 16), isExtended: id.length === 8, data: Buffer.from(data, 'hex') };
    for (const { signal, value, label, indicator } of decode(frame)) {
      if (indicator !== undefined) continue;
      const text = label ?? String(value);
      if (!values.has(signal)) {
        characters += signal.length + text.length;
        if (values.size === maximumValues || characters > maximumReadingBytes) continue;
      }
      values.set(signal, text);
    }
  }
  return toData(values);
}

function toData(values: ReadonlyMap<string, string>): CanDatum[] {
  return Array.from(values, ([key, value]) => ({ key, value }));
}
