import { computed } from '@preact/signals';
import { preferences } from '../preferences.ts';
import type { Pair, TextTree } from './text-tree.ts';
import { tree } from './tree.ts';

/** A tree of texts in one language. */
type Translated<Tree> = {
  readonly [Name in keyof Tree]: Tree[Name] extends Pair
    ? string
    : Tree[Name] extends (...parameters: infer Parameters) => Pair
      ? (...parameters: Parameters) => string
      : Translated<Tree[Name]>;
};

function translate(texts: TextTree, column: 0 | 1): object {
  const entries = Object.entries(texts).map(([name, text]) => {
    if (typeof text === 'function') return [name, (...parameters: never[]) => text(...parameters)[column]];
    return [name, Array.isArray(text) ? text[column] : translate(text as TextTree, column)];
  });
  return Object.fromEntries(entries);
}

const languages = {
  en: translate(tree, 0) as Translated<typeof tree>,
  fr: translate(tree, 1) as Translated<typeof tree>,
};

/** The language of the texts: the one chosen, else the first of the browser's that there is, else English. */
export const language = computed<'en' | 'fr'>(() => {
  const chosen = preferences.value.language;
  if (chosen !== 'system') return chosen;
  const known = navigator.languages.map((tag) => tag.slice(0, 2)).find((code) => code === 'en' || code === 'fr');
  return known === 'fr' ? 'fr' : 'en';
});

/** Every text of the console in the language of the page. */
export const texts = computed(() => languages[language.value]);
