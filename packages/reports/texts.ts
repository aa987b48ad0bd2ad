import { readdirSync, readFileSync } from 'node:fs';
import { invalidParameter } from '@odograph/contracts/failures';

/** The texts of a language, from its file in texts/. */
export interface ReportTexts {
  readonly kinds: Readonly<Record<string, string>>;
  readonly tables: Readonly<Record<string, string>>;
  readonly columns: Readonly<Record<string, string>>;
  readonly words: Readonly<Record<string, string>>;
  readonly interval: string;
  readonly createdAt: string;
  readonly page: string;
  readonly empty: string;
  /** The body of the e-mail that delivers a report. */
  readonly mail: string;
}

const folder = new URL('texts/', import.meta.url);
/** The languages with a file in texts/. */
export const reportLanguages = readdirSync(folder)
  .map((file) => file.replace(/\.json$/, ''))
  .sort();

/** Reads the texts of a language. @throws Failure INVALID_PARAMETER for one without a file */
export function readTexts(language: string): ReportTexts {
  if (!reportLanguages.includes(language)) {
    throw invalidParameter('language', `must be one of ${reportLanguages.join(', ')}`);
  }
  return JSON.parse(readFileSync(new URL(`${language}.json`, folder), 'utf8')) as ReportTexts;
}

/** Replaces `{name}` placeholders; unknown ones are kept. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
