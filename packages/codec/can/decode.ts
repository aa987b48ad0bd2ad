import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { positionKeyPattern } from '@odograph/contracts/positions';
import { type CanDatum, maximumReadingBytes, type RawCanFrame } from '@odograph/contracts/telemetry';
import { type CanDatabase, type CanMessage, type CanSignal, type DbcFault, pgnOf } from './database.ts';
import { digitsAt, scale, toNumber, toText } from './decimal.ts';
import { parseDbc } from './parse-dbc.ts';
import { type BitField, bitFieldOf, bytesNeeded, readBits } from './signal-bits.ts';

export interface CanFrame {
  id: number;
  isExtended: boolean;
  data: Uint8Array;
}

export interface DecodedSignal {
  message: string;
  signal: string;
  /**
   * The physical value. A number, unless a signal of more than 32 bits has a value that a double cannot hold: then its
   * exact decimal text. A float that is no finite number is `NaN`, `Infinity` or `-Infinity`.
   */
  value: number | string;
  /** Text of the raw value in the value table. */
  label?: string;
  unit?: string;
  /** Of J1939 signals: the device says that it has no value, or that the source of the value is faulty. */
  indicator?: 'notAvailable' | 'error';
}

export type Decoder = (frame: CanFrame) => DecodedSignal[];

type Raw = number | bigint;

interface CompiledSignal {
  readonly name: string;
  readonly unit: string;
  readonly bytesNeeded: number;
  readonly readRaw: (data: Uint8Array) => Raw;
  readonly toValue: (raw: Raw) => number | string;
  readonly labels: ReadonlyMap<Raw, string> | undefined;
  readonly indicators: { error: number; notAvailable: number } | undefined;
  /** Of a multiplexer. */
  readonly selected: Selected | undefined;
}

/** The signals that a multiplexer selects. */
interface Selected {
  readonly byValue: Map<number, CompiledSignal[]>;
  readonly byRange: { from: number; to: number; signals: CompiledSignal[] }[];
}

/** Compiles a decoder. It returns the signals of a frame, none for an unknown one, and never throws. */
export function compileDecoder(database: CanDatabase): Decoder {
  const find = compileMatcher(database, compileMessage);
  return (frame) => {
    const decode = find(frame);
    const decoded: DecodedSignal[] = [];
    decode?.(frame.data, decoded);
    return decoded;
  };
}

/**
 * Compiles the search of a frame's message: by its id, else by the parameter group number, which ignores priority, source
 * address and the destination address of the PDU1 format.
 */
export function compileMatcher<T>(
  { messages }: CanDatabase,
  compile: (message: CanMessage) => T,
): (frame: Pick<CanFrame, 'id' | 'isExtended'>) => T | undefined {
  const standard = new Map<number, T>();
  const extended = new Map<number, T>();
  const groups = new Map<number, T>();
  for (const message of messages) {
    const compiled = compile(message);
    (message.isExtended ? extended : standard).set(message.id, compiled);
    if (message.pgn !== undefined && !groups.has(message.pgn)) groups.set(message.pgn, compiled);
  }
  return ({ id, isExtended }) => (isExtended ? (extended.get(id) ?? groups.get(pgnOf(id))) : standard.get(id));
}

type DecodeMessage = (data: Uint8Array, decoded: DecodedSignal[]) => void;

function compileMessage(message: CanMessage): DecodeMessage {
  const children = new Map<CanSignal, CanSignal[]>();
  for (const signal of message.signals) {
    if (!signal.selection) continue;
    const siblings = children.get(signal.selection.multiplexer);
    if (siblings) siblings.push(signal);
    else children.set(signal.selection.multiplexer, [signal]);
  }
  const top = message.signals.filter(({ selection }) => !selection);
  const signals = top.map((signal) => compileSignal(signal, message, children));
  const { name } = message;
  return (data, decoded) => decodeSignals(name, signals, data, decoded);
}

function decodeSignals(
  message: string,
  signals: readonly CompiledSignal[],
  data: Uint8Array,
  decoded: DecodedSignal[],
): void {
  for (const signal of signals) {
    // The rest of a frame that is shorter than its message.
    if (data.length < signal.bytesNeeded) continue;
    const raw = signal.readRaw(data);
    const item: DecodedSignal = { message, signal: signal.name, value: signal.toValue(raw) };
    const label = signal.labels?.get(raw);
    if (label !== undefined) item.label = label;
    if (signal.unit !== '') item.unit = signal.unit;
    if (signal.indicators !== undefined && raw >= signal.indicators.error) {
      item.indicator = raw >= signal.indicators.notAvailable ? 'notAvailable' : 'error';
    }
    decoded.push(item);
    if (signal.selected !== undefined) decodeSelected(message, signal.selected, raw, data, decoded);
  }
}

function decodeSelected(
  message: string,
  { byValue, byRange }: Selected,
  raw: Raw,
  data: Uint8Array,
  decoded: DecodedSignal[],
): void {
  const signals = typeof raw === 'number' ? byValue.get(raw) : undefined;
  if (signals) decodeSignals(message, signals, data, decoded);
  for (const range of byRange) {
    if (raw >= range.from && raw <= range.to) decodeSignals(message, range.signals, data, decoded);
  }
}

function compileSignal(
  signal: CanSignal,
  message: CanMessage,
  children: ReadonlyMap<CanSignal, readonly CanSignal[]>,
): CompiledSignal {
  const { name, unit, labels } = signal;
  const selected = children.get(signal);
  return {
    ...{ name, unit, bytesNeeded: bytesNeeded(signal), readRaw: compileRaw(signal), toValue: compileValue(signal) },
    labels: labels.size > 0 ? labels : undefined,
    indicators: compileIndicators(signal, message),
    selected: selected && compileSelected(selected, message, children),
  };
}

function compileSelected(
  signals: readonly CanSignal[],
  message: CanMessage,
  children: ReadonlyMap<CanSignal, readonly CanSignal[]>,
): Selected {
  const selected: Selected = { byValue: new Map(), byRange: [] };
  for (const signal of signals) {
    const compiled = compileSignal(signal, message, children);
    for (const { from, to } of signal.selection?.ranges ?? []) {
      if (from !== to) selected.byRange.push({ from, to, signals: [compiled] });
      else if (selected.byValue.get(from)?.push(compiled) === undefined) selected.byValue.set(from, [compiled]);
    }
  }
  return selected;
}

function compileRaw(signal: CanSignal): (data: Uint8Array) => Raw {
  const { length, isSigned, type } = signal;
  const low = bitFieldOf(signal, 0, Math.min(length, 32));
  if (type === 'float') return (data) => float32(readBits(data, low));
  if (length <= 32) {
    if (!isSigned) return (data) => readBits(data, low);
    const unused = 32 - length;
    return (data) => (readBits(data, low) << unused) >> unused;
  }
  const high = bitFieldOf(signal, 32, length - 32);
  if (type === 'double') return (data) => float64(readBits(data, high), readBits(data, low));
  return (data) => joinBits(readHigh(data, high, isSigned), readBits(data, low));
}

function readHigh(data: Uint8Array, field: BitField, isSigned: boolean): number {
  const bits = readBits(data, field);
  const unused = 32 - field.bitCount;
  return isSigned ? (bits << unused) >> unused : bits;
}

function joinBits(high: number, low: number): Raw {
  const value = high * 2 ** 32 + low;
  return Number.isSafeInteger(value) ? value : BigInt(high) * 2n ** 32n + BigInt(low);
}

const view = new DataView(new ArrayBuffer(8));

function float32(bits: number): number {
  view.setUint32(0, bits);
  return view.getFloat32(0);
}

function float64(high: number, low: number): number {
  view.setUint32(0, high);
  view.setUint32(4, low);
  return view.getFloat64(0);
}

/** Compiles raw × factor + offset. */
function compileValue(signal: CanSignal): (raw: Raw) => number | string {
  const { length, factor, offset, type } = signal;
  const [multiplier, addend] = [toNumber(factor), toNumber(offset)];
  if (type !== 'integer') {
    const isScaled = multiplier !== 1 || addend !== 0;
    return (raw) => finite(isScaled ? Number(raw) * multiplier + addend : Number(raw));
  }
  // As a quotient of whole numbers, 3 × 0.1 is 0.3: a division is rounded once, a product with 0.1 twice.
  const places = Math.max(factor.places, offset.places);
  const digits = Number(digitsAt(factor, places));
  const sum = Number(digitsAt(offset, places));
  const divisor = 10 ** places;
  // A double represents every decimal number of 15 digits exactly, but not every one of 16.
  const bound = places > 0 && length > 32 ? 1e15 : 2 ** 53;
  const largest = Math.min(bound, (bound - Math.abs(sum)) / Math.abs(digits));
  const isExact = places <= 22 && Number.isSafeInteger(digits) && Number.isSafeInteger(sum);
  return (raw) => {
    if (isExact && typeof raw === 'number' && raw <= largest && raw >= -largest) return (raw * digits + sum) / divisor;
    return length <= 32 ? Number(raw) * multiplier + addend : exactValue(raw, signal);
  };
}

function exactValue(raw: Raw, { factor, offset }: CanSignal): number | string {
  const exact = toText(scale(BigInt(raw), factor, offset));
  const value = Number(exact);
  return String(value) === exact ? value : exact;
}

function finite(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

/** Reserved for diagnosis over ISO 15765-4: its messages hold no J1939 parameters. */
const diagnosticPgn = 0xda00;

/** The raw values of J1939 parameters that are no values (SAE J1939-71, tables of transmitted signal ranges). */
function compileIndicators({ length, isSigned, type }: CanSignal, { pgn }: CanMessage): CompiledSignal['indicators'] {
  if (pgn === undefined || pgn === diagnosticPgn || isSigned || type !== 'integer' || length === 1) return undefined;
  if (length >= 8) return { error: 0xfe * 2 ** (length - 8), notAvailable: 0xff * 2 ** (length - 8) };
  const largest = 2 ** length - 1;
  return { error: length === 2 || length === 4 ? largest - 1 : largest, notAvailable: largest };
}

/** The DBC files that ship with Odograph. */
export const shippedDatabases = ['obd2', 'j1939'] as const;

/** Reads a DBC file that ships with Odograph. */
export function readShipped(name: (typeof shippedDatabases)[number]): Promise<Buffer> {
  return readFile(fileURLToPath(new URL(`data/${name}.dbc`, import.meta.url)));
}

/** Decodes the frames of a reading to values for `can`; unknown frames and signals beyond the end of a frame give none. */
export type FrameValues = (frames: readonly RawCanFrame[]) => CanDatum[];

/** As many as a device may give itself. */
const maxValues = 1000;
/** Characters of keys and labels; the same bounds as for the `can` values of a device. */
const maxKeyLength = 256;
const maxLabelLength = 1024;

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
  /** By the key of the value; values without a unit are omitted. */
  readonly units: ReadonlyMap<string, string>;
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
    units: new Map(signals.flatMap(({ name, unit }) => (unit === '' ? [] : [[name, unit] as const]))),
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
  if (name.length > maxKeyLength) {
    return [{ line, message: `the key ${name.slice(0, 40)}… has more than ${maxKeyLength} characters` }];
  }
  const isLong = [...labels.values()].some((label) => label.length > maxLabelLength);
  return isLong ? [{ line, message: `a label of signal ${name} has more than ${maxLabelLength} characters` }] : [];
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
        if (values.size === maxValues || characters > maximumReadingBytes) continue;
      }
      values.set(signal, text);
    }
  }
  return Array.from(values, ([key, value]) => ({ key, value }));
}
