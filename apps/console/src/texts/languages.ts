// Imports nothing that needs a browser, so that tests can read it.

interface LanguageFacts {
  /** The name of the language in the language itself. */
  readonly name: string;
  readonly direction: 'ltr' | 'rtl';
  /** Whether every text is translated; only complete languages are offered. */
  readonly isComplete: boolean;
}

/** The languages of the console; the texts of each are in CODE.json. */
export const languages = {
  en: { name: 'English', direction: 'ltr', isComplete: true },
  fr: { name: 'Français', direction: 'ltr', isComplete: true },
  de: { name: 'Deutsch', direction: 'ltr', isComplete: true },
  es: { name: 'Español', direction: 'ltr', isComplete: true },
  it: { name: 'Italiano', direction: 'ltr', isComplete: true },
  pl: { name: 'Polski', direction: 'ltr', isComplete: true },
  pt: { name: 'Português', direction: 'ltr', isComplete: true },
} as const satisfies Readonly<Record<string, LanguageFacts>>;

export type Language = keyof typeof languages;

/** The languages that users can choose. */
export const completeLanguages = (Object.keys(languages) as Language[]).filter((code) => languages[code].isComplete);

/** Selects the language: the user's choice, else the browser's first complete language, else English. */
export function chooseLanguage(chosen: Language | 'system', ofBrowser: readonly string[]): Language {
  const isComplete = (code: string): code is Language => completeLanguages.some((one) => one === code);
  const codes = [chosen, ...ofBrowser.map((tag) => tag.split('-', 1)[0] ?? '')];
  return codes.find(isComplete) ?? 'en';
}

/** Selects the locale of numbers and dates: the browser's first locale of this language, for its region. */
export function chooseLocale(language: Language, ofBrowser: readonly string[]): string {
  const ofLanguage = ofBrowser.find((tag) => tag === language || tag.startsWith(`${language}-`));
  return ofLanguage ?? (language === 'en' ? 'en-GB' : language);
}
