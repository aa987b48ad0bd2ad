import type { Schema } from '../../api/client.ts';

/** A part of a text, as indices of its first and behind its last character. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** A value of a JSON text, with its members or elements by their names or numbers. */
interface Node extends Span {
  readonly parts: ReadonlyMap<string, Node>;
}

/** The place of a fault. */
class SyntaxFault extends Error {
  readonly at: number;

  constructor(at: number) {
    super(`not JSON at ${at}`);
    this.at = at;
  }
}

/** Uploads have fewer levels; deeper ones would exhaust the stack. */
const maxLevels = 100;
const space = /[ \t\r\n]*/y;
const text = /"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const other = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/y;

/** Reads JSON and keeps where each value is (RFC 8259). @throws SyntaxFault */
function readJson(source: string): Node {
  let at = 0;
  const take = (form: RegExp): string => {
    form.lastIndex = at;
    const taken = form.exec(source)?.[0];
    if (taken === undefined) throw new SyntaxFault(at);
    at += taken.length;
    return taken;
  };
  const skips = (character: string): boolean => {
    take(space);
    if (source[at] !== character) return false;
    at += 1;
    return true;
  };
  const readName = (): string => {
    take(space);
    const name: string = JSON.parse(take(text));
    if (!skips(':')) throw new SyntaxFault(at);
    return name;
  };
  const readParts = (end: string, level: number): Map<string, Node> => {
    const parts = new Map<string, Node>();
    at += 1;
    if (skips(end)) return parts;
    do parts.set(end === '}' ? readName() : String(parts.size), readValue(level + 1));
    while (skips(','));
    if (!skips(end)) throw new SyntaxFault(at);
    return parts;
  };
  const readValue = (level: number): Node => {
    take(space);
    if (level > maxLevels) throw new SyntaxFault(at);
    const [from, first] = [at, source[at]];
    if (first === '{') return { from, parts: readParts('}', level), until: at };
    if (first === '[') return { from, parts: readParts(']', level), until: at };
    take(first === '"' ? text : other);
    return { from, parts: new Map(), until: at };
  };
  const node = readValue(0);
  take(space);
  if (at < source.length) throw new SyntaxFault(at);
  return node;
}

function tryReadJson(source: string): Node | SyntaxFault {
  try {
    return readJson(source);
  } catch (error) {
    if (error instanceof SyntaxFault) return error;
    throw error;
  }
}

/** Finds the first syntax fault in a JSON text. @returns undefined if the text is valid */
export function findSyntaxFault(source: string): Span | undefined {
  const read = tryReadJson(source);
  return read instanceof SyntaxFault ? { from: read.at, until: Math.min(source.length, read.at + 1) } : undefined;
}

/**
 * Finds the value at a path in a JSON text; where the path does not go on, the value that lacks it.
 * @param path names of members and numbers of elements. @returns undefined for a text that is no JSON
 */
export function locate(source: string, path: readonly string[]): Span | undefined {
  const read = tryReadJson(source);
  if (read instanceof SyntaxFault) return undefined;
  let node = read;
  for (const name of path) {
    const part = node.parts.get(name);
    if (!part) break;
    node = part;
  }
  return { from: node.from, until: node.until };
}

type Fault = Schema<'QuarantineFault'>;

/** The bytes of an upload as text and JSON, with the place of a fault in each. */
export interface DecodedFault {
  readonly fault: Fault;
  /** Undefined for a fault without a place, such as a device without a vehicle. */
  readonly inText?: Span | undefined;
  readonly inBytes?: Span | undefined;
  /** The faulty reading as indented JSON; undefined for an upload that is no JSON. */
  readonly json?: string;
  readonly inJson?: Span | undefined;
}

export const bytesOf = (base64: string): Uint8Array =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
export const textOf = (bytes: Uint8Array): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);

const utf8Length = (text: string): number => new TextEncoder().encode(text).length;

/** The first byte that is no UTF-8: behind it, the text no longer has the same bytes. */
function findWrongByte(bytes: Uint8Array, text: string): Span | undefined {
  const from = new TextEncoder().encode(text).findIndex((byte, index) => byte !== bytes[index]);
  return from < 0 ? undefined : { from, until: from + 1 };
}

function bytesOfSpan(text: string, span: Span | undefined): Span | undefined {
  if (!span) return undefined;
  const from = utf8Length(text.slice(0, span.from));
  return { from, until: from + utf8Length(text.slice(span.from, span.until)) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether bytes begin as a CBOR array or map, or another protocol, does (RFC 8949, section 3.1); UTF-8 never begins with them. */
export const isBinary = ([first = 0]: Uint8Array): boolean => first >= 0x80 && first <= 0xbf;

/**
 * Decodes an upload, and finds the place of a fault in it.
 * @param readings as the platform decoded them, of an upload that is not JSON of the platform's own form
 */
export function decodeFault(bytes: Uint8Array, fault: Fault, readings?: readonly unknown[]): DecodedFault {
  if (readings) return decodeReading(fault, readings);
  const text = textOf(bytes);
  if (fault.reason === 'NOT_UTF8') {
    return { fault, inBytes: findWrongByte(bytes, text) };
  }
  const upload = parse(text);
  if (upload === undefined) {
    const inText = findSyntaxFault(text);
    return { fault, inText, inBytes: bytesOfSpan(text, inText) };
  }
  const isList = Array.isArray(upload);
  const { index, field } = fault;
  const fieldPath = field === undefined ? [] : field.split('.');
  const reading: unknown = isList && index !== null ? upload[index] : upload;
  const json = JSON.stringify(reading, null, 2);
  if (index === null && fieldPath.length === 0) return { fault, json };
  const inText = locate(text, [...(isList && index !== null ? [String(index)] : []), ...fieldPath]);
  return { fault, inText, inBytes: bytesOfSpan(text, inText), json, inJson: locate(json, fieldPath) };
}

/** Shows the reading of a fault, or all of them when it concerns the upload, with the place of the fault in it. */
function decodeReading(fault: Fault, readings: readonly unknown[]): DecodedFault {
  if (readings.length === 0) return { fault };
  const json = JSON.stringify(fault.index === null ? readings : (readings[fault.index] ?? null), null, 2);
  return { fault, json, ...(fault.field !== undefined && { inJson: locate(json, fault.field.split('.')) }) };
}

const bytesPerLine = 16;
const linesAround = 8;

/** A line of a hex dump: its offset, and its bytes. */
export interface HexLine {
  readonly offset: number;
  readonly bytes: readonly number[];
}

/** The lines of a hex dump around a place; the first ones without it. */
export function hexLines(bytes: Uint8Array, place: Span | undefined): HexLine[] {
  const middle = Math.floor((place?.from ?? 0) / bytesPerLine);
  const first = Math.max(0, middle - linesAround);
  const count = Math.min(Math.ceil(bytes.length / bytesPerLine), first + 2 * linesAround) - first;
  return Array.from({ length: Math.max(0, count) }, (_unused, line) => {
    const offset = (first + line) * bytesPerLine;
    return { offset, bytes: [...bytes.slice(offset, offset + bytesPerLine)] };
  });
}
