import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import type { Scope } from '../lookup/rules.ts';
import type { Fields, FieldValue } from '../record/fields.ts';
import { identityOfFields, type VehicleIdentity } from '../record/vehicle-identity.ts';

/** One plate was rarely borne by more vehicles. */
const maximumRecords = 10;

/**
 * The imported records of a vehicle: those of the caller's application before those for everybody, then those with the
 * VIN before those with the plate alone, then the newest. With a VIN, a record of the plate that has another VIN is of
 * another vehicle.
 */
export async function findRecords(db: Database, { vin, plate }: VehicleIdentity, scope: Scope): Promise<Fields[]> {
  const byVin = vin ?? null;
  const { rows } = await sql<{ fields: Record<string, FieldValue> }>`
    select fields from registration_record
    where (application_id is null or application_id = ${scope.applicationId ?? null})
      and (vin = ${byVin} or (plate = ${plate ?? null} and (vin is null or ${byVin}::text is null)))
    order by application_id is null, vin is null, updated_at desc, id desc
    limit ${maximumRecords}`.execute(db);
  return rows.map(({ fields }) => new Map(Object.entries(fields)));
}

/**
 * Stores records; one with the identity of a stored one (its VIN, else its plate) replaces it.
 * @param records of different vehicles each
 * @returns how many were new or differed from what was stored
 */
export async function storeRecords(
  db: Database,
  applicationId: number | null,
  records: readonly Fields[],
): Promise<number> {
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

/** Removes the imported records of a vehicle. @returns how many there were */
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
