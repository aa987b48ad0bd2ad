import { parseTimestamp } from '@odograph/contracts/timestamps';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { type NextPage, sendJson, sendPage } from '@odograph/http/paging';
import { answers } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { readContinuation, writeContinuation } from '../continuation.ts';
import { listFrame, streamJson } from '../json-stream.ts';
import { customCanMembers } from '../reading-json.ts';
import { maximumReadings, openReadingPage, type PageRequest, type ReadingPage } from '../reading-page.ts';
import { after, CustomCanReading, moment, VehicleParameters } from '../schemas.ts';
import { withSnapshot } from '../snapshot.ts';
import { hasProprietaryCan, scopeOfCaller, scopeOfVehicle } from '../vehicle-scope.ts';
import { findLatestCustomCan, latestCustomCan } from './queries.ts';

const timestamp = moment('start, inclusive');
const From = Type.Object({ timestamp });
const VehicleFrom = Type.Object({ ...VehicleParameters.properties, timestamp });
const Continuation = Type.Object({ after });

function readRequest(from: string, continuation: string | undefined): PageRequest {
  return {
    from: parseTimestamp('timestamp', from),
    limit: maximumReadings,
    offset: 0,
    ...(continuation === undefined ? {} : { after: readContinuation(continuation) }),
  };
}

function nextPage(path: string, { continueAfter }: ReadingPage): NextPage | undefined {
  return continueAfter && { path, parameters: { after: writeContinuation(continueAfter) } };
}

/** Interface specification, "Dynamic data": CAN data of vehicles with a proprietary CAN protocol. */
export function addCustomCanRoutes(http: Http, db: Kysely<Tables>): void {
  addLatestRoutes(http, db);
  addReadingRoutes(http, db);
}

function addLatestRoutes(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/vehicles/customcan',
    {
      schema: {
        tags: ['customcan'],
        summary: 'Latest CAN data of all vehicles',
        response: answers(Type.Array(CustomCanReading)),
      },
    },
    async ({ caller }, reply) => {
      const body = await withSnapshot(db, (snapshot) =>
        streamJson(snapshot, latestCustomCan(caller), listFrame, (row) => row.json),
      );
      return sendJson(reply, body);
    },
  );

  http.get(
    '/v1/vehicle/:id/customcan',
    {
      schema: {
        tags: ['customcan'],
        summary: 'Latest CAN data of one vehicle',
        params: VehicleParameters,
        response: answers(CustomCanReading, 'UNKNOWN_VEHICLE', 'NO_DATA'),
      },
    },
    async ({ caller, params }, reply) => sendJson(reply, await findLatestCustomCan(db, caller, params.id)),
  );
}

function addReadingRoutes(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/vehicles/customcan/from/:timestamp',
    {
      schema: {
        tags: ['customcan'],
        summary: 'CAN data of all vehicles since a moment, by time, then vehicle',
        params: From,
        querystring: Continuation,
        response: answers(Type.Array(CustomCanReading)),
      },
    },
    async ({ caller, params, query }, reply) => {
      const request = readRequest(params.timestamp, query.after);
      const page = await withSnapshot(db, async (snapshot) => {
        const scope = await scopeOfCaller(snapshot.db, caller, hasProprietaryCan);
        return openReadingPage(snapshot, scope, request, customCanMembers, listFrame);
      });
      const path = `/v1/vehicles/customcan/from/${encodeURIComponent(params.timestamp)}`;
      return sendPage(reply, page.body, nextPage(path, page));
    },
  );

  http.get(
    '/v1/vehicle/:id/customcan/from/:timestamp',
    {
      schema: {
        tags: ['customcan'],
        summary: 'CAN data of one vehicle since a moment, by time',
        params: VehicleFrom,
        querystring: Continuation,
        response: answers(Type.Array(CustomCanReading), 'UNKNOWN_VEHICLE', 'NO_DATA'),
      },
    },
    async ({ caller, params: { id, timestamp: from }, query }, reply) => {
      const request = readRequest(from, query.after);
      const page = await withSnapshot(db, async (snapshot) => {
        const scope = await scopeOfVehicle(snapshot.db, caller, id, hasProprietaryCan);
        return openReadingPage(snapshot, scope, request, customCanMembers, listFrame);
      });
      const path = `/v1/vehicle/${id}/customcan/from/${encodeURIComponent(from)}`;
      return sendPage(reply, page.body, nextPage(path, page));
    },
  );
}
