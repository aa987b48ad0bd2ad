import { concat, equalInConstantTime } from './bytes.ts';
import type { KeylessCrypto } from './crypto.ts';
import { type Channel, type FrameKind, openResult, protectFrame, type Result } from './frames.ts';
import { boxProof, type Handshake, openChannel, phoneProof } from './handshake.ts';

/** What a phone was given: `token` and `key` of an authorization, `key` of the device commands record; as bytes. */
export interface PhoneKeys {
  readonly token: Uint8Array;
  readonly sessionKey: Uint8Array;
  readonly encryptionKey: Uint8Array;
}

/** HELLO, the first that a phone says after it has connected. */
export function hello({ token }: PhoneKeys, phoneNonce: Uint8Array): Uint8Array {
  return concat(token, phoneNonce);
}

/** PROOF, the phone's answer to a challenge, and what it needs to go on. */
export function answerChallenge(
  crypto: KeylessCrypto,
  { sessionKey, encryptionKey }: PhoneKeys,
  phoneNonce: Uint8Array,
  boxNonce: Uint8Array,
): { proof: Uint8Array; handshake: Handshake } {
  const handshake = { sessionKey, encryptionKey, phoneNonce, boxNonce };
  return { proof: phoneProof(crypto, handshake), handshake };
}

/** An open session, from the phone's side. */
export interface PhoneSession {
  /** The next frame. @param body the bytes of a command string; nothing for `readio` */
  frame(kind: FrameKind, body: Uint8Array, encrypted: boolean): Uint8Array;
  /** The answer to the last frame; undefined for bytes that are none. */
  readResult(bytes: Uint8Array): Result | undefined;
}

/** Opens the session once the box has proved itself; undefined when it has not. */
export function openPhoneSession(
  crypto: KeylessCrypto,
  handshake: Handshake,
  proofOfBox: Uint8Array,
): PhoneSession | undefined {
  if (!equalInConstantTime(proofOfBox, boxProof(crypto, handshake))) return undefined;
  const channel: Channel = openChannel(crypto, handshake);
  let counter = 0;
  return {
    frame(kind, body, encrypted) {
      counter += 1;
      return protectFrame(crypto, channel, { kind, body, encrypted, counter });
    },
    readResult(bytes) {
      const result = openResult(crypto, channel, bytes);
      return result?.counter === counter ? result : undefined;
    },
  };
}
