import { equalInConstantTime } from './bytes.ts';
import type { KeylessCrypto } from './crypto.ts';
import { deviceTag } from './key-hierarchy.ts';
import type { BoxIdentity, KeyList } from './key-list.ts';
import { isTokenSignedBy, type ReadToken, readToken } from './token.ts';

/** Why a box does not let a token in. */
export type TokenRefusal =
  | 'MALFORMED'
  | 'KEY_VERSION'
  | 'MAC'
  | 'DEVICE'
  | 'EPOCH'
  | 'NOT_ACTIVE'
  | 'EXPIRED'
  | 'REVOKED'
  | 'SUSPENDED';

export type TokenVerdict =
  | { readonly ok: true; readonly token: ReadToken }
  | { readonly ok: false; readonly reason: TokenRefusal };

/**
 * Whether a box lets the holder of a token in now: offline, with nothing but its own key, its clock and the last list of
 * keys that reached it. Half-open: from `notBeforeMs` on, and no longer at `notAfterMs`.
 * @param list undefined as long as none has come
 * @param nowMs UNIX milliseconds; a box that does not know the time lets nobody in
 */
export function verifyToken(
  crypto: KeylessCrypto,
  box: BoxIdentity,
  list: KeyList | undefined,
  bytes: Uint8Array,
  nowMs: number,
): TokenVerdict {
  const token = readToken(bytes);
  if (!token) return { ok: false, reason: 'MALFORMED' };
  if (token.keyVersion !== box.keyVersion) return { ok: false, reason: 'KEY_VERSION' };
  if (!isTokenSignedBy(crypto, box.deviceKey, bytes)) return { ok: false, reason: 'MAC' };
  const reason = refusalOf(crypto, box, list, token, nowMs);
  return reason === undefined ? { ok: true, token } : { ok: false, reason };
}

function refusalOf(
  crypto: KeylessCrypto,
  box: BoxIdentity,
  list: KeyList | undefined,
  token: ReadToken,
  nowMs: number,
): TokenRefusal | undefined {
  if (!equalInConstantTime(token.deviceTag, deviceTag(crypto, box.deviceId))) return 'DEVICE';
  if (token.epoch < (list?.epoch ?? 0)) return 'EPOCH';
  // Written so that a time that is not a number lets nobody in.
  if (!(nowMs >= token.notBeforeMs)) return 'NOT_ACTIVE';
  if (!(nowMs < token.notAfterMs)) return 'EXPIRED';
  const listed = list?.authorizations.filter(({ id }) => id === token.authorizationId) ?? [];
  if (listed.some(({ state }) => state === 'revoked')) return 'REVOKED';
  return listed.some(({ untilMs }) => nowMs < untilMs) ? 'SUSPENDED' : undefined;
}
