/** A part of a text, as indices of its first and behind its last character. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** A value of a JSON text, with its members or elements by their names or numbers. */
interface Node extends Span {
  readonly parts: ReadonlyMap<string, Node>;
}

/** Where a text is no JSON. */
class SyntaxFault extends Error {
  readonly at: number;

  constructor(at: number) {
    super(`not JSON at ${at}`);
    this.at = at;
  }
}

/** Uploads have fewer levels; deeper ones would exhaust the stack. */
const mostLevels = 100;
const space = /[ \t\r\n]*/y;
const text = /"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const other = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/y;

/** Reads JSON and keeps where each value is (RFC 8259). */
class Reader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** @throws SyntaxFault */
  readAll(): Node {
    const node = this.#readValue(0);
    this.#skipSpace();
    if (this.#at < this.#source.length) throw new SyntaxFault(this.#at);
    return node;
  }

  #readValue(level: number): Node {
    this.#skipSpace();
    if (level > mostLevels) throw new SyntaxFault(this.#at);
    const from = this.#at;
    const first = this.#source[from];
    if (first === '{') return { from, parts: this.#readParts('}', level, true), until: this.#at };
    if (first === '[') return { from, parts: this.#readParts(']', level, false), until: this.#at };
    this.#take(first === '"' ? text : other);
    return { from, until: this.#at, parts: new Map() };
  }

  #readParts(end: string, level: number, isNamed: boolean): Map<string, Node> {
    const parts = new Map<string, Node>();
    this.#at += 1;
    if (this.#skipTo(end)) return parts;
    for (;;) {
      const name = isNamed ? this.#readName() : String(parts.size);
      parts.set(name, this.#readValue(level + 1));
      if (this.#skipTo(end)) return parts;
      if (!this.#skipTo(',')) throw new SyntaxFault(this.#at);
    }
  }

  #readName(): string {
    this.#skipSpace();
    const name: string = JSON.parse(this.#take(text));
    if (!this.#skipTo(':')) throw new SyntaxFault(this.#at);
    return name;
  }

  #skipTo(character: string): boolean {
    this.#skipSpace();
    if (this.#source[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #skipSpace(): void {
    this.#take(space);
  }

  #take(form: RegExp): string {
    form.lastIndex = this.#at;
    const taken = form.exec(this.#source)?.[0];
    if (taken === undefined) throw new SyntaxFault(this.#at);
    this.#at += taken.length;
    return taken;
  }
}

/** Finds where a text is no JSON; undefined if it is. */
export function findSyntaxFault(source: string): Span | undefined {
  try {
    new Reader(source).readAll();
    return undefined;
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error;
    return { from: error.at, until: Math.min(source.length, error.at + 1) };
  }
}

/**
 * Finds the value at a path in a JSON text; where the path does not go on, the value that lacks it.
 * @param path names of members and numbers of elements. @returns undefined for a text that is no JSON
 */
export function locate(source: string, path: readonly string[]): Span | undefined {
  let node: Node;
  try {
    node = new Reader(source).readAll();
  } catch {
    return undefined;
  }
  for (const name of path) {
    const part = node.parts.get(name);
    if (!part) break;
    node = part;
  }
  return { from: node.from, until: node.until };
}
