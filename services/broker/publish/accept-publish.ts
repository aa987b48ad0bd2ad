import { isUtf8 } from 'node:buffer';
import { isCbor } from '@odograph/codec/native/cbor';
import type { UploadFormat } from '@odograph/contracts/queues';
import {
  type AcknowledgementIntake,
  chooseLane,
  lateLane,
  liveLane,
  type UploadIntake,
  type UploadLane,
} from '@odograph/queue/intake';
import type { Logger } from '@odograph/runtime/logger';
import type { AedesOptions, PublishPacket } from 'aedes';
import type { HeldPublication, HeldPublications, Publication } from '../sessions/held-publications.ts';
import type { BrokerMetrics, RefusalReason } from '../sessions/metrics.ts';
import type { DeviceSession, Sessions } from '../sessions/session-registry.ts';

type AuthorizePublish = NonNullable<AedesOptions['authorizePublish']>;
type Answer = (error?: Error | null) => void;

const refusals = {
  publish: 'not authorized to publish to this topic',
  stopping: 'the broker is stopping',
  held_bytes: 'too many publications wait for Redis',
} as const satisfies Partial<Record<RefusalReason, string>>;
type Refusal = keyof typeof refusals;

interface AcceptPublishOptions extends AcceptAcknowledgementOptions {
  readonly sessions: Sessions;
  readonly uploads: UploadIntake<HeldPublication>;
  /** True once the broker is stopping and accepts no more publications. */
  isStopping(): boolean;
}

/**
 * Handles each PUBLISH before its answer; aedes awaits only this hook before a PUBACK. A refused PUBLISH closes its
 * connection: MQTT 3.1.1 has no other refusal, and a PUBACK would mean that it was stored [MQTT-3.3.5-2]. Wills never
 * arrive here because they are dropped at CONNECT (connect/authenticate.ts).
 */
export function createAcceptPublish(options: AcceptPublishOptions): AuthorizePublish {
  const { sessions, metrics } = options;
  const refuse = (reason: Refusal, answer: Answer): void => {
    metrics.refused.inc({ reason });
    answer(new Error(refusals[reason]));
  };
  return (client, packet, answer) => {
    const session = client === null ? undefined : sessions.get(client);
    const refusal = session ? acceptFromDevice(options, session, packet, answer) : 'publish';
    if (refusal !== undefined) refuse(refusal, answer);
  };
}

/**
 * The path of an upload or an acknowledgement, from its PUBLISH to the intake that queues it and then releases its PUBACK.
 * @returns why it was refused; undefined when it was accepted
 */
function acceptFromDevice(
  options: AcceptPublishOptions,
  session: DeviceSession,
  packet: PublishPacket,
  answer: Answer,
): Refusal | undefined {
  const { held, uploads, isStopping } = options;
  const channel = authorizeDevicePublish(session, packet);
  if (channel === undefined) return 'publish';
  const nowMs = performance.now();
  session.throttle.takeUpload(nowMs);
  if (isStopping()) return 'stopping';
  const publication = describePublication(packet, channel, nowMs, answer);
  const lane = channel === 'acks' ? liveLane : laneOf(session, publication);
  const accepted = held.hold(session, publication, lane === lateLane);
  if (accepted === undefined) return 'held_bytes';
  // Without a PUBACK, a device resends an upload that a stopping broker could not store.
  if (channel === 'acks') void acceptAcknowledgement(options, accepted);
  else uploads.add(accepted, lane);
  return undefined;
}

function describePublication(packet: PublishPacket, channel: Channel, nowMs: number, release: Answer): Publication {
  const bytes = typeof packet.payload === 'string' ? Buffer.from(packet.payload) : packet.payload;
  const received = { receivedAtMs: Date.now(), heldSinceMs: nowMs, release };
  return channel === 'owntracks'
    ? { payload: asArray(bytes), format: channel, ...received }
    : { payload: bytes, ...received };
}

/** Makes a JSON array of one message, as uploads of systems and apps are (packages/codec/sources.ts). */
function asArray(message: Buffer): Buffer {
  return Buffer.concat([Buffer.from('['), message, Buffer.from(']')]);
}

/** A device has one share of the live lane, whatever it uploads, so late uploads count in it too. */
function laneOf({ throttle }: DeviceSession, { payload, format, receivedAtMs, heldSinceMs }: Publication): UploadLane {
  const isWithinShare = throttle.isWithinLiveShare(payload.length, heldSinceMs);
  return isWithinShare ? laneOfPayload(payload, receivedAtMs, format) : lateLane;
}

type Channel = 'telemetry' | 'acks' | 'owntracks';

/**
 * Authorizes a PUBLISH of a device: its own telemetry and acknowledgements ("What a device says and hears" in
 * docs/device-protocol.md), and as a phone with OwnTracks what that publishes for it as the user; nothing else.
 * @returns the channel, or undefined when the device may not publish there
 */
function authorizeDevicePublish(session: DeviceSession, packet: PublishPacket): Channel | undefined {
  // Only the platform retains messages.
  packet.retain = false;
  if (packet.topic === session.telemetryTopic) return 'telemetry';
  if (packet.topic === session.acksTopic) return 'acks';
  return packet.topic.startsWith(session.ownTracksPrefix) ? 'owntracks' : undefined;
}

export const maximumAcknowledgementBytes = 4096;

interface AcceptAcknowledgementOptions {
  readonly acknowledgements: AcknowledgementIntake;
  readonly held: HeldPublications;
  readonly metrics: BrokerMetrics;
  readonly logger: Logger;
}

/**
 * Queues an acknowledgement and then releases its PUBACK; never, when the broker stops before that. One longer than 4 KiB or
 * not UTF-8 is invalid: dropped as if it were stored, since the device would repeat it forever without a PUBACK.
 */
async function acceptAcknowledgement(
  { acknowledgements, held, metrics, logger }: AcceptAcknowledgementOptions,
  acknowledgement: HeldPublication,
): Promise<void> {
  const { payload, publisher, receivedAtMs } = acknowledgement;
  const { deviceId } = publisher;
  if (payload.length > maximumAcknowledgementBytes || !isUtf8(payload)) {
    metrics.refused.inc({ reason: 'acknowledgement' });
    logger.warn({ deviceId, bytes: payload.length }, 'invalid acknowledgement dropped');
    held.release(acknowledgement);
    return;
  }
  const isStored = await acknowledgements.add({ deviceId, receivedAtMs, text: payload.toString() });
  if (isStored) held.release(acknowledgement);
}

const timestampKey = Buffer.from('"timestamp"');
/** OwnTracks, "JSON". */
const ownTracksKey = Buffer.from('"tst"');
const zero = 48;
const nine = 57;
/** Colon and white space (RFC 8259, section 2). */
const between = new Set([58, 32, 9, 10, 13]);

/** The number after a key that begins at `start` in JSON, UNIX seconds; undefined when there is none. */
function timestampAt(payload: Buffer, start: number, key: Buffer): number | undefined {
  if (start === -1) return undefined;
  let at = start + key.length;
  while (between.has(payload[at] ?? zero)) at += 1;
  let seconds: number | undefined;
  for (let digit = payload[at]; digit !== undefined && digit >= zero && digit <= nine; at += 1, digit = payload[at]) {
    seconds = (seconds ?? 0) * 10 + (digit - zero);
  }
  return seconds;
}

/** Heads of an unsigned integer of 32 bits, and of floats of 32 and 64 bits (RFC 8949, section 3). */
const head = { uint32: 0x1a, float32: 0xfa, float64: 0xfb };
/** The number that stands for `timestamp`, and the last letter of the name itself. */
const keyEnds = { number: 0, letter: 'p'.charCodeAt(0) };
/** September 2001. A smaller number does not come from a clock that was set. */
const minSeconds = 1e9;
const daySeconds = 86_400;

/**
 * Finds the first or last number of a payload in CBOR that follows a possible key `timestamp` and is a time in the
 * past.
 * @param step 1 to find the first, -1 to find the last
 */
function findCborTimestamp(payload: Buffer, receivedAtMs: number, step: 1 | -1): number | undefined {
  const latest = receivedAtMs / 1000 + daySeconds;
  const end = payload.length - 4;
  for (let at = step === 1 ? 1 : end - 1; at > 0 && at < end; at += step) {
    const before = payload[at - 1];
    if (before !== keyEnds.number && before !== keyEnds.letter) continue;
    const seconds = numberAt(payload, at);
    if (seconds !== undefined && seconds >= minSeconds && seconds <= latest) return seconds;
  }
  return undefined;
}

/** @param at followed by at least four bytes */
function numberAt(payload: Buffer, at: number): number | undefined {
  if (payload[at] === head.uint32) return payload.readUInt32BE(at + 1);
  if (payload[at] === head.float32) return payload.readFloatBE(at + 1);
  return payload[at] === head.float64 && at + 9 <= payload.length ? payload.readDoubleBE(at + 1) : undefined;
}

/** First byte of a JSON object, and the lowest one of a CBOR map (RFC 8949, section 3.1). */
const openingBrace = '{'.charCodeAt(0);
const cborMap = 0xa0;

/**
 * Chooses the lane of an upload by its first and last time. The bytes are not decoded here, and a wrong guess costs
 * only time.
 * @param format undefined for the platform's own
 */
export function laneOfPayload(payload: Buffer, receivedAtMs: number, format?: UploadFormat): UploadLane {
  const [opening = 0] = payload;
  if (format === undefined && isCbor(payload)) {
    const last = findCborTimestamp(payload, receivedAtMs, -1);
    const isSingle = opening >= cborMap || last === undefined;
    return chooseLane(isSingle ? last : findCborTimestamp(payload, receivedAtMs, 1), last, receivedAtMs);
  }
  const key = format === 'owntracks' ? ownTracksKey : timestampKey;
  const last = timestampAt(payload, payload.lastIndexOf(key), key);
  const isSingle = opening === openingBrace || last === undefined;
  return chooseLane(isSingle ? last : timestampAt(payload, payload.indexOf(key), key), last, receivedAtMs);
}
