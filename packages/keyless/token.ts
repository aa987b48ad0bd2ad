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
import { deviceTag, type KeylessCrypto, tokenKey } from './key-hierarchy.ts';
import type { DeviceIdentity, KeyList } from './key-list.ts';

/** The actions that an authorization allows (interface specification, "Authorization (Bluetooth) fields"). */
export type Level = 'LOCK_UNLOCK' | 'DRIVE';

/** Fields of a token: "The token" in docs/keyless.md. Times in UNIX milliseconds, `notAfterMs` exclusive. */
export interface TokenFields {
  readonly deviceId: string;
  /** A UUID in lower case. */
  readonly authorizationId: string;
  readonly level: Level;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly keyVersion: number;
  /** Tokens of an earlier epoch are invalid: the device was linked to another vehicle then. */
  readonly epoch: number;
}

/** Fields readable without a key; unverified until the MAC is checked. */
export type ReadToken = Omit<TokenFields, 'deviceId'> & { readonly deviceTag: Uint8Array };

const format = 1;
const levels: readonly Level[] = ['LOCK_UNLOCK', 'DRIVE'];
export const signedTokenBytes = 48;
export const tokenBytes = 80;

/** Encodes the token without its MAC, 48 bytes. @throws RangeError for a field outside the range of its encoding */
export function encodeSignedPart(crypto: KeylessCrypto, fields: TokenFields): Uint8Array {
  const numbers = [fields.notBeforeMs, fields.notAfterMs, fields.keyVersion, fields.epoch];
  if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0))
    throw new RangeError('number out of range');
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

/** Signs a token for a device: 80 bytes. */
export function signToken(crypto: KeylessCrypto, deviceKey: Uint8Array, fields: TokenFields): Uint8Array {
  const signed = encodeSignedPart(crypto, fields);
  return concat(signed, macOf(crypto, deviceKey, signed));
}

/** Decodes a token without verifying it. @returns undefined for bytes of another format */
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

/** Tells in constant time whether the token was signed with this device key. */
export function isTokenSignedBy(crypto: KeylessCrypto, deviceKey: Uint8Array, token: Uint8Array): boolean {
  const mac = macOf(crypto, deviceKey, token.subarray(0, signedTokenBytes));
  return equalInConstantTime(mac, token.subarray(signedTokenBytes));
}

/** Decodes a token from base64url, its form in the HTTP interface. @returns undefined for any other text */
export function parseTokenText(text: string): Uint8Array | undefined {
  const bytes = fromBase64Url(text);
  return bytes?.length === tokenBytes ? bytes : undefined;
}

/** A clock this far behind the issue of the key list has been set back, and would revive expired tokens. */
export const clockToleranceMs = 300_000;

/** Why a device refuses a token. */
export type TokenRefusal =
  | 'MALFORMED'
  | 'KEY_VERSION'
  | 'MAC'
  | 'DEVICE'
  | 'EPOCH'
  | 'CLOCK'
  | 'NOT_ACTIVE'
  | 'EXPIRED'
  | 'REVOKED'
  | 'SUSPENDED';

export type TokenVerdict =
  | { readonly ok: true; readonly token: ReadToken }
  | { readonly ok: false; readonly reason: TokenRefusal };

/**
 * Decides whether a device accepts a token now, offline: with its own key, its clock and the last key list it received.
 * The interval is half-open: `notBeforeMs` is inside, `notAfterMs` is not.
 * @param list undefined before the first one arrives
 * @param nowMs UNIX milliseconds; NaN while the device does not know the time, which refuses every token
 */
export function verifyToken(
  crypto: KeylessCrypto,
  device: DeviceIdentity,
  list: KeyList | undefined,
  bytes: Uint8Array,
  nowMs: number,
): TokenVerdict {
  const token = readToken(bytes);
  if (!token) return { ok: false, reason: 'MALFORMED' };
  if (token.keyVersion !== device.keyVersion) return { ok: false, reason: 'KEY_VERSION' };
  if (!isTokenSignedBy(crypto, device.deviceKey, bytes)) return { ok: false, reason: 'MAC' };
  const reason = refusalOf(crypto, device, list, token, nowMs);
  return reason === undefined ? { ok: true, token } : { ok: false, reason };
}

function refusalOf(
  crypto: KeylessCrypto,
  device: DeviceIdentity,
  list: KeyList | undefined,
  token: ReadToken,
  nowMs: number,
): TokenRefusal | undefined {
  if (!equalInConstantTime(token.deviceTag, deviceTag(crypto, device.deviceId))) return 'DEVICE';
  if (token.epoch < (list?.epoch ?? 0)) return 'EPOCH';
  if (list && nowMs < list.issuedAtMs - clockToleranceMs) return 'CLOCK';
  // Negated comparisons, so that NaN refuses.
  if (!(nowMs >= token.notBeforeMs)) return 'NOT_ACTIVE';
  if (!(nowMs < token.notAfterMs)) return 'EXPIRED';
  const listed = list?.authorizations.filter(({ id }) => id === token.authorizationId) ?? [];
  if (listed.some(({ state }) => state === 'revoked')) return 'REVOKED';
  return listed.some(({ untilMs }) => nowMs < untilMs) ? 'SUSPENDED' : undefined;
}
