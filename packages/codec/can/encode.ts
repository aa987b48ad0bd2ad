import type { CanMessage, CanSignal } from './database.ts';
import { parseDecimal, toNumber, unscale } from './decimal.ts';
import { writeBits } from './signal-bits.ts';

/**
 * Encodes a message from physical values by the names of its signals; texts give exact decimal numbers. Bits of signals
 * without a value are 0.
 * @throws RangeError for an unknown signal, and for a value that its bits cannot hold
 */
export function encodeMessage(
  { name: message, length, signals }: CanMessage,
  values: ReadonlyMap<string, number | string>,
): Uint8Array {
  const data = new Uint8Array(length);
  const byName = new Map(signals.map((signal) => [signal.name, signal]));
  for (const [name, value] of values) {
    const signal = byName.get(name);
    if (!signal) throw new RangeError(`message ${message} has no signal ${name}`);
    writeBits(data, signal, rawOf(signal, value));
  }
  return data;
}

function rawOf(signal: CanSignal, value: number | string): bigint {
  const { name, length, isSigned, type, factor, offset } = signal;
  if (type !== 'integer') return floatBits(signal, Number(value));
  const decimal = parseDecimal(String(value));
  if (!decimal) throw new RangeError(`the value of signal ${name} must be a decimal number of at most 60 digits`);
  const raw = unscale(decimal, factor, offset);
  const isHeld = isSigned ? BigInt.asIntN(length, raw) === raw : BigInt.asUintN(length, raw) === raw;
  if (!isHeld) throw new RangeError(`${value} is beyond the ${length} bits of signal ${name}`);
  return raw;
}

function floatBits({ type, factor, offset }: CanSignal, value: number): bigint {
  const view = new DataView(new ArrayBuffer(8));
  const isScaled = factor.digits !== 1n || factor.places !== 0 || offset.digits !== 0n;
  const raw = isScaled ? (value - toNumber(offset)) / toNumber(factor) : value;
  if (type === 'double') {
    view.setFloat64(0, raw);
    return view.getBigUint64(0);
  }
  view.setFloat32(0, raw);
  return BigInt(view.getUint32(0));
}
