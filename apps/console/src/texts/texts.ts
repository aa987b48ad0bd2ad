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

/** Texts by a name that comes from the platform, which may send one that has no text. */
export type Lookup = Readonly<Record<string, string>>;

/** Finds the text of a name that comes from the platform. */
export const lookUp = (texts: Lookup, name: string): string | undefined => texts[name];

const wanted = computed(() => chooseLanguage(preferences.value.language, navigator.languages));

async function load(code: Language): Promise<void> {
  const table = await tables[`./${code}.json`]?.();
  // The person may have chosen another one in the meantime.
  if (wanted.value === code) loaded.value = { language: code, table: table ?? {} };
}

/** Loads the chosen language, and each one chosen later. The page keeps the former one until a language is loaded. */
export async function followLanguage(): Promise<void> {
  effect(() => {
    document.documentElement.lang = language.value;
    document.documentElement.dir = languages[language.value].direction;
  });
  let loading: Promise<void> = Promise.resolve();
  effect(() => {
    // Without its file, such as after an upgrade of the platform, the page stays in the former language.
    loading = load(wanted.value).catch(() => undefined);
  });
  await loading;
}
