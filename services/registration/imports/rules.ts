import type { Fields } from '../record/fields.ts';
import { type Fault, readFields } from '../record/read-fields.ts';
import { identityOfFields } from '../record/vehicle-identity.ts';

/** A row of a file: its record, or the reason why the client could not parse the row. */
export interface ImportRow {
  line: number;
  record?: unknown;
  fault?: string;
}

export interface LineFault extends Fault {
  line: number;
}

/** Bounds the faults of one row: each of its 151 fields may be invalid. */
const maximumFaultsPerRow = 20;
const maximumNameLength = 128;

function readRow({ record, fault }: ImportRow): { fields: Fields; faults: Fault[] } {
  if (fault !== undefined) return { fields: new Map(), faults: [{ field: '', message: fault }] };
  const read = readFields(record);
  if (read.faults.length > 0) return read;
  const { vin, plate } = identityOfFields(read.fields);
  if (vin !== undefined || plate !== undefined) return read;
  return { ...read, faults: [{ field: 'certificate.plate', message: 'is missing, and certificate.vin too' }] };
}

/** Records with the same key describe the same vehicle. */
function keyOf(fields: Fields): string {
  const { vin, plate } = identityOfFields(fields);
  return vin ?? plate ?? '';
}

/**
 * Reads the rows of a part of a file. Rows with a fault are left out as a whole; of several rows for one vehicle the last
 * one counts.
 */
export function readRows(rows: readonly ImportRow[]): { records: Fields[]; faults: LineFault[]; badRows: number } {
  const records = new Map<string, Fields>();
  const faults: LineFault[] = [];
  let badRows = 0;
  for (const row of rows) {
    const read = readRow(row);
    if (read.faults.length > 0) {
      badRows += 1;
      for (const { field, message } of read.faults.slice(0, maximumFaultsPerRow)) {
        faults.push({ line: row.line, field: storable(field), message });
      }
      continue;
    }
    const key = keyOf(read.fields);
    // Deleted first, so that records keep the order of their last rows.
    records.delete(key);
    records.set(key, read.fields);
  }
  return { records: [...records.values()], faults, badRows };
}

function storable(name: string): string {
  return name.slice(0, maximumNameLength).replace(/[\0\p{Surrogate}]/gu, '');
}
