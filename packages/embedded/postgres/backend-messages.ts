import { forEachMessage, wireMessage } from './wire-framing.ts';

/** Transaction status of ReadyForQuery: idle, in a transaction, in a failed transaction. */
export type TransactionStatus = 'I' | 'T' | 'E';

/** The facts in a response that decide about the session. */
export interface ResponseSummary {
  /** Status of the last ReadyForQuery; undefined without one. */
  ready: TransactionStatus | undefined;
  failed: boolean;
  parsed: boolean;
  commandTags: string[];
}

function int32(...values: number[]): Buffer {
  const body = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => {
    body.writeInt32BE(value, index * 4);
  });
  return body;
}

export const authenticationCleartextPassword = (): Buffer => wireMessage('R', int32(3));
export const authenticationOk = (): Buffer => wireMessage('R', int32(0));
export const backendKeyData = (processId: number, secret: number): Buffer => wireMessage('K', int32(processId, secret));
export const readyForQuery = (status: TransactionStatus): Buffer => wireMessage('Z', Buffer.from(status));
export const parameterStatus = (name: string, value: string): Buffer =>
  wireMessage('S', Buffer.from(`${name}\0${value}\0`));

/** Offers protocol 3.0 to a client that requests a newer minor version or unknown protocol options. */
export function negotiateProtocolVersion(unknownOptions: readonly string[]): Buffer {
  const names = unknownOptions.map((name) => `${name}\0`).join('');
  return wireMessage('v', int32(0x30000, unknownOptions.length), Buffer.from(names));
}

/** Builds CopyInResponse without a column list, which clients do not need. */
export const copyInResponse = (binary: boolean): Buffer => wireMessage('G', Buffer.from([binary ? 1 : 0, 0, 0]));

/** Builds an ErrorResponse with severity, SQLSTATE and message. */
export function errorResponse(severity: 'ERROR' | 'FATAL', code: string, message: string): Buffer {
  return wireMessage('E', Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${message}\0\0`));
}

/** Summarizes a response; rows are skipped. */
export function summarizeResponse(response: Buffer): ResponseSummary {
  const summary: ResponseSummary = { ready: undefined, failed: false, parsed: false, commandTags: [] };
  forEachMessage(response, (type, start, end) => {
    if (type === 'Z') summary.ready = readStatus(response[start + 5]);
    else if (type === 'E') summary.failed = true;
    else if (type === '1') summary.parsed = true;
    else if (type === 'C') summary.commandTags.push(response.toString('utf8', start + 5, end - 1));
  });
  return summary;
}

function readStatus(byte: number | undefined): TransactionStatus {
  const letter = String.fromCharCode(byte ?? 0);
  return letter === 'T' || letter === 'E' ? letter : 'I';
}

/** Reads the message of the first ErrorResponse; undefined without one. */
export function errorText(response: Buffer): string | undefined {
  let found: string | undefined;
  forEachMessage(response, (type, start, end) => {
    if (type !== 'E' || found !== undefined) return;
    const fields = response.toString('utf8', start + 5, end).split('\0');
    found = fields.find((field) => field.startsWith('M'))?.slice(1);
  });
  return found;
}

/** Reads the text values of each DataRow; SQL null is an empty string. */
export function textRows(response: Buffer): string[][] {
  const rows: string[][] = [];
  forEachMessage(response, (type, start) => {
    if (type === 'D') rows.push(readRow(response, start + 5));
  });
  return rows;
}

function readRow(response: Buffer, start: number): string[] {
  const values: string[] = [];
  let offset = start + 2;
  for (let column = response.readInt16BE(start); column > 0; column--) {
    const length = Math.max(0, response.readInt32BE(offset));
    values.push(response.toString('utf8', offset + 4, offset + 4 + length));
    offset += 4 + length;
  }
  return values;
}
