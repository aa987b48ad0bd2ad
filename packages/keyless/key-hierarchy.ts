import { ascii, concat } from './bytes.ts';
import type { KeylessCrypto } from './crypto.ts';
import { hkdf } from './hkdf.ts';

export const keyBytes = 32;
const none = new Uint8Array(0);
const salt = ascii('odograph keyless 1');

function derive(crypto: KeylessCrypto, key: Uint8Array, use: string, context: Uint8Array): Uint8Array {
  return hkdf(crypto, { key, salt, info: concat(ascii(use), Uint8Array.of(0), context), length: keyBytes });
}

/** Signs tokens; the platform and the box have it. See "Keys" in docs/keyless.md, as for all of these. */
export function tokenKey(crypto: KeylessCrypto, deviceKey: Uint8Array): Uint8Array {
  return derive(crypto, deviceKey, 'token', none);
}

/** Signs the lists of revoked and suspended authorizations; the platform and the box have it. */
export function listKey(crypto: KeylessCrypto, deviceKey: Uint8Array): Uint8Array {
  return derive(crypto, deviceKey, 'list', none);
}

/** Signs command strings; the platform and the box have it. */
export function commandStringKey(crypto: KeylessCrypto, deviceKey: Uint8Array): Uint8Array {
  return derive(crypto, deviceKey, 'command string', none);
}

/** `key` of an authorization: proves to the box that the phone was given it. @param signed the token without its MAC */
export function sessionKey(crypto: KeylessCrypto, deviceKey: Uint8Array, signed: Uint8Array): Uint8Array {
  return derive(crypto, deviceKey, 'session', signed);
}

/** `key` of the device commands record: what is to be encrypted is, under a key made of it for each session. */
export function encryptionKey(crypto: KeylessCrypto, deviceKey: Uint8Array, signed: Uint8Array): Uint8Array {
  return derive(crypto, deviceKey, 'encryption', signed);
}

/** The first 8 bytes of SHA-256 of the device id: tells the boxes apart without naming them on the air. */
export function deviceTag(crypto: KeylessCrypto, deviceId: string): Uint8Array {
  return crypto.sha256(ascii(deviceId)).subarray(0, 8);
}

/** The keys of one session, from the two keys of the authorization and both nonces. */
export function channelKeys(
  crypto: KeylessCrypto,
  keys: { session: Uint8Array; encryption: Uint8Array },
  nonces: Uint8Array,
): { mac: Uint8Array; cipher: Uint8Array } {
  const make = (key: Uint8Array, use: string) =>
    hkdf(crypto, { key, salt: nonces, info: ascii(use), length: keyBytes });
  return { mac: make(keys.session, 'channel mac'), cipher: make(keys.encryption, 'channel cipher') };
}
