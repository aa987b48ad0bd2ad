import type { CanMessage, CanSignal } from './database.ts';
import { type Decimal, digitsAt, parseDecimal, toNumber } from './decimal.ts';
import { firstSentBit } from './signal-bits.ts';

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

/** Returns the whole number nearest to (value - offset) / factor; halves are rounded away from zero. */
function unscale(value: Decimal, factor: Decimal, offset: Decimal): bigint {
  const places = Math.max(value.places, factor.places, offset.places);
  const numerator = digitsAt(value, places) - digitsAt(offset, places);
  const denominator = digitsAt(factor, places);
  const isNegative = numerator < 0n !== denominator < 0n;
  const [dividend, divisor] = [numerator < 0n ? -numerator : numerator, denominator < 0n ? -denominator : denominator];
  const quotient = (2n * dividend + divisor) / (2n * divisor);
  return isNegative ? -quotient : quotient;
}

/** Writes the bits of a raw value, one after the other; those beyond the length of the signal are ignored. */
function writeBits(data: Uint8Array, { startBit, length, isBigEndian }: CanSignal, raw: bigint): void {
  for (let bit = 0; bit < length; bit += 1) {
    const sent = isBigEndian ? firstSentBit(startBit) + length - 1 - bit : startBit + bit;
    const mask = 1 << (isBigEndian ? 7 - (sent & 7) : sent & 7);
    const byte = data[sent >> 3] ?? 0;
    data[sent >> 3] = (raw >> BigInt(bit)) & 1n ? byte | mask : byte & ~mask;
  }
}
