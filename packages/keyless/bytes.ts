const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Concatenates byte arrays. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}

/** Encodes ASCII text; all labels of this package are ASCII. */
export function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Encodes an unsigned number in big-endian order. */
export function bigEndian(value: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let rest = value;
  for (let index = length - 1; index >= 0; index -= 1) {
    bytes[index] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return bytes;
}

/** Decodes an unsigned big-endian number. Inexact above 2^53, where all comparisons refuse. */
export function readBigEndian(bytes: Uint8Array): number {
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}

/** Compares in constant time for inputs of equal length. */
export function equalInConstantTime(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let index = 0; index < left.length; index += 1) difference |= (left[index] ?? 0) ^ (right[index] ?? 0);
  return difference === 0;
}

/** Encodes base64url without padding (RFC 4648, section 5). */
export function toBase64Url(bytes: Uint8Array): string {
  let text = '';
  for (let start = 0; start < bytes.length; start += 3) {
    const group = bytes.subarray(start, start + 3);
    const bits = ((group[0] ?? 0) << 16) | ((group[1] ?? 0) << 8) | (group[2] ?? 0);
    for (let digit = 0; digit <= group.length; digit += 1) text += alphabet[(bits >> (18 - 6 * digit)) & 63];
  }
  return text;
}

/** Decodes base64url text. @returns undefined for text that toBase64Url() does not produce */
export function fromBase64Url(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let bits = 0;
  let count = 0;
  let position = 0;
  for (const character of text) {
    const value = alphabet.indexOf(character);
    if (value < 0) return undefined;
    bits = ((bits << 6) | value) & 0xffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes[position++] = (bits >> count) & 0xff;
  }
  // Refuses unused trailing bits, so that each value has exactly one encoding.
  return toBase64Url(bytes) === text ? bytes : undefined;
}

/** A UUID in lower case. */
export const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Encodes a UUID in lower case as 16 bytes (RFC 9562, section 4). @throws RangeError for other text */
export function uuidBytes(uuid: string): Uint8Array {
  if (!uuidForm.test(uuid)) throw new RangeError('not a UUID');
  const digits = uuid.replaceAll('-', '');
  return Uint8Array.from({ length: 16 }, (_byte, index) => Number.parseInt(digits.slice(index * 2, index * 2 + 2), 16));
}

/** Formats 16 bytes as a UUID in lower case. */
export function uuidText(bytes: Uint8Array): string {
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [8, 12, 16, 20, 32].map((end, index) => digits.slice([0, 8, 12, 16, 20][index], end)).join('-');
}
