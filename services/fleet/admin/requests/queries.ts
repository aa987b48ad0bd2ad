import { type Operator, seesApplication } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/uuid';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

/** A request for a vehicle as the operator sees it. */
export interface VehicleRequest {
  requestId: string;
  appId: string;
  userId: string | null;
  plate: string;
  request: string;
  state: 'pending' | 'approved' | 'declined';
  vehicleId: string | null;
  reason: string | null;
  createdAt: string;
  decidedAt: string | null;
}

/** Lists requests by age, oldest first, at most `limit` after the one with the id `after`. */
export async function listRequests(
  db: Database,
  {
    among,
    state,
    after,
    limit,
  }: {
    /** The applications; all without it. */
    among: readonly number[] | undefined;
    state: VehicleRequest['state'] | undefined;
    after: string | undefined;
    limit: number;
  },
): Promise<VehicleRequest[]> {
  let query = db
    .selectFrom('vehicle_request as request')
    .innerJoin('application', 'application.id', 'request.application_id')
    .select(['request.id as requestId', 'application.app_id as appId', 'request.user_id as userId', 'request.plate'])
    .select(['request.request', 'request.state', 'request.vehicle_id', 'request.reason'])
    .select(['request.created_at', 'request.decided_at'])
    .orderBy('request.created_at')
    .orderBy('request.id')
    .limit(limit);
  if (among !== undefined) query = query.where(sql<boolean>`request.application_id = any (${[...among]}::integer[])`);
  if (state !== undefined) query = query.where('request.state', '=', state);
  if (after !== undefined) {
    query = query.where(
      sql<boolean>`(request.created_at, request.id) > (select created_at, id from vehicle_request where id = ${after})`,
    );
  }
  const rows = await query.execute();
  return rows.map(({ vehicle_id, created_at, decided_at, ...row }) => ({
    ...row,
    vehicleId: vehicle_id === null ? null : String(vehicle_id),
    createdAt: created_at.toISOString(),
    decidedAt: decided_at?.toISOString() ?? null,
  }));
}

/** A request without a decision. */
export interface PendingRequest {
  id: string;
  applicationId: number;
  userId: string | null;
  plate: string;
}

/**
 * Locks a request that an operator sees for a decision in this transaction.
 * @throws Failure NOT_FOUND, ALREADY_DECIDED
 */
export async function lockPending(db: Database, operator: Operator, id: string): Promise<PendingRequest> {
  const row = isUuid(id)
    ? await db
        .selectFrom('vehicle_request')
        .select(['id', 'application_id as applicationId', 'user_id as userId', 'plate', 'state'])
        .where('id', '=', id)
        .forUpdate()
        .executeTakeFirst()
    : undefined;
  if (!row || !seesApplication(operator, row.applicationId)) throw new Failure('NOT_FOUND', 'no request has this id');
  const { state, ...request } = row;
  if (state !== 'pending') throw new Failure('ALREADY_DECIDED', `the request is already ${state}`);
  return request;
}

/** Marks a request as approved and makes the user who made it a manager of the vehicle. */
export async function markApproved(db: Database, { id, userId }: PendingRequest, vehicleId: number): Promise<void> {
  await db
    .updateTable('vehicle_request')
    .set({ state: 'approved', vehicle_id: vehicleId, decided_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
  if (userId === null) return;
  await db.insertInto('vehicle_grant').values({ user_id: userId, vehicle_id: vehicleId, role: 'manager' }).execute();
}

/** Marks a request as declined, with the reason. */
export async function markDeclined(db: Database, { id }: PendingRequest, reason: string): Promise<void> {
  await db
    .updateTable('vehicle_request')
    .set({ state: 'declined', reason, decided_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}
