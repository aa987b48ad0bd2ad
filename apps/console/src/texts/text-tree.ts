/** A text in each language: English, French. */
export type Pair = readonly [en: string, fr: string];

/** Texts by name; a text with parameters is a function. */
export interface TextTree {
  readonly [name: string]: Pair | ((...parameters: never[]) => Pair) | TextTree;
}

/** Texts by a name that comes from the platform, which may send one that has no text. */
export type Lookup = Readonly<Record<string, Pair>>;
