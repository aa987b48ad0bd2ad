import { concat, equalInConstantTime } from './bytes.ts';
import {
  type Channel,
  deviceProof,
  type Frame,
  type Handshake,
  nonceBytes,
  openChannel,
  openFrame,
  phoneProof,
  protectResult,
} from './channel.ts';
import { type AllowedCommand, isWithinLevel, verifyCommand } from './command-string.ts';
import type { KeylessCrypto } from './crypto.ts';
import { encryptionKey, sessionKey } from './key-hierarchy.ts';
import type { DeviceIdentity, KeyList } from './key-list.ts';
import { signedTokenBytes, type TokenRefusal, tokenBytes, verifyToken } from './token.ts';

/** Time limit for the answer to a challenge, by the device's own clock. */
export const challengeMs = 5000;
/** Length of a session, by the device's own clock. */
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

/** A request the device must carry out: a command that the platform allowed to this phone, or a report of its inputs. */
export type SessionRequest = ({ readonly kind: 'command' } & AllowedCommand) | { readonly kind: 'readio' };

export interface DeviceSessionOptions {
  readonly crypto: KeylessCrypto;
  readonly device: DeviceIdentity;
  /** The last accepted key list. */
  list(): KeyList | undefined;
  /** 16 unpredictable bytes that never repeat. */
  createNonce(): Uint8Array;
  /** `encryptReadio` of the device model. */
  readonly encryptReadio: boolean;
}

type State =
  | { readonly step: 'idle' }
  | { readonly step: 'challenged'; readonly sinceMs: number; readonly token: Uint8Array; readonly handshake: Handshake }
  | { readonly step: 'open'; readonly sinceMs: number; readonly token: Uint8Array; readonly channel: Channel };

const refuse = (reason: SessionRefusal) => ({ ok: false, reason }) as const;

/** The device's side of one Bluetooth connection: "A session" in docs/keyless.md. Each connection needs a new instance. */
export class DeviceSession {
  readonly #options: DeviceSessionOptions;
  #state: State = { step: 'idle' };
  #counter = 0;

  constructor(options: DeviceSessionOptions) {
    this.#options = options;
  }

  /** Checks a HELLO: token and phone nonce, 96 bytes. @returns the challenge, 16 bytes */
  acceptHello(message: Uint8Array, nowMs: number): Answer<Uint8Array> {
    const { crypto, device } = this.#options;
    this.#state = { step: 'idle' };
    if (message.length !== tokenBytes + nonceBytes) return refuse('MALFORMED');
    const token = message.slice(0, tokenBytes);
    const verdict = this.#verify(token, nowMs);
    if (!verdict.ok) return verdict;
    const signed = token.subarray(0, signedTokenBytes);
    const handshake = {
      sessionKey: sessionKey(crypto, device.deviceKey, signed),
      encryptionKey: encryptionKey(crypto, device.deviceKey, signed),
      phoneNonce: message.slice(tokenBytes),
      deviceNonce: this.#options.createNonce(),
    };
    this.#state = { step: 'challenged', sinceMs: nowMs, token, handshake };
    return { ok: true, value: handshake.deviceNonce };
  }

  /** Checks the phone's PROOF, 32 bytes; each challenge allows one attempt. @returns the device's own proof */
  acceptProof(proof: Uint8Array, nowMs: number): Answer<Uint8Array> {
    const { crypto } = this.#options;
    const state = this.#state;
    this.#state = { step: 'idle' };
    if (state.step !== 'challenged' || !isWithin(state.sinceMs, nowMs, challengeMs)) return refuse('NO_CHALLENGE');
    if (!equalInConstantTime(proof, phoneProof(crypto, state.handshake))) return refuse('PROOF');
    const channel = openChannel(crypto, state.handshake);
    this.#state = { step: 'open', sinceMs: nowMs, token: state.token, channel };
    this.#counter = 0;
    return { ok: true, value: deviceProof(crypto, state.handshake) };
  }

  /**
   * Checks a frame of the open session. The token is verified again, since it may have expired or been revoked during the
   * session. A frame that is repeated or older than the last one is refused and changes nothing.
   */
  acceptFrame(bytes: Uint8Array, nowMs: number): Answer<SessionRequest> {
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

  /** Protects the answer to the last frame. @param status 0 means done @returns undefined without an open session */
  protectAnswer(status: number, data: Uint8Array = concat()): Uint8Array | undefined {
    if (this.#state.step !== 'open') return undefined;
    const result = { counter: this.#counter, status, data };
    return protectResult(this.#options.crypto, this.#state.channel, result);
  }

  #allow({ kind, body, encrypted }: Frame, token: Uint8Array): Answer<SessionRequest> {
    const { crypto, device, encryptReadio } = this.#options;
    if (kind === 'readio') {
      return body.length > 0 || (encryptReadio && !encrypted) ? refuse('NOT_ALLOWED') : { ok: true, value: { kind } };
    }
    const allowed = verifyCommand(crypto, device.deviceKey, token.subarray(0, signedTokenBytes), body);
    const level = token[1] === 2 ? 'DRIVE' : 'LOCK_UNLOCK';
    if (!allowed || !isWithinLevel(level, allowed.command)) return refuse('NOT_ALLOWED');
    if (allowed.encrypted && !encrypted) return refuse('NOT_ALLOWED');
    return { ok: true, value: { kind, ...allowed } };
  }

  #verify(token: Uint8Array, nowMs: number) {
    return verifyToken(this.#options.crypto, this.#options.device, this.#options.list(), token, nowMs);
  }
}

/** False for a clock that went backwards or shows no time, since the elapsed time is unknown then. */
function isWithin(sinceMs: number, nowMs: number, lengthMs: number): boolean {
  return nowMs >= sinceMs && nowMs < sinceMs + lengthMs;
}
