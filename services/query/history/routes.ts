import { invalidParameter } from '@odograph/contracts/failures';
import { parseTimestamp } from '@odograph/contracts/timestamps';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { type NextPage, sendPage } from '@odograph/http/paging';
import { answers } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { readContinuation, writeContinuation } from '../continuation.ts';
import type { Frame } from '../json-stream.ts';
import { historyMembers } from '../reading-json.ts';
import { openReadingPage, type PageRequest, type ReadingPage } from '../reading-page.ts';
import { HistoryQuery, HistoryReading, VehicleParameters } from '../schemas.ts';
import { withSnapshot } from '../snapshot.ts';
import { scopeOfCaller, scopeOfVehicle } from '../vehicle-scope.ts';

const frame: Frame = { start: '{"status":[', end: ']}' };
const History = Type.Object({ status: Type.Array(HistoryReading) });

/** The schema validator lets the word Infinity pass for an integer. */
function finite(field: string, value: number): number {
  if (!Number.isFinite(value)) throw invalidParameter(field, 'must be integer');
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}

function readQuery({ from, until, limit, offset, after }: HistoryQuery): PageRequest {
  return {
    from: parseTimestamp('from', from),
    until: parseTimestamp('until', until),
    limit: finite('limit', limit),
    offset: finite('offset', offset),
    ...(after === undefined ? {} : { after: readContinuation(after) }),
  };
}

function nextPage(path: string, { from, until, limit }: HistoryQuery, page: ReadingPage): NextPage | undefined {
  if (!page.continueAfter) return undefined;
  return { path, parameters: { from, until, limit: String(limit), after: writeContinuation(page.continueAfter) } };
}

/** Interface specification, "Dynamic data": the history of one vehicle, and of all. */
export function addHistoryRoutes(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/vehicles/history',
    {
      schema: {
        tags: ['history'],
        summary: 'Readings of all vehicles, by time, then vehicle',
        querystring: HistoryQuery,
        response: answers(History),
      },
    },
    async ({ caller, query }, reply) => {
      const request = readQuery(query);
      const page = await withSnapshot(db, async (snapshot) =>
        openReadingPage(snapshot, await scopeOfCaller(snapshot.db, caller), request, historyMembers, frame),
      );
      return sendPage(reply, page.body, nextPage('/v1/vehicles/history', query, page));
    },
  );

  http.get(
    '/v1/vehicle/:id/history',
    {
      schema: {
        tags: ['history'],
        summary: 'Readings of one vehicle, by time',
        params: VehicleParameters,
        querystring: HistoryQuery,
        response: answers(History, 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ caller, params: { id }, query }, reply) => {
      const request = readQuery(query);
      const page = await withSnapshot(db, async (snapshot) =>
        openReadingPage(snapshot, await scopeOfVehicle(snapshot.db, caller, id), request, historyMembers, frame),
      );
      return sendPage(reply, page.body, nextPage(`/v1/vehicle/${id}/history`, query, page));
    },
  );
}
