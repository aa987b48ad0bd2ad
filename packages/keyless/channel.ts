import { ascii, bigEndian, concat, equalInConstantTime, readBigEndian } from './bytes.ts';
import type { KeylessCrypto } from './crypto.ts';
import { channelKeys } from './key-hierarchy.ts';

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
const largestCounter = 0xffffffff;

function shortMac(crypto: KeylessCrypto, key: Uint8Array, label: string, bytes: Uint8Array): Uint8Array {
  return crypto.hmacSha256(key, concat(ascii(label), bytes)).subarray(0, macBytes);
}

/** Unique under one key, because no counter is used twice in a session. */
function nonceOf(header: Uint8Array): Uint8Array {
  return concat(ascii('phone'), new Uint8Array(3), header.subarray(1));
}

/** Protects a frame for the device: "Frames" in docs/keyless.md. @throws RangeError when the counter is used up */
export function protectFrame(crypto: KeylessCrypto, channel: Channel, frame: Frame): Uint8Array {
  if (frame.counter < 1 || frame.counter > largestCounter)
    throw new RangeError('the session has used up its frame counters');
  const kind = (kinds.indexOf(frame.kind) + 1) | (frame.encrypted ? encryptedBit : 0);
  const header = concat(Uint8Array.of(kind), bigEndian(frame.counter, 4));
  const body = frame.encrypted ? crypto.sealAes256Gcm(channel.cipher, nonceOf(header), header, frame.body) : frame.body;
  const content = concat(header, body);
  return concat(content, shortMac(crypto, channel.mac, 'frame', content));
}

/** Verifies and decrypts a frame. @returns undefined for one that is forged, altered or from another session */
export function openFrame(crypto: KeylessCrypto, channel: Channel, bytes: Uint8Array): Frame | undefined {
  if (bytes.length < headerBytes + macBytes) return undefined;
  const content = bytes.subarray(0, bytes.length - macBytes);
  const mac = shortMac(crypto, channel.mac, 'frame', content);
  if (!equalInConstantTime(mac, bytes.subarray(content.length))) return undefined;
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
  const content = concat(
    Uint8Array.of(resultKind),
    bigEndian(result.counter, 4),
    Uint8Array.of(result.status),
    result.data,
  );
  return concat(content, shortMac(crypto, channel.mac, 'result', content));
}

/** Verifies a result. @returns undefined for one that is forged, altered or from another session */
export function openResult(crypto: KeylessCrypto, channel: Channel, bytes: Uint8Array): Result | undefined {
  if (bytes.length < headerBytes + 1 + macBytes || bytes[0] !== resultKind) return undefined;
  const content = bytes.subarray(0, bytes.length - macBytes);
  const mac = shortMac(crypto, channel.mac, 'result', content);
  if (!equalInConstantTime(mac, bytes.subarray(content.length))) return undefined;
  return {
    counter: readBigEndian(content.subarray(1, headerBytes)),
    status: content[headerBytes] ?? 0,
    data: content.slice(headerBytes + 1),
  };
}
