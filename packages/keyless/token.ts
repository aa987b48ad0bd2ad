import {
  ascii,
  bigEndian,
  concat,
  equalInConstantTime,
  fromBase64Url,
  readBigEndian,
  uuidBytes,
  uuidText,
} from './bytes.ts';
import type { KeylessCrypto } from './crypto.ts';
import { deviceTag, tokenKey } from './key-hierarchy.ts';

/** What an authorization allows, as the interface specification names it ("Authorization (Bluetooth) fields"). */
export type Level = 'LOCK_UNLOCK' | 'DRIVE';

/** What a token says: see "The token" in docs/keyless.md. Times in UNIX milliseconds, `notAfter` exclusive. */
export interface TokenFields {
  readonly deviceId: string;
  /** A UUID in lower case. */
  readonly authorizationId: string;
  readonly level: Level;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly keyVersion: number;
  /** Tokens of an earlier epoch are worth nothing: the box sat in another vehicle then. */
  readonly epoch: number;
}

/** What can be read from a token by whoever has its bytes; only the MAC tells whether it is true. */
export type ReadToken = Omit<TokenFields, 'deviceId'> & { readonly deviceTag: Uint8Array };

const format = 1;
const levels: readonly Level[] = ['LOCK_UNLOCK', 'DRIVE'];
export const signedTokenBytes = 48;
export const tokenBytes = 80;

/** The token without its MAC, 48 bytes. @throws RangeError for a field that does not fit its place */
export function encodeSignedPart(crypto: KeylessCrypto, fields: TokenFields): Uint8Array {
  const numbers = [fields.notBeforeMs, fields.notAfterMs, fields.keyVersion, fields.epoch];
  if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) throw new RangeError('not a time');
  if (fields.keyVersion > 0xffff || fields.epoch > 0xffffffff) throw new RangeError('version out of range');
  return concat(
    Uint8Array.of(format, levels.indexOf(fields.level) + 1),
    bigEndian(fields.keyVersion, 2),
    bigEndian(fields.epoch, 4),
    deviceTag(crypto, fields.deviceId),
    uuidBytes(fields.authorizationId),
    bigEndian(fields.notBeforeMs, 8),
    bigEndian(fields.notAfterMs, 8),
  );
}

function macOf(crypto: KeylessCrypto, deviceKey: Uint8Array, signed: Uint8Array): Uint8Array {
  return crypto.hmacSha256(tokenKey(crypto, deviceKey), concat(ascii('token'), signed));
}

/** Signs a token for a box: 80 bytes. */
export function signToken(crypto: KeylessCrypto, deviceKey: Uint8Array, fields: TokenFields): Uint8Array {
  const signed = encodeSignedPart(crypto, fields);
  return concat(signed, macOf(crypto, deviceKey, signed));
}

/** The fields of a token; undefined for bytes of another format. */
export function readToken(token: Uint8Array): ReadToken | undefined {
  const level = levels[(token[1] ?? 0) - 1];
  if (token.length !== tokenBytes || token[0] !== format || level === undefined) return undefined;
  return {
    level,
    keyVersion: readBigEndian(token.subarray(2, 4)),
    epoch: readBigEndian(token.subarray(4, 8)),
    deviceTag: token.slice(8, 16),
    authorizationId: uuidText(token.subarray(16, 32)),
    notBeforeMs: readBigEndian(token.subarray(32, 40)),
    notAfterMs: readBigEndian(token.subarray(40, 48)),
  };
}

/** Whether the token was signed with this device key; in constant time. */
export function isTokenSignedBy(crypto: KeylessCrypto, deviceKey: Uint8Array, token: Uint8Array): boolean {
  const mac = macOf(crypto, deviceKey, token.subarray(0, signedTokenBytes));
  return equalInConstantTime(mac, token.subarray(signedTokenBytes));
}

/** The bytes of a token as the HTTP interface writes it, base64url; undefined for any other text. */
export function parseTokenText(text: string): Uint8Array | undefined {
  const bytes = fromBase64Url(text);
  return bytes?.length === tokenBytes ? bytes : undefined;
}
