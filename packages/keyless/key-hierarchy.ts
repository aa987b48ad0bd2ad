import { ascii, concat } from './bytes.ts';

/**
 * The cryptographic primitives of keyless access, which a port to firmware supplies. node-crypto.ts implements them for
 * Node.js; no other file of this package imports anything from outside it.
 */
export interface KeylessCrypto {
  /** FIPS 180-4; 32 bytes. */
  sha256(message: Uint8Array): Uint8Array;
  /** RFC 2104 with SHA-256; 32 bytes. */
  hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array;
  /** NIST SP 800-38D, AES-256-GCM with a nonce of 12 bytes; returns ciphertext and 16-byte tag. */
  sealAes256Gcm(key: Uint8Array, nonce: Uint8Array, header: Uint8Array, plain: Uint8Array): Uint8Array;
  /** Decrypts what sealAes256Gcm() returned; undefined for anything altered. */
  openAes256Gcm(key: Uint8Array, nonce: Uint8Array, header: Uint8Array, sealed: Uint8Array): Uint8Array | undefined;
}

const hashBytes = 32;

/**
 * Derives key material with HKDF-SHA-256 (RFC 5869).
 * @param length in bytes, at most 8,160
 */
export function hkdf(
  crypto: KeylessCrypto,
  { key, salt, info, length }: { key: Uint8Array; salt: Uint8Array; info: Uint8Array; length: number },
): Uint8Array {
  const pseudorandomKey = crypto.hmacSha256(salt.length === 0 ? new Uint8Array(hashBytes) : salt, key);
  const result = new Uint8Array(Math.ceil(length / hashBytes) * hashBytes);
  let block: Uint8Array = new Uint8Array(0);
  for (let count = 1; (count - 1) * hashBytes < length; count += 1) {
    block = crypto.hmacSha256(pseudorandomKey, concat(block, info, Uint8Array.of(count)));
    result.set(block, (count - 1) * hashBytes);
  }
  return result.subarray(0, length);
}

/** Length of every key. */
export const keyBytes = 32;
const none = new Uint8Array(0);
const salt = ascii('odograph keyless 1');

function derive(crypto: KeylessCrypto, key: Uint8Array, use: string, context: Uint8Array): Uint8Array {
  return hkdf(crypto, { key, salt, info: concat(ascii(use), Uint8Array.of(0), context), length: keyBytes });
}

type Derive = (crypto: KeylessCrypto, deviceKey: Uint8Array) => Uint8Array;
type DeriveForToken = (crypto: KeylessCrypto, deviceKey: Uint8Array, signed: Uint8Array) => Uint8Array;

/** Derives the key that signs tokens; held by platform and device. All keys: "Keys" in docs/keyless.md. */
export const tokenKey: Derive = (crypto, deviceKey) => derive(crypto, deviceKey, 'token', none);
/** Derives the key that signs key lists; held by platform and device. */
export const listKey: Derive = (crypto, deviceKey) => derive(crypto, deviceKey, 'list', none);
/** Derives the key that signs command strings; held by platform and device. */
export const commandStringKey: Derive = (crypto, deviceKey) => derive(crypto, deviceKey, 'command string', none);

/** Derives `key` of an authorization, with which a phone proves its right to the token. `signed`: the token without its MAC */
export const sessionKey: DeriveForToken = (crypto, key, signed) => derive(crypto, key, 'session', signed);
/** Derives `key` of the device commands record, from which the cipher key of each session is derived. */
export const encryptionKey: DeriveForToken = (crypto, key, signed) => derive(crypto, key, 'encryption', signed);

/** Hashes the device id to 8 bytes, which identify the device without broadcasting its id. */
export function deviceTag(crypto: KeylessCrypto, deviceId: string): Uint8Array {
  return crypto.sha256(ascii(deviceId)).subarray(0, 8);
}

/** Derives the keys of one session from the two keys of the authorization and both nonces. */
export function channelKeys(
  crypto: KeylessCrypto,
  keys: { session: Uint8Array; encryption: Uint8Array },
  nonces: Uint8Array,
): { mac: Uint8Array; cipher: Uint8Array } {
  const make = (key: Uint8Array, use: string) =>
    hkdf(crypto, { key, salt: nonces, info: ascii(use), length: keyBytes });
  return { mac: make(keys.session, 'channel mac'), cipher: make(keys.encryption, 'channel cipher') };
}
