import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { sql } from 'kysely';

/** A DBC file to store, checked. */
export interface NewCanDatabase {
  readonly model: string;
  readonly file: string;
  readonly dbc: string;
  readonly sha256: string;
  readonly messages: number;
  readonly signals: number;
  readonly positionKeys: readonly string[];
}

/** A stored DBC file as it is listed. */
export interface CanDatabaseRow extends Omit<NewCanDatabase, 'dbc'> {
  readonly importedAt: string;
  /** Vehicles of the model. */
  readonly vehicles: number;
}

/** Lists the DBC files by model. */
export async function listCanDatabases(db: Database): Promise<CanDatabaseRow[]> {
  const { rows } = await sql<CanDatabaseRow>`
    select model, file, sha256, messages, signals, position_keys as "positionKeys", ${isoTime('imported_at')} as "importedAt",
      (select count(*)::integer from vehicle where lower(vehicle.model) = lower(can_database.model) and deleted_at is null) as vehicles
    from can_database order by lower(model)`.execute(db);
  return rows;
}

/** Stores the DBC file of a model, or replaces it. Requests to decode frames of the model again start from the beginning. */
export async function storeCanDatabase(db: Database, given: NewCanDatabase): Promise<void> {
  const { model, file, dbc, sha256, messages, signals, positionKeys } = given;
  await sql`insert into can_database (model, file, dbc, sha256, messages, signals, position_keys)
    values (${model}, ${file}, ${dbc}, ${sha256}, ${messages}, ${signals}, ${[...positionKeys]}::text[])
    on conflict (lower(model)) do update set model = excluded.model, file = excluded.file, dbc = excluded.dbc,
      sha256 = excluded.sha256, messages = excluded.messages, signals = excluded.signals,
      position_keys = excluded.position_keys, imported_at = now()`.execute(db);
  await sql`update can_redecoding set vehicle_id = null, time = null, vehicles_done = 0, readings_done = 0, readings_changed = 0
    where lower(model) = lower(${model}) and finished_at is null`.execute(db);
}

/** Removes the DBC file of a model. Values that were decoded by it stay. @returns whether there was one */
export async function removeCanDatabase(db: Database, model: string): Promise<boolean> {
  const { rows } = await sql`delete from can_database where lower(model) = lower(${model}) returning model`.execute(db);
  await sql`update can_redecoding set finished_at = clock_timestamp()
    where lower(model) = lower(${model}) and finished_at is null`.execute(db);
  return rows.length > 0;
}

/**
 * Requests that the frames of a model are decoded again.
 * @param interval device times in ISO 8601, half-open; undefined for no bound
 * @returns the id of the request; undefined if the model has no DBC file
 */
export async function requestRedecoding(
  db: Database,
  model: string,
  interval: { readonly from: string | undefined; readonly until: string | undefined },
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`insert into can_redecoding (model, from_time, until_time)
    select model, ${interval.from ?? null}::timestamptz, ${interval.until ?? null}::timestamptz from can_database
    where lower(model) = lower(${model}) returning id::text`.execute(db);
  return rows[0]?.id;
}

/** How far a request to decode frames again is. */
export interface RedecodingRow {
  readonly id: string;
  readonly model: string;
  readonly requestedAt: string;
  readonly finishedAt: string | null;
  /** Vehicles of the model. */
  readonly vehicles: number;
  readonly vehiclesDone: number;
  readonly readingsDone: number;
  readonly readingsChanged: number;
}

/** Finds a request to decode frames again. */
export async function findRedecoding(db: Database, id: string): Promise<RedecodingRow | undefined> {
  const { rows } = await sql<RedecodingRow>`
    select id::text, model, ${isoTime('requested_at')} as "requestedAt", ${isoTime('finished_at')} as "finishedAt",
      vehicles_done as "vehiclesDone", readings_done as "readingsDone", readings_changed as "readingsChanged",
      (select count(*)::integer from vehicle where lower(vehicle.model) = lower(can_redecoding.model) and deleted_at is null)
        as vehicles
    from can_redecoding where id = ${id}::bigint`.execute(db);
  return rows[0];
}
