import type { CanDatabase, CanMessage, CanSignal } from '../../packages/codec/can/database.ts';
import { scale, toNumber, toText } from '../../packages/codec/can/decimal.ts';
import { compileDecoder, compileMatcher, type DecodedSignal } from '../../packages/codec/can/decode.ts';
import { parseDbc } from '../../packages/codec/can/parse-dbc.ts';

/** The result of cantools for a file: one line of reference.py. */
export interface ReferenceFile {
  readonly file: string;
  /** Of the file, without what cantools refuses. */
  readonly text: string;
  readonly removed: readonly { line: number; reason: string }[];
  readonly messages: readonly ReferenceMessage[];
}

interface ReferenceMessage {
  readonly name: string;
  readonly id: number;
  readonly isExtended: boolean;
  readonly units: Readonly<Record<string, string | null>>;
  readonly frames: readonly ReferenceFrame[];
}

interface ReferenceFrame {
  readonly data: string;
  /** False: each signal was decoded alone, because cantools does not decode the whole message. */
  readonly isWhole: boolean;
  /** Null for a signal that cantools does not decode. */
  readonly signals: Readonly<Record<string, ReferenceSignal | null>>;
}

/** Raw value and physical value as Python writes them, and the label. */
type ReferenceSignal = readonly [raw: string, value: string, label: string | null];

export interface Comparison {
  messages: number;
  signals: number;
  frames: number;
  /** Frames of messages of which signals overlap or do not fit: their signals were decoded one by one. */
  framesBySignal: number;
  /** Signals of all frames. */
  values: number;
  /** Values with the digits of cantools. */
  identical: number;
  /** Values that differ in the last digit, because cantools multiplies and adds with rounding each. */
  rounded: number;
  /** Messages and signals that differ, with how often. */
  differences: Map<string, number>;
}

/** Compares a file: the same messages, and the same signals, values, labels and units in every frame. */
export function compareFile({ text, messages }: ReferenceFile): Comparison {
  const { database, faults } = parseDbc(text);
  const result: Comparison = {
    ...{ messages: 0, signals: 0, frames: 0, framesBySignal: 0, values: 0, identical: 0, rounded: 0 },
    differences: new Map(),
  };
  const find = compileMatcher(database, (message) => message);
  const decode = compileDecoder(database);
  const reasons = new Map(faults.map(({ line, message }) => [line, message]));
  const faultOf = (pattern: RegExp) => reasons.get(text.split('\n').findIndex((line) => pattern.test(line)) + 1);
  for (const reference of messages) {
    const { id, isExtended } = reference;
    const message = find(reference);
    if (!message || message.id !== id) {
      const fault = faultOf(new RegExp(`^\\s*BO_ \\d+ ${reference.name}\\s*:`));
      count(result, `message ${reference.name}: ${fault ?? 'missing'}`);
      continue;
    }
    result.messages += 1;
    result.signals += message.signals.length;
    compareDescription(result, message, reference);
    for (const frame of reference.frames) {
      const decoded = decode({ id, isExtended, data: Buffer.from(frame.data, 'hex') });
      compareFrame(result, { message, decoded, frame, faults: messageFaults(database, message, faults) });
    }
  }
  return result;
}

/** Faults of the lines from a message to the next one. */
function messageFaults(
  { messages }: CanDatabase,
  message: CanMessage,
  faults: readonly { line: number; message: string }[],
) {
  const next = messages[messages.indexOf(message) + 1]?.line ?? Number.POSITIVE_INFINITY;
  return faults.filter(({ line }) => line >= message.line && line < next).map((fault) => fault.message);
}

function count({ differences }: Comparison, what: string): void {
  differences.set(what, (differences.get(what) ?? 0) + 1);
}

function compareDescription(result: Comparison, message: CanMessage, reference: ReferenceMessage): void {
  const { name } = reference;
  if (message.name !== name) count(result, `message ${name}: named ${message.name}`);
  for (const signal of message.signals) {
    const unit = reference.units[signal.name] ?? '';
    if (signal.unit !== unit) count(result, `signal ${name}.${signal.name}: unit ${signal.unit} instead of ${unit}`);
  }
}

interface Compared {
  message: CanMessage;
  decoded: readonly DecodedSignal[];
  frame: ReferenceFrame;
  faults: readonly string[];
}

function compareFrame(result: Comparison, { message, decoded, frame, faults }: Compared): void {
  const { signals, isWhole } = frame;
  if (isWhole) result.frames += 1;
  else result.framesBySignal += 1;
  const ours = new Map(decoded.map((one) => [one.signal, one]));
  const definitions = new Map(message.signals.map((signal) => [signal.name, signal]));
  for (const [name, reference] of Object.entries(signals)) {
    const signal = definitions.get(name);
    const one = ours.get(name);
    const reason = faults.find((fault) => fault.includes(` ${name} `));
    if (!reference && !one) continue;
    if (!signal || !one || !reference) count(result, `signal ${message.name}.${name}: ${reason ?? 'not decoded'}`);
    else compareSignal(result, { message, signal, one, reference });
  }
  for (const name of ours.keys()) {
    if (!(name in signals) && isWhole) count(result, `signal ${message.name}.${name}: not decoded by cantools`);
  }
}

function compareSignal(
  result: Comparison,
  {
    message,
    signal,
    one,
    reference: [raw, value, label],
  }: { message: CanMessage; signal: CanSignal; one: DecodedSignal; reference: ReferenceSignal },
): void {
  const name = `${message.name}.${signal.name}`;
  result.values += 1;
  if ((one.label ?? null) !== label) count(result, `signal ${name}: label ${one.label} instead of ${label}`);
  if (asText(one.value) === asText(fromPython(value))) result.identical += 1;
  else if (isRounded(signal, one.value, { raw, value })) result.rounded += 1;
  else count(result, `signal ${name}: ${one.value} instead of ${value} (raw value ${raw})`);
}

/** Python writes `inf` and `nan`, and whole numbers of any size. */
function fromPython(text: string): number | string {
  if (text === 'nan') return 'NaN';
  if (text === 'inf' || text === '-inf') return text.replace('inf', 'Infinity');
  return /^-?\d{16,}$/.test(text) ? text : Number(text);
}

function asText(value: number | string): string {
  return typeof value === 'number' ? String(value + 0) : value;
}

/** True for a value that is at least as near to the exact one as cantools' value, or within two roundings of it. */
function isRounded(
  { factor, offset, type }: CanSignal,
  ours: number | string,
  { raw, value }: { raw: string; value: string },
): boolean {
  const magnitude = Math.abs(Number(raw) * toNumber(factor)) + Math.abs(toNumber(offset));
  if (Math.abs(Number(ours) - Number(value)) > magnitude * 2 ** -51) return false;
  if (type !== 'integer' || typeof ours === 'number') return true;
  return toText(scale(BigInt(raw), factor, offset)) === ours;
}
