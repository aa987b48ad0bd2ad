import { wrapPacket } from './packets.ts';

const codec12 = 0x0c;
const codec13 = 0x0d;
const codec14 = 0x0e;
const request = 0x05;
const response = 0x06;
const refusal = 0x11;

/** What a device answers to a command: the text, or that the IMEI of a Codec 14 command was not its own. */
export interface CommandAnswer {
  text: string;
  isRefused: boolean;
}

/** Encodes a command in Codec 12, such as `setdigout 1` (Teltonika, "Codec for communication over GPRS messages"). */
export function encodeCommand(text: string): Buffer {
  return encodeMessage(request, text);
}

/** Encodes the answer of a device to a command in Codec 12. */
export function encodeAnswer(text: string): Buffer {
  return encodeMessage(response, text);
}

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

/**
 * Reads the answers in a data field of Codec 12, 13 or 14; undefined when it holds something else, or records that do not fill
 * it.
 */
export function readCommandAnswers(data: Buffer): CommandAnswer[] | undefined {
  const codec = data[0];
  if (codec !== codec12 && codec !== codec13 && codec !== codec14) return undefined;
  // Codec 13 puts the time before the text, Codec 14 the IMEI. Devices send Codec 13 with the type of a request too.
  const prefixBytes = codec === codec12 ? 0 : codec === codec13 ? 4 : 8;
  const answers: CommandAnswer[] = [];
  let at = 2;
  for (let count = data[1] ?? 0; count > 0; count -= 1) {
    if (at + 5 > data.length) return undefined;
    const type = data.readUInt8(at);
    const length = data.readUInt32BE(at + 1);
    const end = at + 5 + length;
    const isAnswer = type === response || type === refusal || codec === codec13;
    if (!isAnswer || length < prefixBytes || end > data.length - 1) return undefined;
    const text = data.toString('latin1', at + 5 + prefixBytes, end).trimEnd();
    answers.push({ text, isRefused: type === refusal });
    at = end;
  }
  return at === data.length - 1 ? answers : undefined;
}
