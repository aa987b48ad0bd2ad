/** Spreadsheets execute a cell that begins with one of these as a formula (OWASP, "CSV Injection"). */
export const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/;

/** Writes a cell (RFC 4180). A text that a spreadsheet would execute as a formula gets an apostrophe in front. */
export function writeCell(value: string | number | boolean | null | undefined): string {
  if (typeof value !== 'string') return value === undefined || value === null ? '' : String(value);
  const text = formulaStart.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
