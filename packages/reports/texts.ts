import { readdirSync, readFileSync } from 'node:fs';
import { invalidParameter } from '@odograph/contracts/failures';

/** The texts of a language: a file of its own in texts/, which a translator can add. */
export interface ReportTexts {
  readonly kinds: Readonly<Record<string, string>>;
  readonly tables: Readonly<Record<string, string>>;
  readonly columns: Readonly<Record<string, string>>;
  readonly words: Readonly<Record<string, string>>;
  readonly interval: string;
  readonly createdAt: string;
  readonly page: string;
  readonly empty: string;
  /** The text of the e-mail that a report is sent with. */
  readonly mail: string;
}

const folder = new URL('texts/', import.meta.url);
/** The languages that have a file. */
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

/** Replaces `{name}` in a text. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
