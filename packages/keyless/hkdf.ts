import { concat } from './bytes.ts';
import type { KeylessCrypto } from './crypto.ts';

const hashBytes = 32;

/**
 * HKDF-SHA-256 (RFC 5869).
 * @param length of the result in bytes, at most 8,160
 */
export function hkdf(
  crypto: KeylessCrypto,
  { key, salt, info, length }: { key: Uint8Array; salt: Uint8Array; info: Uint8Array; length: number },
): Uint8Array {
  if (length > 255 * hashBytes) throw new RangeError('HKDF-SHA-256 gives at most 8160 bytes');
  const pseudorandomKey = crypto.hmacSha256(salt.length === 0 ? new Uint8Array(hashBytes) : salt, key);
  const result = new Uint8Array(Math.ceil(length / hashBytes) * hashBytes);
  let block: Uint8Array = new Uint8Array(0);
  for (let count = 1; (count - 1) * hashBytes < length; count += 1) {
    block = crypto.hmacSha256(pseudorandomKey, concat(block, info, Uint8Array.of(count)));
    result.set(block, (count - 1) * hashBytes);
  }
  return result.subarray(0, length);
}
