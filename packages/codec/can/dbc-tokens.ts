import { isUtf8 } from 'node:buffer';
import type { AttributeValue, SelectorRange } from './database.ts';

/** A file beyond this size is not read: real ones stay below 10 MB. */
export const maxFileBytes = 16 * 1024 * 1024;

/** More faults than these are not listed, and more unreadable statements end the reading. */
export const maxFaults = 1000;
/** Of names and numbers; C identifiers in DBC files have at most 128 characters. */
const maxTokenLength = 128;
/** Of a fault: texts of a file may be megabytes long. */
const maxMessageLength = 300;

export interface Token {
  kind: 'name' | 'number' | 'text' | 'sign' | 'end' | 'unreadable';
  /** Of a text: without the quotation marks. Of an unreadable token: what is wrong. */
  text: string;
  line: number;
  isFirstOnLine: boolean;
}

/** A fault of a statement, which is left out. */
export class StatementFault extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    super(message.slice(0, maxMessageLength));
    this.line = line;
  }
}

/** The characters of cp1252 from 0x80 on; Node.js 20 decodes them as control characters, as in latin1. */
const cp1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/** Decodes a file: UTF-8 with or without a byte order mark, else cp1252, which CANdb++ writes. */
export function decodeFile(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString('utf8').replace(/^\ufeff/, '');
  const text = buffer.toString('latin1');
  return text.replace(/[\x80-\x9f]/g, (character) => cp1252.charAt(character.charCodeAt(0) - 0x80));
}

/** Includes `//` comments, which no tool writes but many files contain. */
const blanks = /(?:[^\S\n]+|\/\/[^\n]*)+/y;
/** A number, a name, a sign; names such as `2nd_gear` begin with a digit. */
const token = /([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w))|(\w+)|([:;,|@+\-()[\]])/y;

/** Splits a DBC file into tokens, one at a time. */
class Tokenizer {
  readonly #text: string;
  #position = 0;
  #line = 1;
  #isFirstOnLine = true;
  /** No closing quotation mark follows: found once, so that not every text searches the rest of the file. */
  #isWithoutQuotes = false;

  constructor(text: string) {
    this.#text = text;
  }

  next(): Token {
    this.#skipBlanks();
    const line = this.#line;
    const isFirstOnLine = this.#isFirstOnLine;
    this.#isFirstOnLine = false;
    if (this.#position >= this.#text.length) return { kind: 'end', text: '', line, isFirstOnLine: true };
    if (this.#text[this.#position] === '"') return { ...this.#readText(), line, isFirstOnLine };
    token.lastIndex = this.#position;
    const match = token.exec(this.#text);
    const place = { line, isFirstOnLine };
    if (match === null) {
      const character = String.fromCodePoint(this.#text.codePointAt(this.#position) ?? 0);
      this.#position += character.length;
      return { kind: 'unreadable', text: `unexpected character ${JSON.stringify(character)}`, ...place };
    }
    const [text, number, name] = match;
    this.#position += text.length;
    if (text.length > maxTokenLength) {
      const fault = `${text.slice(0, 20)}… has more than ${maxTokenLength} characters`;
      return { kind: 'unreadable', text: fault, ...place };
    }
    const kind = name !== undefined ? 'name' : number !== undefined ? 'number' : 'sign';
    return { kind, text, line, isFirstOnLine };
  }

  #skipBlanks(): void {
    while (this.#position < this.#text.length) {
      if (this.#text[this.#position] === '\n') {
        this.#position += 1;
        this.#line += 1;
        this.#isFirstOnLine = true;
        continue;
      }
      blanks.lastIndex = this.#position;
      if (!blanks.test(this.#text)) return;
      this.#position = blanks.lastIndex;
    }
  }

  /** Reads a text, which may span lines and contain quotation marks as `\"`. */
  #readText(): Pick<Token, 'kind' | 'text'> {
    const start = this.#position + 1;
    let end = this.#isWithoutQuotes ? -1 : this.#text.indexOf('"', start);
    while (end > start && this.#text[end - 1] === '\\') end = this.#text.indexOf('"', end + 1);
    if (end < 0) {
      this.#isWithoutQuotes = true;
      const endOfLine = this.#text.indexOf('\n', start);
      this.#position = endOfLine < 0 ? this.#text.length : endOfLine;
      return { kind: 'unreadable', text: 'a text without a closing quotation mark' };
    }
    const text = this.#text.slice(start, end);
    this.#position = end + 1;
    for (let index = text.indexOf('\n'); index >= 0; index = text.indexOf('\n', index + 1)) this.#line += 1;
    return { kind: 'text', text: text.replaceAll('\\"', '"') };
  }
}

/** Reads tokens one after the other. Methods that name what they expect throw a StatementFault at anything else. */
export class TokenReader {
  readonly #tokens: Tokenizer;
  readonly #keywords: ReadonlySet<string>;
  #token: Token;

  constructor(text: string, keywords: ReadonlySet<string>) {
    this.#tokens = new Tokenizer(text);
    this.#keywords = keywords;
    this.#token = this.#tokens.next();
  }

  /** The token that is read next. */
  get token(): Token {
    return this.#token;
  }

  get isAtEnd(): boolean {
    return this.#token.kind === 'end';
  }

  get isKeyword(): boolean {
    return this.#token.kind === 'name' && this.#keywords.has(this.#token.text);
  }

  /** A name that no keyword takes. */
  get isName(): boolean {
    return this.#token.kind === 'name' && !this.#keywords.has(this.#token.text);
  }

  advance(): Token {
    const { token } = this;
    this.#token = this.#tokens.next();
    return token;
  }

  /** Skips to the next line that begins with a keyword. */
  recover(): void {
    while (!this.isAtEnd && !(this.#token.isFirstOnLine && this.isKeyword)) this.advance();
  }

  fault(message: string): StatementFault {
    return new StatementFault(this.#token.line, message);
  }

  expected(what: string): StatementFault {
    if (this.#token.kind === 'unreadable') return this.fault(this.#token.text);
    const found = this.isAtEnd ? 'the end of the file' : JSON.stringify(this.#token.text.slice(0, 60));
    return this.fault(`expected ${what} instead of ${found}`);
  }

  take(kind: Token['kind'], what: string): string {
    if (this.#token.kind !== kind) throw this.expected(what);
    return this.advance().text;
  }

  name(what: string): string {
    if (!this.isName) throw this.expected(what);
    return this.advance().text;
  }

  text(): string {
    return this.take('text', 'a text in quotation marks');
  }

  isSign(sign: string): boolean {
    return this.#token.kind === 'sign' && this.#token.text === sign;
  }

  /** Reads a sign if it is there. */
  skipSign(sign: string): boolean {
    const isThere = this.isSign(sign);
    if (isThere) this.advance();
    return isThere;
  }

  sign(sign: string): void {
    if (!this.skipSign(sign)) throw this.expected(JSON.stringify(sign));
  }

  whole(what: string): number {
    const value = Number(this.#token.text);
    if (this.#token.kind !== 'number' || !Number.isSafeInteger(value) || value < 0) {
      throw this.expected(`${what}, a whole number`);
    }
    this.advance();
    return value;
  }
}

/** The object of an attribute, a comment or a list of labels; `id` is that of the file, with bit 31 for extended ids. */
export type Target = { of: 'database' } | { of: 'message'; id: number } | SignalTarget | { of: 'other' };

export interface SignalTarget {
  of: 'signal';
  id: number;
  signal: string;
}

/** Raw values as in the file, with their texts. */
export type Labels = [raw: string, label: string][];

export interface SignalStatement {
  kind: 'signal';
  line: number;
  name: string;
  /** `M`, `m3` or `m3M`; empty without multiplexing. */
  multiplexing: string;
  startBit: number;
  length: number;
  isBigEndian: boolean;
  isSigned: boolean;
  factor: string;
  offset: string;
  unit: string;
}

/** A statement of a DBC file, before references between statements are followed. */
export type Statement =
  | { kind: 'message'; line: number; id: number; name: string; length: number }
  /** Its signals are left out with it. */
  | { kind: 'unreadableMessage'; line: number }
  | SignalStatement
  | { kind: 'comment'; line: number; target: Target }
  | { kind: 'attributeDefinition'; line: number; name: string; values: string[] | undefined }
  | { kind: 'attributeDefault'; line: number; name: string; value: AttributeValue }
  | { kind: 'attribute'; line: number; name: string; target: Target; value: AttributeValue }
  | { kind: 'table'; line: number; name: string; labels: Labels }
  | { kind: 'labels'; line: number; target: SignalTarget; labels: Labels; table: string | undefined }
  | { kind: 'valueType'; line: number; target: SignalTarget; type: number }
  | { kind: 'selection'; line: number; target: SignalTarget; multiplexer: string; ranges: SelectorRange[] };

export type StatementOf<Kind extends Statement['kind']> = Extract<Statement, { kind: Kind }>;
