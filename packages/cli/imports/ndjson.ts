import { inspectFile, rowsOf } from '../registration-file.ts';
import type { HistoryRow } from './rows.ts';

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
