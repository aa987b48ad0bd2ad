import { ascii, concat } from './bytes.ts';
import type { KeylessCrypto } from './crypto.ts';
import type { Channel } from './frames.ts';
import { channelKeys } from './key-hierarchy.ts';

export const nonceBytes = 16;

/** What both sides know once they have exchanged nonces. */
export interface Handshake {
  readonly sessionKey: Uint8Array;
  readonly encryptionKey: Uint8Array;
  readonly phoneNonce: Uint8Array;
  readonly boxNonce: Uint8Array;
}

/** The phone's answer to the challenge: it has the session key, now. */
export function phoneProof(crypto: KeylessCrypto, { sessionKey, boxNonce, phoneNonce }: Handshake): Uint8Array {
  return crypto.hmacSha256(sessionKey, concat(ascii('phone'), boxNonce, phoneNonce));
}

/** The box's answer: it could derive the session key, so it is no other box. */
export function boxProof(crypto: KeylessCrypto, { sessionKey, boxNonce, phoneNonce }: Handshake): Uint8Array {
  return crypto.hmacSha256(sessionKey, concat(ascii('box'), phoneNonce, boxNonce));
}

/** The keys of the session that both sides have proved themselves for. */
export function openChannel(crypto: KeylessCrypto, handshake: Handshake): Channel {
  const keys = { session: handshake.sessionKey, encryption: handshake.encryptionKey };
  return channelKeys(crypto, keys, concat(handshake.boxNonce, handshake.phoneNonce));
}
