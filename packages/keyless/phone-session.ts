import { concat, equalInConstantTime } from './bytes.ts';
import {
  type Channel,
  deviceProof,
  type FrameKind,
  type Handshake,
  openChannel,
  openResult,
  phoneProof,
  protectFrame,
  type Result,
} from './channel.ts';
import type { KeylessCrypto } from './crypto.ts';

/** Decoded `token` and `key` of an authorization, and `key` of its device commands record. */
export interface PhoneKeys {
  readonly token: Uint8Array;
  readonly sessionKey: Uint8Array;
  readonly encryptionKey: Uint8Array;
}

/** Builds HELLO, the phone's first message. */
export function hello({ token }: PhoneKeys, phoneNonce: Uint8Array): Uint8Array {
  return concat(token, phoneNonce);
}

/** Builds PROOF, the phone's answer to a challenge. @returns the handshake too, for openPhoneSession() */
export function answerChallenge(
  crypto: KeylessCrypto,
  { sessionKey, encryptionKey }: PhoneKeys,
  phoneNonce: Uint8Array,
  deviceNonce: Uint8Array,
): { proof: Uint8Array; handshake: Handshake } {
  const handshake = { sessionKey, encryptionKey, phoneNonce, deviceNonce };
  return { proof: phoneProof(crypto, handshake), handshake };
}

/** The phone's side of an open session. */
export interface PhoneSession {
  /** Builds the next frame. @param body the bytes of a command string; empty for `readio` */
  frame(kind: FrameKind, body: Uint8Array, encrypted: boolean): Uint8Array;
  /** Verifies the answer to the last frame. @returns undefined for any other bytes */
  readResult(bytes: Uint8Array): Result | undefined;
}

/** Verifies the device's proof and opens the session. @returns undefined for a wrong proof */
export function openPhoneSession(
  crypto: KeylessCrypto,
  handshake: Handshake,
  receivedProof: Uint8Array,
): PhoneSession | undefined {
  if (!equalInConstantTime(receivedProof, deviceProof(crypto, handshake))) return undefined;
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
