import type { CommandState, DeviceAction } from '@odograph/contracts/commands';
import { sql } from 'kysely';
import type { Database } from './database.ts';

/** A command as events show it. Times are ISO 8601, UTC. */
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
export async function findShownCommands(db: Database, ids: readonly string[]): Promise<ShownCommand[]> {
  const rows = await db
    .selectFrom('command')
    .select(['id', 'vehicle_id', 'action', 'state', 'created_at', 'expires_at', 'sent_at', 'ended_at'])
    .select(['cause', 'reason', 'status'])
    .where(sql<boolean>`id = any(${ids}::uuid[])`)
    .orderBy('position')
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
