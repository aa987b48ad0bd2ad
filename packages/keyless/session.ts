import { ascii, bigEndian, concat, equalInConstantTime, readBigEndian } from './bytes.ts';
import { type AllowedCommand, isWithinLevel, verifyCommand } from './command-string.ts';
import { channelKeys, encryptionKey, type KeylessCrypto, sessionKey } from './key-hierarchy.ts';
import type { DeviceIdentity, KeyList } from './key-list.ts';
import { signedTokenBytes, type TokenRefusal, tokenBytes, verifyToken } from './token.ts';

/** Length of each nonce. */
export const nonceBytes = 16;

/** The secrets and nonces that both sides hold after CHALLENGE. */
export interface Handshake {
  readonly sessionKey: Uint8Array;
  readonly encryptionKey: Uint8Array;
  readonly phoneNonce: Uint8Array;
  readonly deviceNonce: Uint8Array;
}

/** Proves to the device that the phone holds the session key now. */
export function phoneProof(crypto: KeylessCrypto, { sessionKey, deviceNonce, phoneNonce }: Handshake): Uint8Array {
  return crypto.hmacSha256(sessionKey, concat(ascii('phone'), deviceNonce, phoneNonce));
}

/** Proves to the phone that the device could derive the session key, which no other device can. */
export function deviceProof(crypto: KeylessCrypto, { sessionKey, deviceNonce, phoneNonce }: Handshake): Uint8Array {
  return crypto.hmacSha256(sessionKey, concat(ascii('box'), phoneNonce, deviceNonce));
}

/** Derives the keys of a session from its handshake. */
export function openChannel(crypto: KeylessCrypto, handshake: Handshake): Channel {
  const keys = { session: handshake.sessionKey, encryption: handshake.encryptionKey };
  return channelKeys(crypto, keys, concat(handshake.deviceNonce, handshake.phoneNonce));
}

/** Keys of an open session. */
export interface Channel {
  readonly mac: Uint8Array;
  readonly cipher: Uint8Array;
}

/** A request from the phone: a command string, or a report of the inputs. */
export type FrameKind = 'command' | 'readio';

/** A frame before protection, or after verification. */
export interface Frame {
  readonly kind: FrameKind;
  /** Starts at 1 and increases with every frame of a session. */
  readonly counter: number;
  readonly encrypted: boolean;
  /** The 20 bytes of a command string; empty for `readio`. */
  readonly body: Uint8Array;
}

const kinds: readonly FrameKind[] = ['command', 'readio'];
const encryptedBit = 0x80;
const resultKind = 0x41;
const headerBytes = 5;
const macBytes = 16;
const maxCounter = 0xffffffff;

function shortMac(crypto: KeylessCrypto, key: Uint8Array, label: string, bytes: Uint8Array): Uint8Array {
  return crypto.hmacSha256(key, concat(ascii(label), bytes)).subarray(0, macBytes);
}

/** Verifies the MAC behind a message. @returns the message without it; undefined for one that is forged or altered */
function verified(crypto: KeylessCrypto, key: Uint8Array, label: string, bytes: Uint8Array): Uint8Array | undefined {
  const content = bytes.subarray(0, Math.max(0, bytes.length - macBytes));
  const mac = shortMac(crypto, key, label, content);
  return equalInConstantTime(mac, bytes.subarray(content.length)) ? content : undefined;
}

/** Unique under one key, because no counter is used twice in a session. */
function nonceOf(header: Uint8Array): Uint8Array {
  return concat(ascii('phone'), new Uint8Array(3), header.subarray(1));
}

/** Protects a frame for the device: "Frames" in docs/keyless.md. @throws RangeError when the counter is used up */
export function protectFrame(crypto: KeylessCrypto, channel: Channel, frame: Frame): Uint8Array {
  if (frame.counter < 1 || frame.counter > maxCounter)
    throw new RangeError('the session has used up its frame counters');
  const kind = (kinds.indexOf(frame.kind) + 1) | (frame.encrypted ? encryptedBit : 0);
  const header = concat(Uint8Array.of(kind), bigEndian(frame.counter, 4));
  const body = frame.encrypted ? crypto.sealAes256Gcm(channel.cipher, nonceOf(header), header, frame.body) : frame.body;
  const content = concat(header, body);
  return concat(content, shortMac(crypto, channel.mac, 'frame', content));
}

/** Verifies and decrypts a frame. @returns undefined for one that is forged, altered or from another session */
export function openFrame(crypto: KeylessCrypto, channel: Channel, bytes: Uint8Array): Frame | undefined {
  const content = verified(crypto, channel.mac, 'frame', bytes);
  if (!content || content.length < headerBytes) return undefined;
  const header = content.subarray(0, headerBytes);
  const first = header[0] ?? 0;
  const kind = kinds[(first & ~encryptedBit) - 1];
  if (kind === undefined) return undefined;
  const encrypted = (first & encryptedBit) !== 0;
  const received = content.subarray(headerBytes);
  const body = encrypted ? crypto.openAes256Gcm(channel.cipher, nonceOf(header), header, received) : received;
  return body && { kind, encrypted, counter: readBigEndian(header.subarray(1)), body };
}

/** The device's answer to a frame: its counter, a status (0 means done) and, for `readio`, the inputs. */
export interface Result {
  readonly counter: number;
  readonly status: number;
  readonly data: Uint8Array;
}

/** Protects a result for the phone. */
export function protectResult(crypto: KeylessCrypto, channel: Channel, result: Result): Uint8Array {
  const { counter, status, data } = result;
  const content = concat(Uint8Array.of(resultKind), bigEndian(counter, 4), Uint8Array.of(status), data);
  return concat(content, shortMac(crypto, channel.mac, 'result', content));
}

/** Verifies a result. @returns undefined for one that is forged, altered or from another session */
export function openResult(crypto: KeylessCrypto, channel: Channel, bytes: Uint8Array): Result | undefined {
  const content = verified(crypto, channel.mac, 'result', bytes);
  if (!content || content.length < headerBytes + 1 || content[0] !== resultKind) return undefined;
  return {
    counter: readBigEndian(content.subarray(1, headerBytes)),
    status: content[headerBytes] ?? 0,
    data: content.slice(headerBytes + 1),
  };
}

/** Time limit for the answer to a challenge, by the device's own clock. */
export const challengeMs = 5000;
/** Length of a session, by the device's own clock. */
export const sessionMs = 120_000;

type OwnRefusal = 'NO_CHALLENGE' | 'NO_SESSION' | 'PROOF' | 'FRAME' | 'REPLAY' | 'NOT_ALLOWED';
export type SessionRefusal = TokenRefusal | OwnRefusal;
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
