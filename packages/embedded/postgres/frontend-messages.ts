import { WireFormatError, wireMessage } from './wire-framing.ts';

/** A request before login. */
export type StartupPacket =
  | { kind: 'encryption' }
  | { kind: 'cancel' }
  | { kind: 'unsupported'; version: string }
  | { kind: 'startup'; minor: number; parameters: ReadonlyMap<string, string> };

const cancelRequest = 80877102;
const sslRequest = 80877103;
const gssEncryptionRequest = 80877104;

/** Reads a packet of the startup phase. @throws WireFormatError when its parameters are not terminated */
export function readStartupPacket(packet: Buffer): StartupPacket {
  const code = packet.readInt32BE(4);
  if (code === sslRequest || code === gssEncryptionRequest) return { kind: 'encryption' };
  if (code === cancelRequest) return { kind: 'cancel' };
  const [major, minor] = [code >>> 16, code & 0xffff];
  if (major !== 3) return { kind: 'unsupported', version: `${major}.${minor}` };
  return { kind: 'startup', minor, parameters: readParameters(packet) };
}

function readParameters(packet: Buffer): Map<string, string> {
  const parameters = new Map<string, string>();
  let offset = 8;
  while (offset < packet.length && packet[offset] !== 0) {
    const name = readText(packet, offset);
    const value = readText(packet, name.end);
    parameters.set(name.text, value.text);
    offset = value.end;
  }
  return parameters;
}

/** Reads the zero-terminated text at `offset`; `end` is the offset of the next field. @throws WireFormatError */
export function readText(message: Buffer, offset: number): { text: string; end: number } {
  const zero = message.indexOf(0, offset);
  if (zero < 0) throw new WireFormatError('invalid string in message');
  return { text: message.toString('utf8', offset, zero), end: zero + 1 };
}

const text = (value: string): Buffer => Buffer.from(`${value}\0`);

export const queryMessage = (sql: string): Buffer => wireMessage('Q', text(sql));
export const syncMessage = (): Buffer => wireMessage('S');
export const terminateMessage = (): Buffer => wireMessage('X');
export const closeStatementMessage = (name: string): Buffer => wireMessage('C', Buffer.from('S'), text(name));

/** The type byte of a whole message, as a letter. */
export const messageType = (message: Buffer): string => String.fromCharCode(message[0] ?? 0);

/** The SQL of a Query message. */
export const queryText = (message: Buffer): string => readText(message, 5).text;

/** The statement that Parse defines, its SQL, and the message with another statement name. */
export function readParse(message: Buffer): { statement: string; sql: string; renamed: (name: string) => Buffer } {
  const statement = readText(message, 5);
  const sql = readText(message, statement.end).text;
  return {
    statement: statement.text,
    sql,
    renamed: (name) => wireMessage('P', text(name), message.subarray(statement.end)),
  };
}

/** The statement that Bind uses, and the message with another statement name. */
export function readBind(message: Buffer): { statement: string; renamed: (name: string) => Buffer } {
  const portal = readText(message, 5);
  const statement = readText(message, portal.end);
  return {
    statement: statement.text,
    renamed: (name) => wireMessage('B', message.subarray(5, portal.end), text(name), message.subarray(statement.end)),
  };
}

/** The target of Describe or Close (`S` statement, `P` portal), and the message with another name. */
export function readTarget(message: Buffer): { kind: string; name: string; renamed: (name: string) => Buffer } {
  const target = readText(message, 6);
  return {
    kind: String.fromCharCode(message[5] ?? 0),
    name: target.text,
    renamed: (name) => wireMessage(messageType(message), message.subarray(5, 6), text(name)),
  };
}
