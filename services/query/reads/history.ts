import { parseTimestamp } from '@odograph/contracts/timestamps';
import { historyMembers } from '@odograph/database/reading-json';
import type { RoutePlugin } from '@odograph/http/authentication';
import { type NextPage, sendPage } from '@odograph/http/paging';
import { pageHeaders, answers as responses } from '@odograph/http/schemas';
import Type from 'typebox';
import type { Answers } from '../shared/answers.ts';
import { readerOf } from '../shared/read-budget.ts';
import { readContinuation, writeContinuation } from '../shared/reading-keys.ts';
import { openReadingPage, type PageRequest, type ReadingPage } from '../shared/reading-page.ts';
import { finite, HistoryQuery, HistoryReading, VehicleParameters } from '../shared/schemas.ts';
import { scopeOfCaller, scopeOfVehicle } from '../shared/vehicle-scope.ts';

const frame = { start: '{"status":[', end: ']}' };
const History = Type.Object({ status: Type.Array(HistoryReading) }, { title: 'History' });

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
  return {
    path,
    parameters: {
      from: String(from),
      until: String(until),
      limit: String(limit),
      after: writeContinuation(page.continueAfter),
    },
  };
}

/** Interface specification, "Dynamic data": the history of one vehicle, and of all. */
export function historyRoutes(answers: Answers): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/vehicles/history',
      {
        schema: {
          tags: ['history'],
          summary: 'Readings of all vehicles, by time, then vehicle',
          answerHeaders: pageHeaders,
          querystring: HistoryQuery,
          response: responses(History),
        },
      },
      async (request, reply) => {
        const { caller, query } = request;
        const page = await openReadingPage(answers, readerOf(request), readQuery(query), {
          members: historyMembers,
          frame,
          findScope: (db) => scopeOfCaller(db, caller),
        });
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
          answerHeaders: pageHeaders,
          querystring: HistoryQuery,
          response: responses(History, 'UNKNOWN_VEHICLE'),
        },
      },
      async (request, reply) => {
        const { caller, query } = request;
        const { id } = request.params;
        const page = await openReadingPage(answers, readerOf(request), readQuery(query), {
          members: historyMembers,
          frame,
          findScope: (db) => scopeOfVehicle(db, caller, id),
        });
        return sendPage(reply, page.body, nextPage(`/v1/vehicle/${id}/history`, query, page));
      },
    );
  };
}
