import { uuidPattern } from '@odograph/contracts/uuid';
import { findListed } from '@odograph/database/accounts';
import { appendAudit, operatorOrigin } from '@odograph/database/audit';
import type { Tables } from '@odograph/database/tables';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { AppId, answers, EmptyAnswer, moment, pageLimit, text, VehicleId, word } from '@odograph/http/schemas';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { createVehicle } from '../vehicles/queries.ts';
import { DescriptionFields, Plate } from '../vehicles/schemas.ts';
import { listRequests, lockPending, markApproved, markDeclined } from './queries.ts';

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

function addRequestList(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/x/admin/requests',
    {
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
    },
    async ({ query: { appId, state, after, limit }, operator }) => {
      const among = await findListed(db, operator, appId);
      return { requests: await listRequests(db, { among, state, after, limit }) };
    },
  );
}

function addApproval(http: Http, db: Kysely<Tables>, changes: ChangeAnnouncer): void {
  http.post(
    '/v1/x/admin/requests/:id/approve',
    {
      schema: {
        summary: 'Approve a request: creates the vehicle and grants it to the user who made the request',
        params: RequestPath,
        body: Type.Object({
          plate: Type.Optional(Type.Unsafe<string>({ ...Plate, description: 'if it differs from the request' })),
          ...DescriptionFields,
        }),
        response: answers(Type.Object({ id: VehicleId }), 'NOT_FOUND', 'ALREADY_DECIDED', 'ALREADY_EXISTS'),
      },
    },
    async ({ params, body: { plate, vin, brand, model, energy, seats, gearbox, kind, accessories }, ip, operator }) => {
      const approved = await db.transaction().execute(async (trx) => {
        const request = await lockPending(trx, operator, params.id);
        const description = { vin, brand, model, energy, seats, gearbox, kind, accessories };
        const { applicationId } = request;
        const id = await createVehicle(trx, applicationId, { ...description, plate: plate ?? request.plate });
        await markApproved(trx, request, Number(id));
        await appendAudit(trx, {
          ...operatorOrigin({ ip, operator }, applicationId),
          action: 'request.approve',
          subject: `request:${request.id}`,
          details: { vehicleId: id, userId: request.userId },
          outcome: 'done',
        });
        return { id };
      });
      await changes.announce({ vehicleIds: [Number(approved.id)] });
      return approved;
    },
  );
}

/** The operator's routes for requests made with POST /v1/vehicle. */
export function operatorRequestRoutes(db: Kysely<Tables>, changes: ChangeAnnouncer): RoutePlugin {
  return (http) => {
    addRequestList(http, db);
    addApproval(http, db, changes);
    addDecline(http, db);
  };
}

function addDecline(http: Http, db: Kysely<Tables>): void {
  http.post(
    '/v1/x/admin/requests/:id/decline',
    {
      schema: {
        summary: 'Decline a request',
        params: RequestPath,
        body: Type.Object({ reason: text(1, 1000, { examples: ['not one of ours'] }) }),
        response: answers(EmptyAnswer, 'NOT_FOUND', 'ALREADY_DECIDED'),
      },
    },
    async ({ params, body, ip, operator }) => {
      await db.transaction().execute(async (trx) => {
        const request = await lockPending(trx, operator, params.id);
        await markDeclined(trx, request, body.reason);
        await appendAudit(trx, {
          ...operatorOrigin({ ip, operator }, request.applicationId),
          action: 'request.decline',
          subject: `request:${request.id}`,
          outcome: 'done',
        });
      });
      return {};
    },
  );
}
