import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import type { Fields, FieldValue } from '../record/fields.ts';
import type { VehicleIdentity } from '../record/vehicle-identity.ts';

/** An answer of the provider as it was kept; `fields` are absent when the provider did not know the vehicle. */
export interface KeptAnswer {
  fields?: Fields;
  fetchedAtMs: number;
}

export async function findKeptAnswer(
  db: Database,
  provider: string,
  { plate = '', vin = '' }: VehicleIdentity,
): Promise<KeptAnswer | undefined> {
  const { rows } = await sql<{ fields: Record<string, FieldValue> | null; fetched_at: Date }>`
    select fields, fetched_at from registration_provider_answer
    where provider_sha256 = ${provider} and plate = ${plate} and vin = ${vin}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const fetchedAtMs = row.fetched_at.getTime();
  return row.fields === null ? { fetchedAtMs } : { fields: new Map(Object.entries(row.fields)), fetchedAtMs };
}

export async function keepAnswer(
  db: Database,
  provider: string,
  { plate = '', vin = '' }: VehicleIdentity,
  answer: KeptAnswer,
): Promise<void> {
  const fields = answer.fields ? JSON.stringify(Object.fromEntries(answer.fields)) : null;
  await sql`
    insert into registration_provider_answer (provider_sha256, plate, vin, fields, fetched_at)
    values (${provider}, ${plate}, ${vin}, ${fields}::jsonb, ${new Date(answer.fetchedAtMs)})
    on conflict (provider_sha256, plate, vin) do update set fields = excluded.fields, fetched_at = excluded.fetched_at`.execute(
    db,
  );
}

/** Forgets what was kept about a vehicle, whichever way it was asked for. @returns how many answers went */
export async function forgetKeptAnswers(db: Database, { plate, vin }: VehicleIdentity): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from registration_provider_answer
    where plate = ${plate ?? null} or vin = ${vin ?? null}
       or fields ->> 'certificate.vin' = ${vin ?? null}
       or regexp_replace(fields ->> 'certificate.plate', '[^A-Z0-9]', '', 'g') = ${plate ?? null}`.execute(db);
  return Number(numAffectedRows);
}
