import type english from '@odograph/reports/texts/en.json';
import { useLoad } from '../api/use-load.ts';
import type { Language } from './languages.ts';
import { language } from './texts.ts';

/** The names of reports, tables, columns and words, as in the files of reports. */
export type ReportTexts = typeof english;

const tables: Readonly<Record<Language, () => Promise<{ default: ReportTexts }>>> = {
  en: () => import('@odograph/reports/texts/en.json'),
  fr: () => import('@odograph/reports/texts/fr.json'),
  de: () => import('@odograph/reports/texts/de.json'),
  es: () => import('@odograph/reports/texts/es.json'),
  it: () => import('@odograph/reports/texts/it.json'),
  pl: () => import('@odograph/reports/texts/pl.json'),
  pt: () => import('@odograph/reports/texts/pt.json'),
};

/** Loads the texts of reports in the language of the page. */
export const useReportTexts = () => useLoad(async () => (await tables[language.value]()).default, [language.value]);
