import { positionKeyPattern } from '@odograph/contracts/positions';
import type { CanDatum, RawCanFrame } from '@odograph/contracts/telemetry';
import { maximumReadingBytes } from '@odograph/contracts/telemetry';
import type { CanDatabase, DbcFault } from './database.ts';
import { compileDecoder, type DecodedSignal } from './decode.ts';
import { parseDbc } from './parse-dbc.ts';

/** Decodes the frames of a reading to values for `can`; unknown frames and signals beyond the end of a frame give none. */
export type FrameValues = (frames: readonly RawCanFrame[]) => CanDatum[];

/** As many as a device may give itself. */
const maximumValues = 1000;
/** Characters of keys and labels; the same bounds as for the `can` values of a device. */
const maximumKeyLength = 256;
const maximumLabelLength = 1024;

/** A DBC file that is ready to decode the frames of a vehicle model. */
export interface ModelDatabase {
  /** In the order of their lines; a database with faults is not meant to be used. */
  readonly faults: readonly DbcFault[];
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
  const keys = keysOf(database);
  const signals = database.messages.flatMap((message) => message.signals);
  const all = [...faults, ...lengthFaults(database, keys)];
  if (database.messages.length === 0 && all.length === 0) all.push({ line: 1, message: 'the file has no message' });
  const decode = compileDecoder(database);
  return {
    faults: all.sort((left, right) => left.line - right.line),
    messages: database.messages.length,
    signals: signals.length,
    positionKeys: [...keys.values()]
      .flatMap((ofMessage) => [...ofMessage.values()])
      .filter((key) => positionKey.test(key)),
    decode: (frames) =>
      valuesOf(
        frames.flatMap((frame) => decode(toFrame(frame))),
        keys,
      ),
  };
}

/** The key of each signal, by the names of its message and of itself. */
type Keys = ReadonlyMap<string, ReadonlyMap<string, string>>;

const positionKey = new RegExp(positionKeyPattern, 'i');

/**
 * Gives each signal a key of its own: its name, or MESSAGE.SIGNAL if an earlier message has a signal of that name. The
 * message is also named where its name tells that it has a position, so that the key tells it.
 */
function keysOf({ messages }: CanDatabase): Keys {
  const keys = new Map<string, Map<string, string>>();
  const taken = new Set<string>();
  for (const message of messages) {
    const ofMessage = keys.get(message.name) ?? new Map<string, string>();
    keys.set(message.name, ofMessage);
    const isPosition = positionKey.test(message.name);
    for (const { name } of message.signals) {
      if (ofMessage.has(name)) continue;
      const key = isPosition || taken.has(name) ? `${message.name}.${name}` : name;
      taken.add(name);
      ofMessage.set(name, key);
    }
  }
  return keys;
}

function lengthFaults({ messages }: CanDatabase, keys: Keys): DbcFault[] {
  return messages.flatMap((message) =>
    message.signals.flatMap(({ name, line, labels }) => {
      const key = keys.get(message.name)?.get(name) ?? name;
      if (key.length > maximumKeyLength)
        return [{ line, message: `the key ${key.slice(0, 40)}… has more than ${maximumKeyLength} characters` }];
      const isLong = [...labels.values()].some((label) => label.length > maximumLabelLength);
      return isLong
        ? [{ line, message: `a label of signal ${name} has more than ${maximumLabelLength} characters` }]
        : [];
    }),
  );
}

function toFrame({ id, data }: RawCanFrame) {
  return { id: Number.parseInt(id, 16), isExtended: id.length === 8, data: Buffer.from(data, 'hex') };
}

/** The last value of each key; labels in place of numbers. Signals that a J1939 device marks as without a value are left out. */
function valuesOf(decoded: readonly DecodedSignal[], keys: Keys): CanDatum[] {
  const values = new Map<string, string>();
  let characters = 0;
  for (const { message, signal, value, label, indicator } of decoded) {
    const key = keys.get(message)?.get(signal);
    if (indicator !== undefined || key === undefined) continue;
    const text = label ?? String(value);
    if (!values.has(key)) {
      characters += key.length + text.length;
      if (values.size === maximumValues || characters > maximumReadingBytes) break;
    }
    values.set(key, text);
  }
  return [...values].map(([key, value]) => ({ key, value }));
}
