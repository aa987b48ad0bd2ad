// Imports nothing that needs a browser, so that tests can run it.

// A subset of ICU MessageFormat; intl-messageformat would add 9 kB, compressed, to the first load.
const form = /([=\w]+) \{((?:[^{}]|\{\w+\})*)\}/g;
const argument = /\{(\w+)(?:, plural,((?: [=\w]+ \{(?:[^{}]|\{\w+\})*\})+))?\}/g;

type Values = Readonly<Record<string, string | number>>;

/**
 * Formats a message in a subset of ICU MessageFormat: {name}, and {name, plural, =0 {…} one {…} other {# …}}, whose forms
 * can contain {name}. Numbers are formatted for the locale.
 */
export function formatMessage(message: string, values: Values, locale: string): string {
  return message.replace(argument, (whole, name: string, forms: string | undefined) => {
    const value = values[name];
    if (value === undefined) return whole;
    const shown = typeof value === 'number' ? value.toLocaleString(locale) : value;
    if (forms === undefined) return shown;
    const texts = Object.fromEntries([...forms.matchAll(form)].map(([, selector, text]) => [selector, text]));
    const category = new Intl.PluralRules(locale).select(Number(value));
    const text = texts[`=${value}`] ?? texts[category] ?? texts['other'] ?? whole;
    return formatMessage(text.replaceAll('#', shown), values, locale);
  });
}

/** Texts by name, nested. The name of a text with parameters lists them: `deleteTitle(name)`. */
export interface TextTable {
  readonly [name: string]: string | TextTable;
}

/** A number chooses the plural form. */
type Parameter<Name> = Name extends 'count' ? number : string | number;
type Parameters<Names> = Names extends `${infer First}, ${infer Others}`
  ? [Parameter<First>, ...Parameters<Others>]
  : [Parameter<Names>];

/** A table in which each text with parameters is a function. */
export type Texts<Table> = {
  readonly [Key in keyof Table as Key extends `${infer Name}(${string})` ? Name : Key]: Table[Key] extends string
    ? Key extends `${string}(${infer Names})`
      ? (...parameters: Parameters<Names>) => string
      : string
    : Texts<Table[Key]>;
};

/** Splits the key of a text into its name and its parameter names. */
export function splitKey(key: string): { readonly name: string; readonly parameters?: readonly string[] } {
  const [, name, parameters] = /^(\w+)\((.+)\)$/.exec(key) ?? [];
  return name === undefined || parameters === undefined ? { name: key } : { name, parameters: parameters.split(', ') };
}

/** Builds the texts of a language; missing texts fall back to English. */
export function makeTexts<Table extends TextTable>(
  english: Table,
  translated: TextTable,
  locale: string,
): Texts<Table> {
  const entries = Object.entries(english).map(([key, text]) => {
    const own = translated[key];
    if (typeof text !== 'string') return [key, makeTexts(text, typeof own === 'object' ? own : {}, locale)];
    const message = typeof own === 'string' ? own : text;
    const { name, parameters } = splitKey(key);
    if (!parameters) return [key, message];
    const valuesOf = (values: readonly (string | number)[]) =>
      Object.fromEntries(parameters.map((parameter, index) => [parameter, values[index] ?? '']));
    return [name, (...values: (string | number)[]) => formatMessage(message, valuesOf(values), locale)];
  });
  return Object.fromEntries(entries);
}
