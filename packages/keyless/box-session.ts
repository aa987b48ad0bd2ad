import { concat, equalInConstantTime } from './bytes.ts';
import { type AllowedCommand, isWithinLevel, verifyCommand } from './command-string.ts';
import type { KeylessCrypto } from './crypto.ts';
import { type Channel, type Frame, openFrame, protectResult } from './frames.ts';
import { boxProof, type Handshake, nonceBytes, openChannel, phoneProof } from './handshake.ts';
import { encryptionKey, sessionKey } from './key-hierarchy.ts';
import type { BoxIdentity, KeyList } from './key-list.ts';
import { signedTokenBytes, tokenBytes } from './token.ts';
import { type TokenRefusal, verifyToken } from './verifier.ts';

/** How long a challenge may be answered, and how long a session lasts, by the box's own clock. */
export const challengeMs = 5000;
export const sessionMs = 120_000;

export type SessionRefusal =
  | TokenRefusal
  | 'NO_CHALLENGE'
  | 'NO_SESSION'
  | 'PROOF'
  | 'FRAME'
  | 'REPLAY'
  | 'NOT_ALLOWED';
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: SessionRefusal };

/** What the box is to do: a command that the platform allowed to this phone, or to tell its inputs. */
export type Asked = ({ readonly kind: 'command' } & AllowedCommand) | { readonly kind: 'readio' };

export interface BoxSessionOptions {
  readonly crypto: KeylessCrypto;
  readonly box: BoxIdentity;
  /** The last list that was accepted. */
  list(): KeyList | undefined;
  /** From a source that cannot be foreseen: 16 bytes that never came before. */
  createNonce(): Uint8Array;
  /** `encryptReadio` of the box's model. */
  readonly encryptReadio: boolean;
}

type State =
  | { readonly step: 'idle' }
  | { readonly step: 'challenged'; readonly sinceMs: number; readonly token: Uint8Array; readonly handshake: Handshake }
  | { readonly step: 'open'; readonly sinceMs: number; readonly token: Uint8Array; readonly channel: Channel };

const refuse = (reason: SessionRefusal) => ({ ok: false, reason }) as const;

/** One Bluetooth connection as the box holds it: "A session" in docs/keyless.md. A new connection is a new one of these. */
export class BoxSession {
  readonly #options: BoxSessionOptions;
  #state: State = { step: 'idle' };
  #counter = 0;

  constructor(options: BoxSessionOptions) {
    this.#options = options;
  }

  /** HELLO: token and phone nonce, 96 bytes. @returns the challenge, 16 bytes */
  hello(message: Uint8Array, nowMs: number): Answer<Uint8Array> {
    const { crypto, box } = this.#options;
    this.#state = { step: 'idle' };
    if (message.length !== tokenBytes + nonceBytes) return refuse('MALFORMED');
    const token = message.slice(0, tokenBytes);
    const verdict = this.#verify(token, nowMs);
    if (!verdict.ok) return verdict;
    const signed = token.subarray(0, signedTokenBytes);
    const handshake = {
      sessionKey: sessionKey(crypto, box.deviceKey, signed),
      encryptionKey: encryptionKey(crypto, box.deviceKey, signed),
      phoneNonce: message.slice(tokenBytes),
      boxNonce: this.#options.createNonce(),
    };
    this.#state = { step: 'challenged', sinceMs: nowMs, token, handshake };
    return { ok: true, value: handshake.boxNonce };
  }

  /** PROOF, 32 bytes; there is one attempt for each challenge. @returns the box's own proof */
  prove(proof: Uint8Array, nowMs: number): Answer<Uint8Array> {
    const { crypto } = this.#options;
    const state = this.#state;
    this.#state = { step: 'idle' };
    if (state.step !== 'challenged' || !isWithin(state.sinceMs, nowMs, challengeMs)) return refuse('NO_CHALLENGE');
    if (!equalInConstantTime(proof, phoneProof(crypto, state.handshake))) return refuse('PROOF');
    const channel = openChannel(crypto, state.handshake);
    this.#state = { step: 'open', sinceMs: nowMs, token: state.token, channel };
    this.#counter = 0;
    return { ok: true, value: boxProof(crypto, state.handshake) };
  }

  /**
   * A frame of the open session. The token is looked at again, since it may have ended or been revoked meanwhile; a frame
   * that was heard before, or comes after a later one, is refused and changes nothing.
   */
  ask(bytes: Uint8Array, nowMs: number): Answer<Asked> {
    const state = this.#state;
    if (state.step !== 'open' || !isWithin(state.sinceMs, nowMs, sessionMs)) return refuse('NO_SESSION');
    const frame = openFrame(this.#options.crypto, state.channel, bytes);
    if (!frame) return refuse('FRAME');
    if (frame.counter <= this.#counter) return refuse('REPLAY');
    this.#counter = frame.counter;
    const verdict = this.#verify(state.token, nowMs);
    if (verdict.ok) return this.#allow(frame, state.token);
    this.#state = { step: 'idle' };
    return verdict;
  }

  /** The answer to the last frame, for the phone. @param status 0 is done */
  answer(status: number, data: Uint8Array = concat()): Uint8Array | undefined {
    if (this.#state.step !== 'open') return undefined;
    const result = { counter: this.#counter, status, data };
    return protectResult(this.#options.crypto, this.#state.channel, result);
  }

  #allow({ kind, body, encrypted }: Frame, token: Uint8Array): Answer<Asked> {
    const { crypto, box, encryptReadio } = this.#options;
    if (kind === 'readio') {
      return body.length > 0 || (encryptReadio && !encrypted) ? refuse('NOT_ALLOWED') : { ok: true, value: { kind } };
    }
    const allowed = verifyCommand(crypto, box.deviceKey, token.subarray(0, signedTokenBytes), body);
    const level = token[1] === 2 ? 'DRIVE' : 'LOCK_UNLOCK';
    if (!allowed || !isWithinLevel(level, allowed.command)) return refuse('NOT_ALLOWED');
    if (allowed.encrypted && !encrypted) return refuse('NOT_ALLOWED');
    return { ok: true, value: { kind, ...allowed } };
  }

  #verify(token: Uint8Array, nowMs: number) {
    return verifyToken(this.#options.crypto, this.#options.box, this.#options.list(), token, nowMs);
  }
}

/** A clock that went back, or shows no time, is no clock to go by. */
function isWithin(sinceMs: number, nowMs: number, lengthMs: number): boolean {
  return nowMs >= sinceMs && nowMs < sinceMs + lengthMs;
}
