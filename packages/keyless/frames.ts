import { ascii, bigEndian, concat, equalInConstantTime, readBigEndian } from './bytes.ts';
import type { KeylessCrypto } from './crypto.ts';

/** The keys of an open session. */
export interface Channel {
  readonly mac: Uint8Array;
  readonly cipher: Uint8Array;
}

/** What a phone asks of a box: a command string, or the state of the inputs. */
export type FrameKind = 'command' | 'readio';

/** One frame before it is protected, or after its protection was checked. */
export interface Frame {
  readonly kind: FrameKind;
  /** Grows with every frame of a session; from 1. */
  readonly counter: number;
  readonly encrypted: boolean;
  /** The 20 bytes of a command string, or nothing. */
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

/** No counter comes twice under one key, so no nonce does. */
function nonceOf(header: Uint8Array): Uint8Array {
  return concat(ascii('phone'), new Uint8Array(3), header.subarray(1));
}

/** Protects a frame for the way to the box: see "Frames" in docs/keyless.md. */
export function protectFrame(crypto: KeylessCrypto, channel: Channel, frame: Frame): Uint8Array {
  if (frame.counter < 1 || frame.counter > largestCounter) throw new RangeError('the session has no counter left');
  const kind = (kinds.indexOf(frame.kind) + 1) | (frame.encrypted ? encryptedBit : 0);
  const header = concat(Uint8Array.of(kind), bigEndian(frame.counter, 4));
  const body = frame.encrypted ? crypto.sealAes256Gcm(channel.cipher, nonceOf(header), header, frame.body) : frame.body;
  const content = concat(header, body);
  return concat(content, shortMac(crypto, channel.mac, 'frame', content));
}

/** The frame in these bytes; undefined when it does not come from the phone of this session, or was changed. */
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

/** What the box answers to a frame: its counter, a status (0 is done) and, for `readio`, the inputs. */
export interface Result {
  readonly counter: number;
  readonly status: number;
  readonly data: Uint8Array;
}

export function protectResult(crypto: KeylessCrypto, channel: Channel, result: Result): Uint8Array {
  const content = concat(
    Uint8Array.of(resultKind),
    bigEndian(result.counter, 4),
    Uint8Array.of(result.status),
    result.data,
  );
  return concat(content, shortMac(crypto, channel.mac, 'result', content));
}

/** The result in these bytes; undefined when it does not come from the box of this session, or was changed. */
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
