import { computed, effect, signal } from '@preact/signals';
import { preferences } from '../preferences.ts';
import english from './en.json';
import { chooseLanguage, chooseLocale, type Language, languages } from './languages.ts';
import { makeTexts, type TextTable } from './messages.ts';

const tables = import.meta.glob<TextTable>(['./*.json', '!./en.json'], { import: 'default' });

const loaded = signal<{ readonly language: Language; readonly table: TextTable }>({ language: 'en', table: {} });

/** The language of the page. */
export const language = computed(() => loaded.value.language);

/** The locale of numbers and dates. */
export const locale = computed(() => chooseLocale(language.value, navigator.languages));

/** Every text of the console in the language of the page. */
export const texts = computed(() => makeTexts(english, loaded.value.table, locale.value));

/** Texts by names that the API sends; it may send a name without a text. */
export type Lookup = Readonly<Record<string, string>>;

/** Finds the text of a name that the API sends. */
export const lookUp = (texts: Lookup, name: string): string | undefined => texts[name];

const wanted = computed(() => chooseLanguage(preferences.value.language, navigator.languages));

async function load(code: Language): Promise<void> {
  const table = await tables[`./${code}.json`]?.();
  // The user may have chosen another language in the meantime.
  if (wanted.value === code) loaded.value = { language: code, table: table ?? {} };
}

/** Loads the selected language now and on each change. The previous one is shown until loading completes. */
export async function followLanguage(): Promise<void> {
  effect(() => {
    document.documentElement.lang = language.value;
    document.documentElement.dir = languages[language.value].direction;
  });
  let loading: Promise<void> = Promise.resolve();
  effect(() => {
    // The file may be missing after an upgrade; keep the previous language.
    loading = load(wanted.value).catch(() => undefined);
  });
  await loading;
}
