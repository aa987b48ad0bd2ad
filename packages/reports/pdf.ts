import { fileURLToPath } from 'node:url';
import { writeTimestamp } from '@odograph/database/trips';
import pdfmake from 'pdfmake';
import type { Content, TableCell } from 'pdfmake/interfaces.js';
import { type Column, tablesOf } from './columns.ts';
import { createLocalClock, formatMinute } from './local-time.ts';
import type { Report, ReportRow, ReportValue } from './report.ts';
import { fill, type ReportTexts } from './texts.ts';

/** The fonts of pdfmake, under the SIL Open Font License 1.1 (NOTICE); they cover Latin, Greek and Cyrillic. */
const fontFolder = new URL('../fonts/Roboto/', import.meta.resolve('pdfmake'));
const font = (style: string) => fileURLToPath(new URL(`Roboto-${style}.ttf`, fontFolder));

/** Creates a function that formats the value of a column for the language and time zone. */
function createCellWriter(timeZone: string, texts: ReportTexts, language: string) {
  const clock = createLocalClock(timeZone);
  const numbers = new Map<number, Intl.NumberFormat>();
  const numberFormat = (digits: number) => {
    const known = numbers.get(digits);
    if (known) return known;
    const format = new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
    numbers.set(digits, format);
    return format;
  };
  return ({ type, digits = 0 }: Column, value: ReportValue | undefined): string => {
    if (value === undefined) return '';
    // Roboto lacks the narrow no-break space that groups digits in French.
    if (typeof value === 'number') return numberFormat(digits).format(value).replaceAll('\u202f', '\u00a0');
    if (type === 'moment') return formatMinute(clock(String(value)));
    return type === 'word' || type === 'flag' ? (texts.words[String(value)] ?? String(value)) : String(value);
  };
}

const isNumeric = ({ type }: Column) => type === 'number' || type === 'whole';

/** Writes a report as a PDF in A4 landscape, with title, tables and page numbers. */
export async function writePdf({ kind, scope, tables }: Report, texts: ReportTexts, language: string): Promise<Buffer> {
  const write = createCellWriter(scope.timeZone, texts, language);
  const clock = createLocalClock(scope.timeZone);
  const timeOf = (moment: string) => formatMinute(clock(moment));
  const tableOf = (columns: readonly Column[], rows: readonly ReportRow[]): Content => ({
    layout: 'lightHorizontalLines',
    table: {
      headerRows: 1,
      widths: columns.map((column) => (isNumeric(column) ? 'auto' : '*')),
      body: [
        columns.map(({ key }) => ({ text: texts.columns[key] ?? key, bold: true })),
        ...rows.map((row) =>
          columns.map(
            (column): TableCell => ({
              text: write(column, row[column.key]),
              alignment: isNumeric(column) ? 'right' : 'left',
            }),
          ),
        ),
      ],
    },
  });
  const shown = Object.entries(tablesOf(kind)).flatMap(([name, columns]): Content[] => {
    const { [name]: rows = [] } = tables;
    const heading: Content = { text: texts.tables[name] ?? name, bold: true, fontSize: 11, margin: [0, 12, 0, 4] };
    const content =
      rows.length === 0
        ? texts.empty
        : tableOf(
            columns.filter(({ isWide }) => !isWide),
            rows,
          );
    return [heading, content];
  });
  const title = texts.kinds[kind] ?? kind;
  const interval = { from: timeOf(writeTimestamp(scope.from)), until: timeOf(writeTimestamp(scope.until)) };
  pdfmake.setFonts({ Roboto: { normal: font('Regular'), bold: font('Medium') } });
  pdfmake.setUrlAccessPolicy(() => false);
  pdfmake.setLocalAccessPolicy((path) => path.startsWith(fileURLToPath(fontFolder)));
  const document = pdfmake.createPdf({
    ...{ pageSize: 'A4', pageOrientation: 'landscape', pageMargins: [32, 32, 32, 40], defaultStyle: { fontSize: 8 } },
    info: { title },
    footer: (page: number, pages: number) => ({
      ...{ text: fill(texts.page, { page, pages }), alignment: 'center', fontSize: 8 },
    }),
    content: [
      { text: title, fontSize: 16, bold: true },
      fill(texts.interval, { ...interval, timeZone: scope.timeZone }),
      fill(texts.createdAt, { time: timeOf(new Date().toISOString()) }),
      ...shown,
    ],
  });
  return document.getBuffer();
}
