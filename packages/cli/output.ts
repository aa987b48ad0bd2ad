const maxKeyLength = 40;

/** Replaces control characters: a name that a device chose must not steer the terminal. */
const printable = (text: string): string => text.replace(/\p{Cc}/gu, '\u{fffd}');

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return printable(value);
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return printable(value.join(', '));
  return printable(JSON.stringify(value));
}

type Row = Readonly<Record<string, unknown>>;
const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

function fields(row: Row): string {
  const shown = Object.entries(row).filter(([, value]) => cellOf(value) !== '');
  const width = Math.min(Math.max(...shown.map(([key]) => key.length), 0), maxKeyLength);
  return shown.map(([key, value]) => `${printable(key).padEnd(width)}  ${cellOf(value)}\n`).join('');
}

/** Formats rows below each other; in blocks where a line would be longer than the terminal is wide. */
function table(rows: readonly Row[], columns: number): string {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((key) =>
    rows.some((row) => cellOf(row[key]) !== ''),
  );
  const lines = [keys.map((key) => key.toUpperCase()), ...rows.map((row) => keys.map((key) => cellOf(row[key])))];
  const widths = keys.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  if (widths.reduce((sum, width) => sum + width + 2, -2) > columns) return rows.map(fields).join('\n');
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function listOf(values: readonly unknown[], columns: number): string {
  if (values.length === 0) return 'none\n';
  return values.every(isRow) ? table(values, columns) : values.map((value) => `${cellOf(value)}\n`).join('');
}

/**
 * Formats a result for people: a list as a table, anything else as a line for each member.
 * @param columns width of the terminal
 */
export function formatForPeople(result: unknown, columns: number): string {
  if (Array.isArray(result)) return listOf(result, columns);
  if (!isRow(result)) return `${cellOf(result)}\n`;
  const entries = Object.entries(result);
  if (entries.length === 0) return 'done\n';
  const isList = ([, value]: [string, unknown]) => Array.isArray(value) && (value.length === 0 || value.every(isRow));
  const lists = entries.filter(isList);
  const rest = fields(Object.fromEntries(entries.filter((entry) => !isList(entry))));
  const parts = lists.map(([key, value]) => {
    const title = lists.length > 1 || rest !== '' ? `${key}:\n` : '';
    return `${title}${listOf(value as unknown[], columns)}`;
  });
  return [...(rest === '' ? [] : [rest]), ...parts].join('\n');
}
