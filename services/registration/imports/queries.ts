import { invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { type Kysely, sql } from 'kysely';
import type { Fields, FieldValue } from '../record/fields.ts';
import { identityOfFields, type VehicleIdentity } from '../record/identity.ts';
import { type Fault, readFields } from '../record/read-fields.ts';

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
const maxFaultsPerRow = 20;
const maxNameLength = 128;

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
function readRows(rows: readonly ImportRow[]): { records: Fields[]; faults: LineFault[]; badRows: number } {
  const records = new Map<string, Fields>();
  const faults: LineFault[] = [];
  let badRows = 0;
  for (const row of rows) {
    const read = readRow(row);
    if (read.faults.length > 0) {
      badRows += 1;
      for (const { field, message } of read.faults.slice(0, maxFaultsPerRow)) {
        faults.push({
          line: row.line,
          field: field.slice(0, maxNameLength).replace(/[\0\p{Surrogate}]/gu, ''),
          message,
        });
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

/** Identifies an import by the SHA-256 of the file and the application that sees its records (null for all). */
export interface ImportIdentity {
  applicationId: number | null;
  fileSha256: string;
}

interface Progress {
  /** Rows done. */
  position: number;
  changed: number;
  unchanged: number;
  bad: number;
  finished: boolean;
}

/** The progress of an import and its first faults, in file order. */
export interface ImportState extends Progress {
  faults: LineFault[];
}

interface ImportRecord extends Progress {
  id: number;
}

const columns = sql`id, position, changed, unchanged, bad, finished_at is not null as finished`;

function isImport({ applicationId, fileSha256 }: ImportIdentity) {
  return sql`coalesce(application_id, 0) = ${applicationId ?? 0} and file_sha256 = ${fileSha256}`;
}

/** Reads the state of an import; an unknown import is at position 0. */
export async function findImport(db: Database, identity: ImportIdentity, faultLimit: number): Promise<ImportState> {
  const { rows } = await sql<ImportRecord>`
    select ${columns} from registration_import where ${isImport(identity)}`.execute(db);
  const [record] = rows;
  if (!record) return { position: 0, changed: 0, unchanged: 0, bad: 0, finished: false, faults: [] };
  const { id, ...progress } = record;
  const faults = await sql<LineFault>`
    select line, field, message from registration_import_fault
    where import_id = ${id} order by id limit ${faultLimit}`.execute(db);
  return { ...progress, faults: faults.rows };
}

/** Resets an import to the first row of its file. Records that it stored stay. */
export async function resetImport(db: Database, identity: ImportIdentity): Promise<void> {
  await sql`delete from registration_import where ${isImport(identity)}`.execute(db);
}

async function lockImport(db: Database, identity: ImportIdentity): Promise<ImportRecord> {
  await sql`
    insert into registration_import (application_id, file_sha256)
    values (${identity.applicationId}, ${identity.fileSha256})
    on conflict (coalesce(application_id, 0), file_sha256) do nothing`.execute(db);
  const { rows } = await sql<ImportRecord>`
    select ${columns} from registration_import where ${isImport(identity)} for update`.execute(db);
  const [record] = rows;
  if (!record) throw new Error('import was reset concurrently');
  return record;
}

async function storeFaults(db: Database, importId: number, faults: readonly LineFault[]): Promise<void> {
  await sql`
    insert into registration_import_fault (import_id, line, field, message)
    select ${importId}, line, field, message
    from unnest(${faults.map(({ line }) => line)}::integer[], ${faults.map(({ field }) => field)}::text[],
                ${faults.map(({ message }) => message)}::text[]) as fault (line, field, message)`.execute(db);
}

/** Consecutive rows of a file, the first at `position` (from 0); `isLast` when the file ends with them. */
export interface ImportPart {
  position: number;
  rows: readonly ImportRow[];
  isLast: boolean;
}

/**
 * Imports a part of a file in one transaction with its progress. A part that was imported before changes nothing.
 * @returns how many rows of the file are done
 * @throws Failure INVALID_PARAMETER for a part that would leave a gap
 */
export async function importPart(db: Kysely<Tables>, identity: ImportIdentity, part: ImportPart): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const { id, position } = await lockImport(trx, identity);
    if (part.position > position) throw invalidParameter('position', `is beyond ${position}, the next row to import`);
    if (part.position < position) return position;
    const { records, faults, badRows } = readRows(part.rows);
    const changed = await storeRecords(trx, identity.applicationId, records);
    if (faults.length > 0) await storeFaults(trx, id, faults);
    const done = position + part.rows.length;
    await sql`
      update registration_import set
        position = ${done}, changed = changed + ${changed}, bad = bad + ${badRows},
        unchanged = unchanged + ${part.rows.length - badRows - changed},
        finished_at = case when ${part.isLast} then now() end
      where id = ${id}`.execute(trx);
    return done;
  });
}

/** Far more vehicles than one plate was ever issued to. */
const maxRecords = 10;

/**
 * Finds the imported records of a vehicle in descending priority: those of the caller's application before those for
 * all, records with the VIN before records with the plate only, then the newest. Given a VIN, records of the same plate
 * with another VIN are left out: they describe another vehicle.
 */
export async function findRecords(
  db: Database,
  { vin, plate }: VehicleIdentity,
  applicationId: number | undefined,
): Promise<Fields[]> {
  const byVin = vin ?? null;
  const { rows } = await sql<{ fields: Record<string, FieldValue> }>`
    select fields from registration_record
    where (application_id is null or application_id = ${applicationId ?? null})
      and (vin = ${byVin} or (plate = ${plate ?? null} and (vin is null or ${byVin}::text is null)))
    order by application_id is null, vin is null, updated_at desc, id desc
    limit ${maxRecords}`.execute(db);
  return rows.map(({ fields }) => new Map(Object.entries(fields)));
}

/**
 * Stores records; a record replaces the stored one with the same VIN, else the same plate.
 * @param records at most one for each vehicle
 * @returns how many are new or differ from the stored one
 */
async function storeRecords(db: Database, applicationId: number | null, records: readonly Fields[]): Promise<number> {
  if (records.length === 0) return 0;
  const rows = records.map((fields) => ({ ...identityOfFields(fields), fields: Object.fromEntries(fields) }));
  const { rows: changed } = await sql`
    insert into registration_record (application_id, plate, vin, fields, updated_at)
    select ${applicationId}::integer, row ->> 'plate', row ->> 'vin', row -> 'fields', clock_timestamp()
    from jsonb_array_elements(${JSON.stringify(rows)}::jsonb) row
    on conflict (coalesce(application_id, 0), coalesce('vin:' || vin, 'plate:' || plate)) do update
      set plate = excluded.plate, fields = excluded.fields, updated_at = excluded.updated_at
      where (registration_record.plate, registration_record.fields) is distinct from (excluded.plate, excluded.fields)
    returning id`.execute(db);
  return changed.length;
}

/** Deletes the imported records of a vehicle and returns how many there were. */
export async function removeRecords(
  db: Database,
  { vin, plate }: VehicleIdentity,
  applicationId: number | null,
): Promise<number> {
  const { rows } = await sql`
    delete from registration_record
    where application_id is not distinct from ${applicationId}::integer
      and (vin = ${vin ?? null} or plate = ${plate ?? null})
    returning id`.execute(db);
  return rows.length;
}
