import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Column as SheetColumn } from 'exceljs';
import exceljs from 'exceljs';
import { type Column, tablesOf } from './columns.ts';
import { createLocalClock } from './local-time.ts';
import type { Report, ReportValue } from './report.ts';
import type { ReportTexts } from './texts.ts';

/** Cell formats. `@` keeps text with a leading equals sign from becoming a formula when the cell is edited. */
function formatOf({ type, digits = 0 }: Column): string {
  if (type === 'moment') return 'yyyy-mm-dd hh:mm:ss';
  if (type === 'date') return 'yyyy-mm-dd';
  if (type === 'whole') return '0';
  if (type === 'number') return digits === 0 ? '0' : `0.${'0'.repeat(digits)}`;
  return '@';
}

/** Excel limits sheet names to 31 characters and forbids these. */
const sheetName = (name: string) => name.replace(/[\\/*?:[\]]/g, ' ').slice(0, 31);
const widths = { text: 18, word: 18, flag: 8, moment: 20, date: 12, whole: 12, number: 16 } as const;

/**
 * Writes a report as a workbook with a sheet for each table. Numbers are numeric cells, and times are dates in the time zone
 * of the report. Text is written as a string value and never as a formula.
 */
export async function writeXlsx({ kind, scope, tables }: Report, texts: ReportTexts): Promise<Buffer> {
  const stream = new PassThrough();
  const content = buffer(stream);
  const workbook = new exceljs.stream.xlsx.WorkbookWriter({ stream, useSharedStrings: true, useStyles: true });
  const clock = createLocalClock(scope.timeZone);
  const cellOf = ({ type }: Column, value: ReportValue | undefined) => {
    if (typeof value !== 'string') return value;
    if (type === 'moment') return new Date(clock(value));
    if (type === 'date') return new Date(`${value}T00:00:00Z`);
    return type === 'word' ? (texts.words[value] ?? value) : value;
  };
  for (const [name, columns] of Object.entries(tablesOf(kind))) {
    const title = (name === 'rows' ? texts.kinds[kind] : texts.tables[name]) ?? name;
    const sheet = workbook.addWorksheet(sheetName(title), { views: [{ state: 'frozen', ySplit: 1 }] });
    sheet.columns = columns.map(
      (column): Partial<SheetColumn> => ({
        header: texts.columns[column.key] ?? column.key,
        width: widths[column.type],
        style: { numFmt: formatOf(column) },
      }),
    );
    sheet.getRow(1).font = { bold: true };
    for (const row of tables[name] ?? [])
      sheet.addRow(columns.map((column) => cellOf(column, row[column.key]))).commit();
    sheet.commit();
  }
  await workbook.commit();
  return content;
}
