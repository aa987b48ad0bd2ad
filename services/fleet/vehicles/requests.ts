import { type Operator, seesApplication } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { isUuid, uuidPattern } from '@odograph/contracts/text-patterns';
import { findListed } from '@odograph/database/accounts';
import { auditChange, operatorOrigin } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, moment, pageLimit, text, VehicleId, word } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { DescriptionFields, Plate } from '../common/vehicle-description.ts';
import { createVehicle } from './admin.ts';

const states = ['pending', 'approved', 'declined'] as const;
const nullable = (example: string) => Type.Union([Type.String({ examples: [example] }), Type.Null()]);
const RequestId = Type.String({ maxLength: 256, examples: ['0197a1de-5f0e-7000-8000-000000000005'] });
const RequestPath = Type.Object({ id: RequestId });
const ListedRequest = Type.Object(
  {
    requestId: RequestId,
    appId: AppId,
    userId: nullable('0197a1de-5f0e-7000-8000-000000000006'),
    plate: Type.String({ examples: ['AB-123-CD'] }),
    request: Type.String({ examples: ['OBD device with trips'] }),
    state: word(states),
    vehicleId: Type.Union([VehicleId, Type.Null()]),
    reason: nullable('not one of ours'),
    createdAt: moment('when it was made'),
    decidedAt: Type.Union([moment('when it was decided'), Type.Null()]),
  },
  { title: 'VehicleRequest' },
);

function addRequestList(http: Http, { db }: Fleet): void {
  const listOptions = {
    preValidation: leaveOutEmpty('appId', 'state', 'limit', 'after'),
    schema: {
      summary: 'List the requests for vehicles by age, oldest first',
      querystring: Type.Object({
        appId: Type.Optional(AppId),
        state: Type.Optional(word(states)),
        limit: pageLimit,
        after: Type.Optional(
          Type.String({
            pattern: uuidPattern,
            description: 'the last id of the page before',
            examples: ['0197a1de-5f0e-7000-8000-000000000005'],
          }),
        ),
      }),
      response: answers(Type.Object({ requests: Type.Array(ListedRequest) }), 'UNKNOWN_APPLICATION'),
    },
  };
  http.get('/v1/x/admin/requests', listOptions, async ({ query: { appId, state, after, limit }, operator }) => {
    const among = await findListed(db, operator, appId);
    return { requests: await listRequests(db, { among, state, after, limit }) };
  });
}

function addApproval(http: Http, { db, changes }: Fleet): void {
  const approveSchema = {
    summary: 'Approve a request: creates the vehicle and grants it to the user who made the request',
    params: RequestPath,
    body: Type.Object({
      plate: Type.Optional(Type.Unsafe<string>({ ...Plate, description: 'if it differs from the request' })),
      ...DescriptionFields,
    }),
    response: answers(Type.Object({ id: VehicleId }), 'NOT_FOUND', 'ALREADY_DECIDED', 'ALREADY_EXISTS'),
  };
  http.post(
    '/v1/x/admin/requests/:id/approve',
    { schema: approveSchema },
    async ({ params, body: { plate, ...description }, ip, operator }) => {
      const approved = await db.transaction().execute(async (trx) => {
        const request = await lockPending(trx, operator, params.id);
        const { applicationId } = request;
        const id = await createVehicle(trx, applicationId, { ...description, plate: plate ?? request.plate });
        await markApproved(trx, request, Number(id));
        await auditChange(
          trx,
          operatorOrigin({ ip, operator }, applicationId),
          'request.approve',
          `request:${request.id}`,
          { vehicleId: id, userId: request.userId },
        );
        return { id };
      });
      await changes.announce({ vehicleIds: [Number(approved.id)] });
      return approved;
    },
  );
}

/** The operator's routes for requests made with POST /v1/vehicle. */
export const requests: FleetRoutes = { operator: [addRequestList, addApproval, addDecline] };

function addDecline(http: Http, { db }: Fleet): void {
  const declineSchema = {
    summary: 'Decline a request',
    params: RequestPath,
    body: Type.Object({ reason: text(1, 1000, { examples: ['not one of ours'] }) }),
    response: answers(EmptyAnswer, 'NOT_FOUND', 'ALREADY_DECIDED'),
  };
  http.post('/v1/x/admin/requests/:id/decline', { schema: declineSchema }, async ({ params, body, ip, operator }) => {
    await db.transaction().execute(async (trx) => {
      const request = await lockPending(trx, operator, params.id);
      await markDeclined(trx, request, body.reason);
      await auditChange(
        trx,
        operatorOrigin({ ip, operator }, request.applicationId),
        'request.decline',
        `request:${request.id}`,
      );
    });
    return {};
  });
}

/** Lists requests by age, oldest first, at most `limit` after the one with the id `after`. */
async function listRequests(
  db: Database,
  {
    among,
    state,
    after,
    limit,
  }: {
    /** The applications; all without it. */
    among: readonly number[] | undefined;
    state: (typeof states)[number] | undefined;
    after: string | undefined;
    limit: number;
  },
): Promise<Type.Static<typeof ListedRequest>[]> {
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
interface PendingRequest {
  id: string;
  applicationId: number;
  userId: string | null;
  plate: string;
}

/**
 * Locks a request that an operator sees for a decision in this transaction.
 * @throws Failure NOT_FOUND, ALREADY_DECIDED
 */
async function lockPending(db: Database, operator: Operator, id: string): Promise<PendingRequest> {
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
async function markApproved(db: Database, { id, userId }: PendingRequest, vehicleId: number): Promise<void> {
  await db
    .updateTable('vehicle_request')
    .set({ state: 'approved', vehicle_id: vehicleId, decided_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
  if (userId === null) return;
  await db.insertInto('vehicle_grant').values({ user_id: userId, vehicle_id: vehicleId, role: 'manager' }).execute();
}

/** Marks a request as declined, with the reason. */
async function markDeclined(db: Database, { id }: PendingRequest, reason: string): Promise<void> {
  await db
    .updateTable('vehicle_request')
    .set({ state: 'declined', reason, decided_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}
