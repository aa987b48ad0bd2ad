import type { CommandState, DeviceAction } from '@odograph/contracts/commands';
import { type SelectQueryBuilder, sql } from 'kysely';
import type { Database } from './database.ts';
import type { Tables } from './tables.ts';

/** A command as lists and events show it. Times are ISO 8601, UTC. */
export interface ShownCommand {
  readonly vehicleId: string;
  readonly id: string;
  readonly action: DeviceAction;
  readonly state: CommandState;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly sentAt?: string;
  readonly endedAt?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly status?: string;
}

/** Finds the commands among these ids, in the order in which they were requested. */
export function findShownCommands(db: Database, ids: readonly string[]): Promise<ShownCommand[]> {
  return showCommands(db.selectFrom('command').where(sql<boolean>`id = any(${ids}::uuid[])`).orderBy('position'));
}

/** Lists the latest commands of a vehicle, newest first. */
export function listCommands(db: Database, vehicleId: number, limit: number): Promise<ShownCommand[]> {
  return showCommands(
    db.selectFrom('command').where('vehicle_id', '=', vehicleId).orderBy('position', 'desc').limit(limit),
  );
}

async function showCommands(query: SelectQueryBuilder<Tables, 'command', object>): Promise<ShownCommand[]> {
  const rows = await query
    .select(['id', 'vehicle_id', 'action', 'state', 'created_at', 'expires_at', 'sent_at', 'ended_at'])
    .select(['cause', 'reason', 'status'])
    .execute();
  return rows.map((row) => ({
    vehicleId: String(row.vehicle_id),
    id: row.id,
    action: row.action as DeviceAction,
    state: row.state,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
    ...(row.sent_at !== null && { sentAt: row.sent_at.toISOString() }),
    ...(row.ended_at !== null && { endedAt: row.ended_at.toISOString() }),
    ...(row.cause !== null && { reason: row.cause }),
    ...(row.reason !== null && { message: row.reason }),
    ...(row.status !== null && { status: row.status }),
  }));
}
