import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { HistoryRow } from '@odograph/codec/files/history-rows';
import { inspectText, rowsOf } from '@odograph/codec/files/text-rows';
import { secondsOf } from '@odograph/codec/shared/time';
import { sourceFormats } from '@odograph/codec/uploads';
import { openFile } from './row-file.ts';

type Cells = Readonly<Record<string, string>>;

/** Columns of tc_positions, by the members of a position that Traccar forwards; others go by their own names. */
const members: Readonly<Record<string, string>> = {
  ...{ deviceid: 'deviceId', servertime: 'serverTime', devicetime: 'deviceTime', fixtime: 'fixTime' },
  ...{ geofenceids: 'geofenceIds' },
};
const columnOf = new Map<string, string>([
  ...(['latitude', 'longitude', 'altitude', 'speed'] as const).map((name) => [`location.${name}`, name] as const),
  ['location.angle', 'course'] as const,
  ['timestamp', 'fixtime'] as const,
]);
const numbers: ReadonlySet<string> = new Set(['latitude', 'longitude', 'altitude', 'speed', 'course', 'accuracy']);

/**
 * Reads Traccar's table tc_positions: from pg_dump, which may hold tc_devices too, or as CSV with a header. Devices are named by
 * `uniqueId` where tc_devices precedes, else by the number of the device.
 */
export async function* readTraccar(path: string): AsyncGenerator<HistoryRow> {
  if (/\.(csv|txt)$/i.test(path)) {
    const file = await inspectText(openFile(path), 'utf-8');
    const toRow = createRowReader(new Map());
    for await (const { line, record, fault } of rowsOf(file, (cells) => cells.map((cell) => cell.toLowerCase()))) {
      if (fault === undefined) yield toRow(line, record as Cells);
      else yield { line, fault: { column: '', message: fault } };
    }
    return;
  }
  yield* readDump(path);
}

const copyForm = /^COPY (?:\S+\.)?"?(tc_positions|tc_devices)"? \(([^)]*)\) FROM stdin;/i;
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v' };

interface Block {
  readonly isPositions: boolean;
  readonly columns: readonly string[];
}

function openBlock(text: string): Block | undefined {
  const [, table, columns = ''] = copyForm.exec(text) ?? [];
  if (table === undefined) return undefined;
  const names = columns.split(',').map((name) => name.trim().replaceAll('"', '').toLowerCase());
  return { isPositions: table.toLowerCase() === 'tc_positions', columns: names };
}

/** Reads the blocks of COPY of a dump (PostgreSQL, COPY, "Text Format"). */
async function* readDump(path: string): AsyncGenerator<HistoryRow> {
  const uniqueIds = new Map<string, string>();
  const toRow = createRowReader(uniqueIds);
  let block: Block | undefined;
  let line = 0;
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    line += 1;
    if (block === undefined || text === '\\.') {
      block = openBlock(text);
      continue;
    }
    const cells = cellsOf(text, block.columns);
    if (block.isPositions) yield toRow(line, cells);
    else uniqueIds.set(cells['id'] ?? '', cells['uniqueid'] ?? '');
  }
}

function cellsOf(text: string, columns: readonly string[]): Cells {
  const values = text
    .split('\t')
    .map((value) => [value, value.replace(/\\(.)/g, (_all, one: string) => escapes[one] ?? one)]);
  return Object.fromEntries(
    columns.flatMap((name, index) => {
      const [raw, value = ''] = values[index] ?? ['\\N'];
      return raw === '\\N' ? [] : [[name, value] as const];
    }),
  );
}

/** Earlier fix times mean no fix: Traccar stores 1970 until the first fix. */
const noFixUntilSeconds = 86_400 * 365;

/**
 * Tests whether a position lacks a fix of its own, which the table does not mark: it repeats the time and place of the
 * device's last fix, or has a fix time in 1970. Only its device time is valid then. Call once per position, in table
 * order.
 * @param lastFixes the last fix by device; updated with this position
 */
function hasStaleFix(
  { deviceid = '', fixtime = '', devicetime = fixtime, latitude, longitude }: Cells,
  lastFixes: Map<string, string>,
): boolean {
  const fix = JSON.stringify([fixtime, latitude, longitude]);
  const isRepeated = lastFixes.get(deviceid) === fix;
  lastFixes.set(deviceid, fix);
  const fixSeconds = secondsOf(fixtime);
  const isWithoutFix = isRepeated || (fixSeconds !== undefined && fixSeconds < noFixUntilSeconds);
  return isWithoutFix && devicetime !== fixtime;
}

function createRowReader(uniqueIds: ReadonlyMap<string, string>): (line: number, cells: Cells) => HistoryRow {
  const lastFixes = new Map<string, string>();
  return (line, cells) => toRow(line, cells, uniqueIds, hasStaleFix(cells, lastFixes));
}

function toRow(line: number, cells: Cells, uniqueIds: ReadonlyMap<string, string>, isOutdated: boolean): HistoryRow {
  const { deviceid = '', attributes, valid, outdated, id: _id, network: _network, ...others } = cells;
  const position: Record<string, unknown> = isOutdated ? { outdated: true } : {};
  for (const [name, cell] of Object.entries(others)) {
    position[members[name] ?? name] = numbers.has(name) ? Number(cell) : cell;
  }
  if (valid !== undefined) position['valid'] = /^(t|true|1)$/i.test(valid);
  if (outdated !== undefined) position['outdated'] = /^(t|true|1)$/i.test(outdated);
  try {
    position['attributes'] = attributes === undefined ? {} : JSON.parse(attributes);
  } catch {
    // Kept as text, like every attribute without a field.
    position['attributes'] = { attributes };
  }
  const reading = sourceFormats.traccar.toReading({ position });
  const origin = (field: string): string => columnOf.get(field) ?? `attributes (${field})`;
  const subject = { deviceId: uniqueIds.get(deviceid) ?? deviceid };
  return { line, subject, reading: reading as object, origin };
}
