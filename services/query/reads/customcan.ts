import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { parseTimestamp, type Timestamp } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { customCanMembers, latestMembers } from '@odograph/database/reading-json';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { type NextPage, sendJson, sendPage } from '@odograph/http/paging';
import { pageHeaders, answers as responses, timestamp as timestampOf } from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type from 'typebox';
import type { Answers, ListRow } from '../shared/answers.ts';
import { readerOf } from '../shared/read-budget.ts';
import { readContinuation, writeContinuation } from '../shared/reading-keys.ts';
import { maximumReadings, openReadingPage, type PageRequest, type ReadingPage } from '../shared/reading-page.ts';
import { after, CustomCanReading, VehicleParameters } from '../shared/schemas.ts';
import {
  hasProprietaryCan,
  scopeOfCaller,
  scopeOfVehicle,
  vehiclesOfCaller,
  vehicleWithId,
} from '../shared/vehicle-scope.ts';

const source = sql`from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id`;

/** Selects the latest CAN data of every vehicle with a proprietary CAN protocol and an id greater than `lastId`. */
export function latestCustomCan(caller: Caller, lastId: number): RawBuilder<ListRow> {
  return sql<ListRow>`select vehicle.id, concat('{', ${latestMembers.customCan}, '}') as json ${source}
    where ${vehiclesOfCaller(caller, hasProprietaryCan)} and vehicle.id > ${lastId} order by vehicle.id`;
}

/**
 * Reads the latest CAN data of one vehicle as JSON text.
 * @throws Failure UNKNOWN_VEHICLE; NO_DATA without data or without a proprietary CAN protocol
 */
async function findLatestCustomCan(db: Database, caller: Caller, vehicleId: string): Promise<string> {
  const { id } = await findVehicle(db, caller, vehicleId);
  const { rows } = await sql<{ json: string }>`select concat('{', ${latestMembers.customCan}, '}') as json ${source}
    where ${vehicleWithId(id, hasProprietaryCan)}`.execute(db);
  if (!rows[0]) throw new Failure('NO_DATA');
  return rows[0].json;
}

const frame = { start: '[', end: ']' };
const timestamp = timestampOf('start, inclusive');
const From = Type.Object({ timestamp });
const VehicleFrom = Type.Object({ ...VehicleParameters.properties, timestamp });
const Continuation = Type.Object({ after });

function readRequest(from: Timestamp, continuation: string | undefined): PageRequest {
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
export function customCanRoutes(answers: Answers, db: Database): RoutePlugin {
  return (http) => {
    addLatestRoutes(http, answers, db);
    addReadingRoutes(http, answers);
  };
}

function addLatestRoutes(http: Http, answers: Answers, db: Database): void {
  http.get(
    '/v1/vehicles/customcan',
    {
      schema: {
        tags: ['customcan'],
        summary: 'Latest CAN data of all vehicles',
        response: responses(Type.Array(CustomCanReading)),
      },
    },
    async (request, reply) => {
      const list = (_db: Database, lastId: number) => latestCustomCan(request.caller, lastId);
      return sendJson(reply, await answers.openList(readerOf(request), list));
    },
  );

  http.get(
    '/v1/vehicle/:id/customcan',
    {
      schema: {
        tags: ['customcan'],
        summary: 'Latest CAN data of one vehicle',
        params: VehicleParameters,
        response: responses(CustomCanReading, 'UNKNOWN_VEHICLE', 'NO_DATA'),
      },
    },
    async ({ caller, params }, reply) => sendJson(reply, await findLatestCustomCan(db, caller, params.id)),
  );
}

function addReadingRoutes(http: Http, answers: Answers): void {
  http.get(
    '/v1/vehicles/customcan/from/:timestamp',
    {
      schema: {
        tags: ['customcan'],
        summary: 'CAN data of all vehicles since a point in time, by time, then vehicle',
        answerHeaders: pageHeaders,
        params: From,
        querystring: Continuation,
        response: responses(Type.Array(CustomCanReading)),
      },
    },
    async (request, reply) => {
      const { caller, params, query } = request;
      const page = await openReadingPage(answers, readerOf(request), readRequest(params.timestamp, query.after), {
        members: customCanMembers,
        frame,
        findScope: (db) => scopeOfCaller(db, caller, hasProprietaryCan),
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
        summary: 'CAN data of one vehicle since a point in time, by time',
        answerHeaders: pageHeaders,
        params: VehicleFrom,
        querystring: Continuation,
        response: responses(Type.Array(CustomCanReading), 'UNKNOWN_VEHICLE', 'NO_DATA'),
      },
    },
    async (request, reply) => {
      const { caller, query } = request;
      const { id, timestamp: from } = request.params;
      const page = await openReadingPage(answers, readerOf(request), readRequest(from, query.after), {
        members: customCanMembers,
        frame,
        findScope: (db) => scopeOfVehicle(db, caller, id, hasProprietaryCan),
      });
      const path = `/v1/vehicle/${id}/customcan/from/${encodeURIComponent(from)}`;
      return sendPage(reply, page.body, nextPage(path, page));
    },
  );
}
