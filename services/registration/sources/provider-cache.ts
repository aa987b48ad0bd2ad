import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import type { Fields, FieldValue } from '../record/fields.ts';
import type { VehicleIdentity } from '../record/vehicle-identity.ts';

/** A cached answer of the provider; `fields` is undefined when the provider did not know the vehicle. */
export interface CachedAnswer {
  fields?: Fields;
  fetchedAtMs: number;
}

/** Reads the cached answer of a provider (by the SHA-256 of its settings) about a vehicle. */
export async function findCachedAnswer(
  db: Database,
  provider: string,
  { plate = '', vin = '' }: VehicleIdentity,
): Promise<CachedAnswer | undefined> {
  const { rows } = await sql<{ fields: Record<string, FieldValue> | null; fetched_at: Date }>`
    select fields, fetched_at from registration_provider_answer
    where provider_sha256 = ${provider} and plate = ${plate} and vin = ${vin}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const fetchedAtMs = row.fetched_at.getTime();
  return row.fields === null ? { fetchedAtMs } : { fields: new Map(Object.entries(row.fields)), fetchedAtMs };
}

/** Stores an answer, replacing the cached one. */
export async function cacheAnswer(
  db: Database,
  provider: string,
  { plate = '', vin = '' }: VehicleIdentity,
  answer: CachedAnswer,
): Promise<void> {
  const fields = answer.fields ? JSON.stringify(Object.fromEntries(answer.fields)) : null;
  await sql`
    insert into registration_provider_answer (provider_sha256, plate, vin, fields, fetched_at)
    values (${provider}, ${plate}, ${vin}, ${fields}::jsonb, ${new Date(answer.fetchedAtMs)})
    on conflict (provider_sha256, plate, vin) do update set fields = excluded.fields, fetched_at = excluded.fetched_at`.execute(
    db,
  );
}

/** Deletes the cached answers about a vehicle, looked up by plate or by VIN, and returns how many there were. */
export async function deleteCachedAnswers(db: Database, { plate, vin }: VehicleIdentity): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from registration_provider_answer
    where plate = ${plate ?? null} or vin = ${vin ?? null}
       or fields ->> 'certificate.vin' = ${vin ?? null}
       or regexp_replace(fields ->> 'certificate.plate', '[^A-Z0-9]', '', 'g') = ${plate ?? null}`.execute(db);
  return Number(numAffectedRows);
}
