import type { Database } from '@odograph/database/database';
import type { ApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { sql } from 'kysely';
import { expect } from 'vitest';

/** The time of the first message of a test, in UNIX seconds. */
export const start = 1_763_712_000;

export interface HistoryReading {
  readonly timestamp: number;
  readonly status?: Record<string, unknown>;
}

/** Reads the history of a vehicle once it has a number of readings. */
export function readHistory(client: ApiClient, vehicleId: string, count: number): Promise<HistoryReading[]> {
  return eventually(async () => {
    const { body } = await client.get(`/v1/vehicle/${vehicleId}/history?from=${start - 60}&until=${start + 3600}`);
    expect(body.status).toHaveLength(count);
    return body.status as HistoryReading[];
  });
}

export interface QuarantineRow {
  readonly id: string;
  readonly format: string;
  readonly application_id: number | null;
  readonly reasons: string[];
  readonly times_seen: number;
  readonly resolved: boolean;
}

/** Reads the quarantined uploads of a device, oldest first. */
export async function readQuarantine(db: Database, deviceId: string): Promise<QuarantineRow[]> {
  const { rows } = await sql<QuarantineRow>`select id::text, format, application_id, times_seen,
      resolved_at is not null as resolved,
      array(select fault->>'reason' from jsonb_array_elements(faults) as fault) as reasons
    from quarantine where device_id = ${deviceId} order by id`.execute(db);
  return rows;
}
