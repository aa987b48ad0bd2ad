import type { HistoryRow } from './history-rows.ts';
import { inspectText, type OpenFile, rowsOf } from './text-rows.ts';

/** Reads NDJSON: readings as in exports and in the change feed, or as devices upload them. */
export async function* readNdjson(open: OpenFile): AsyncGenerator<HistoryRow> {
  const file = await inspectText(open, 'utf-8');
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
