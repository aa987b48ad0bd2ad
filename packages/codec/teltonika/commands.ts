import { wrapPacket } from './packets.ts';

const codec12 = 0x0c;
const codec13 = 0x0d;
const codec14 = 0x0e;
const codec15 = 0x0f;
const request = 0x05;
const response = 0x06;
const refusal = 0x11;
const cameraFile = 0x0d;

/** The header before the text of a message, by codec. */
const prefixes = new Map([
  [codec12, { hasTime: false, imeiBytes: 0 }],
  [codec13, { hasTime: true, imeiBytes: 0 }],
  [codec14, { hasTime: false, imeiBytes: 8 }],
  [codec15, { hasTime: true, imeiBytes: 8 }],
]);

/** A message that is not a record: the answer to a command, or serial data. */
export interface DeviceMessage {
  /** Without the time and the IMEI. */
  bytes: Buffer;
  /** UNIX seconds; undefined in the codecs without a time. */
  seconds: number | undefined;
  /** Whether its type is that of an answer. */
  isAnswer: boolean;
  /** The IMEI of a Codec 14 command was not that of the device. */
  isRefused: boolean;
}

/** Encodes a command in Codec 12, such as `setdigout 1` (Teltonika, "Codec for communication over GPRS messages"). */
export const encodeCommand = (text: string): Buffer => encodeMessage(request, text);

/** Encodes the answer of a device to a command in Codec 12. */
export const encodeAnswer = (text: string): Buffer => encodeMessage(response, text);

function encodeMessage(type: number, text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  const data = Buffer.alloc(bytes.length + 8);
  data[0] = codec12;
  data[1] = 1;
  data[2] = type;
  data.writeUInt32BE(bytes.length, 3);
  bytes.copy(data, 7);
  data[bytes.length + 7] = 1;
  return wrapPacket(data);
}

/** Reads the command in a data field of Codec 12, as a device does; undefined when it holds something else. */
export function readCommand(data: Buffer): string | undefined {
  if (data.length < 8 || data[0] !== codec12 || data[1] !== 1 || data[2] !== request) return undefined;
  const end = 7 + data.readUInt32BE(3);
  return end === data.length - 1 ? data.toString('latin1', 7, end) : undefined;
}

/** Whether a data field announces a file of a camera, or holds a part of it (Teltonika, "Camera transfer protocol"). */
export const isCameraFile = (data: Buffer): boolean => data[0] === codec12 && data[2] === cameraFile;

/** Reads the messages that fill a data field of Codec 12, 13, 14 or 15; undefined when it holds anything else. */
export function readMessages(data: Buffer): DeviceMessage[] | undefined {
  const prefix = prefixes.get(data[0] ?? 0);
  if (prefix === undefined) return undefined;
  const messages: DeviceMessage[] = [];
  let at = 2;
  for (let count = data[1] ?? 0; count > 0; count -= 1) {
    if (at + 5 > data.length) return undefined;
    const type = data.readUInt8(at);
    const length = data.readUInt32BE(at + 1);
    const end = at + 5 + length;
    if (end >= data.length) return undefined;
    const message = data.subarray(at + 5, end);
    const time = prefix.hasTime ? readTime(message) : { seconds: undefined, bytes: 0 };
    const prefixBytes = time.bytes + prefix.imeiBytes;
    if (prefixBytes > message.length) return undefined;
    messages.push({
      bytes: message.subarray(prefixBytes),
      seconds: time.seconds,
      // Devices send Codec 13 with the type of a request too.
      isAnswer: type === response || type === refusal || data[0] === codec13,
      isRefused: type === refusal,
    });
    at = end;
  }
  return at === data.length - 1 ? messages : undefined;
}

/**
 * Reads the time that a message begins with. Teltonika's document has it in UNIX seconds of four bytes in one example, and in
 * milliseconds of eight bytes in another, whose first two bytes are 0 until the year 10889.
 */
function readTime(message: Buffer): { seconds: number | undefined; bytes: number } {
  if (message.length >= 8 && message.readUInt16BE(0) === 0) {
    return { seconds: Number(message.readBigUInt64BE(0)) / 1000, bytes: 8 };
  }
  return { seconds: message.length < 4 ? undefined : message.readUInt32BE(0), bytes: 4 };
}
