import { inspectFile, rowsOf } from './row-file.ts';

/** A row of a file of history: a reading in the form of an upload, or why it is none. */
export interface HistoryRow {
  /** In the file, from 1. */
  readonly line: number;
  /** The vehicle or device that the row names. */
  readonly subject?: { readonly vehicleId: string } | { readonly deviceId: string } | undefined;
  readonly reading?: object;
  /** Where a field of the reading comes from: the name of a column or element, by its path such as `location.latitude`. */
  readonly origin?: (field: string) => string;
  readonly fault?: { readonly column: string; readonly message: string };
}

/** Parses a number; other text stays text, which the platform rejects with the name of the field. */
export function numberOf(text: string): number | string {
  const number = Number(text);
  return text.trim() === '' || !Number.isFinite(number) ? text : number;
}

/** Reads NDJSON: readings as in exports and in the change feed, or as devices upload them. */
export async function* readNdjson(path: string): AsyncGenerator<HistoryRow> {
  const file = await inspectFile(path, 'utf-8');
  for await (const { line, record, fault } of rowsOf({ ...file, format: 'ndjson' }, () => [])) {
    if (typeof record !== 'object' || record === null || Array.isArray(record)) {
      yield { line, fault: { column: '', message: fault ?? 'must be an object' } };
      continue;
    }
    const { vehicle, ...reading } = record as { vehicle?: { id?: unknown } };
    const subject = typeof vehicle?.id === 'string' ? { vehicleId: vehicle.id } : undefined;
    yield { line, subject, reading };
  }
}
