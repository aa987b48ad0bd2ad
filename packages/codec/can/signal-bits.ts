import type { CanSignal } from './database.ts';

type Layout = Pick<CanSignal, 'startBit' | 'length' | 'isBigEndian'>;

/** Up to 32 bits of a frame, which lie in at most five consecutive bytes. */
export interface BitField {
  /** Index of the byte with the most significant bits. */
  firstByte: number;
  /** Towards the less significant bytes: 1 for Motorola, -1 for Intel. */
  step: 1 | -1;
  byteCount: number;
  /** Bits of the last byte below the field. */
  shift: number;
  bitCount: number;
}

/** Returns the position of the most significant bit of a Motorola signal, counted from the first bit that is sent. */
export function firstSentBit(startBit: number): number {
  return (startBit & ~7) + 7 - (startBit & 7);
}

/** Returns the number of bytes that a frame must have to hold the signal. */
export function bytesNeeded({ startBit, length, isBigEndian }: Layout): number {
  const firstBit = isBigEndian ? firstSentBit(startBit) : startBit;
  return Math.ceil((firstBit + length) / 8);
}

/** Finds the bits `from` to `from + bitCount - 1` of a signal, bit 0 being its least significant one. */
export function bitFieldOf({ startBit, length, isBigEndian }: Layout, from: number, bitCount: number): BitField {
  if (isBigEndian) {
    const last = firstSentBit(startBit) + length - 1 - from;
    const first = last - bitCount + 1;
    const firstByte = first >> 3;
    return { firstByte, step: 1, byteCount: (last >> 3) - firstByte + 1, shift: 7 - (last & 7), bitCount };
  }
  const lowest = startBit + from;
  const firstByte = (lowest + bitCount - 1) >> 3;
  return { firstByte, step: -1, byteCount: firstByte - (lowest >> 3) + 1, shift: lowest & 7, bitCount };
}

/** Reads a field as an unsigned number. `data` must hold all of its bytes. */
export function readBits(data: Uint8Array, { firstByte, step, byteCount, shift, bitCount }: BitField): number {
  if (byteCount === 1) return ((data[firstByte] ?? 0) >>> shift) & (0xff >>> (8 - bitCount));
  let value = 0;
  let index = firstByte;
  // A shift by 32 would be one by 0, so five bytes are added up as a double.
  if (byteCount === 5) {
    for (let count = 0; count < 5; count += 1, index += step) value = value * 256 + (data[index] ?? 0);
    return Math.floor(value / 2 ** shift) % 2 ** bitCount;
  }
  for (let count = 0; count < byteCount; count += 1, index += step) value = (value << 8) | (data[index] ?? 0);
  return ((value >>> shift) & (0xffffffff >>> (32 - bitCount))) >>> 0;
}
