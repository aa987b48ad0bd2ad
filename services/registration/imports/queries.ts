import { invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { type Kysely, sql } from 'kysely';
import { storeRecords } from './record-queries.ts';
import { type ImportRow, type LineFault, readRows } from './rules.ts';

/** A file is known by the SHA-256 of its bytes, and imported for one application or for all (null). */
export interface ImportIdentity {
  applicationId: number | null;
  fileSha256: string;
}

/** How far an import is; `faults` are the first of them, by the line of the file. */
export interface ImportState {
  position: number;
  changed: number;
  unchanged: number;
  bad: number;
  finished: boolean;
  faults: LineFault[];
}

interface ImportRecord {
  id: number;
  position: number;
  changed: number;
  unchanged: number;
  bad: number;
  finished: boolean;
}

const columns = sql`id, position, changed, unchanged, bad, finished_at is not null as finished`;

function identified({ applicationId, fileSha256 }: ImportIdentity) {
  return sql`coalesce(application_id, 0) = ${applicationId ?? 0} and file_sha256 = ${fileSha256}`;
}

/** The state of an import; one that never began is at its beginning. */
export async function findImport(db: Database, identity: ImportIdentity, faultLimit: number): Promise<ImportState> {
  const { rows } = await sql<ImportRecord>`
    select ${columns} from registration_import where ${identified(identity)}`.execute(db);
  const [record] = rows;
  if (!record) return { position: 0, changed: 0, unchanged: 0, bad: 0, finished: false, faults: [] };
  const { id, ...state } = record;
  const faults = await sql<LineFault>`
    select line, field, message from registration_import_fault
    where import_id = ${id} order by id limit ${faultLimit}`.execute(db);
  return { ...state, faults: faults.rows };
}

/** Forgets how far an import came, so that the file is read again from its beginning. Its records stay. */
export async function forgetImport(db: Database, identity: ImportIdentity): Promise<void> {
  await sql`delete from registration_import where ${identified(identity)}`.execute(db);
}

async function lockImport(db: Database, identity: ImportIdentity): Promise<ImportRecord> {
  await sql`
    insert into registration_import (application_id, file_sha256)
    values (${identity.applicationId}, ${identity.fileSha256})
    on conflict (coalesce(application_id, 0), file_sha256) do nothing`.execute(db);
  const { rows } = await sql<ImportRecord>`
    select ${columns} from registration_import where ${identified(identity)} for update`.execute(db);
  const [record] = rows;
  if (!record) throw new Error('an import was forgotten while it went on');
  return record;
}

async function storeFaults(db: Database, importId: number, faults: readonly LineFault[]): Promise<void> {
  await sql`
    insert into registration_import_fault (import_id, line, field, message)
    select ${importId}, line, field, message
    from unnest(${faults.map(({ line }) => line)}::integer[], ${faults.map(({ field }) => field)}::text[],
                ${faults.map(({ message }) => message)}::text[]) as fault (line, field, message)`.execute(db);
}

/** A part of a file: rows that follow each other, the first after `position` others; `isLast` when the file ends. */
export interface ImportBatch {
  position: number;
  rows: readonly ImportRow[];
  isLast: boolean;
}

/**
 * Imports a part of a file, whole or not at all, with the count of its rows. A part that was imported before, or is not
 * the next one, changes nothing.
 * @returns how many rows of the file are done now
 * @throws Failure INVALID_PARAMETER for a part beyond the next one
 */
export async function importBatch(db: Kysely<Tables>, identity: ImportIdentity, batch: ImportBatch): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const { id, position } = await lockImport(trx, identity);
    if (batch.position > position) throw invalidParameter('position', `is beyond row ${position}, where the import is`);
    if (batch.position < position) return position;
    const { records, faults, badRows } = readRows(batch.rows);
    const changed = await storeRecords(trx, identity.applicationId, records);
    if (faults.length > 0) await storeFaults(trx, id, faults);
    const done = position + batch.rows.length;
    await sql`
      update registration_import set
        position = ${done}, changed = changed + ${changed}, bad = bad + ${badRows},
        unchanged = unchanged + ${batch.rows.length - badRows - changed},
        finished_at = case when ${batch.isLast} then now() end
      where id = ${id}`.execute(trx);
    return done;
  });
}
