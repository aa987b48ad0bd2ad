import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

/** Columns of a trip; times are PostgreSQL literals. */
export interface StoredTrip {
  started_at: string;
  ended_at: string;
  distance_km: number;
  ends_known_at?: string;
  inferred?: boolean;
  fuel_litres?: number;
  fuel_percent?: number;
  electric_kwh?: number;
  first_latitude?: number;
  first_longitude?: number;
  last_latitude?: number;
  last_longitude?: number;
}

/** Stores a trip as segmentation does. @returns its id */
export async function storeTrip(db: Database, vehicleId: string, trip: StoredTrip): Promise<string> {
  const { rows } = await sql<{ id: string }>`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled,
      inferred, distance_km, fuel_litres, fuel_percent, electric_kwh, first_latitude, first_longitude, last_latitude,
      last_longitude)
    select ${vehicleId}::integer, started_at, ended_at, coalesce(ends_known_at, ended_at), true, coalesce(inferred, false),
      distance_km, fuel_litres, fuel_percent, electric_kwh, first_latitude, first_longitude, last_latitude, last_longitude
    from jsonb_populate_record(null::trip, ${JSON.stringify(trip)}::jsonb) returning id`.execute(db);
  return rows[0]?.id ?? '';
}
