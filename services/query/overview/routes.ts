import { Readable } from 'node:stream';
import type { Viewer } from '@odograph/contracts/caller';
import type { Database } from '@odograph/database/database';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendPage } from '@odograph/http/paging';
import { answers, pageHeaders } from '@odograph/http/schemas';
import { countTable, readTable, readWholeTable, type TableRequest } from './queries.ts';
import { readKey, writeCsv, writeKey } from './rules.ts';
import {
  type CsvColumn,
  csvColumns,
  type SortColumn,
  tableStates,
  VehicleTable,
  VehicleTableQuery,
} from './schemas.ts';

const path = '/v1/x/vehicles';

function toRequest(viewer: Viewer, query: VehicleTableQuery): TableRequest {
  const { q, state, flag, appId, brand, model, energy, sort = 'plate' } = query;
  const states = (state?.split(',') ?? tableStates.filter((one) => one !== 'archived')) as TableRequest['states'];
  return {
    ...{ viewer, search: q?.trim().toLowerCase() || undefined, states, flag, appId, brand, model, energy },
    sort: { column: sort.replace('-', '') as SortColumn, isDescending: sort.startsWith('-') },
  };
}

/** An addition to the interface: the table of all vehicles that a person sees. */
export function vehicleTableRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      path,
      {
        schema: {
          operationId: 'getVehicleTable',
          tags: ['latest'],
          summary: 'Table of vehicles with their latest state, to search, filter and sort; as JSON in pages or as CSV',
          description:
            `Pages are read by their keys: a vehicle whose sort value changes meanwhile may appear twice or not
            at all. The CSV keeps the order it had at the start. In it, texts that a spreadsheet would execute as a formula
            begin with an apostrophe.`.replace(/\s+/g, ' '),
          querystring: VehicleTableQuery,
          answerHeaders: pageHeaders,
          produces: ['application/json', 'text/csv'],
          response: answers(VehicleTable),
        },
      },
      async ({ viewer, query }, reply) => {
        const request = toRequest(viewer, query);
        if (query.format === 'csv') {
          const columns = (query.columns?.split(',') ?? csvColumns) as readonly CsvColumn[];
          const body = Readable.from(writeCsv(readWholeTable(db, request), columns));
          reply.header('content-disposition', 'attachment; filename="vehicles.csv"');
          return reply.type('text/csv; charset=utf-8').send(body);
        }
        const { after, limit } = query;
        const rows = await readTable(
          db,
          request,
          after === undefined ? undefined : readKey(after, request.sort.column),
          limit + 1,
        );
        const page = rows.slice(0, limit);
        const last = rows.length > limit ? page.at(-1) : undefined;
        const total = after === undefined ? await countTable(db, request) : undefined;
        const next = last && {
          path,
          parameters: { ...query, limit: String(limit), after: writeKey(last.key) },
        };
        return sendPage(reply, JSON.stringify({ vehicles: page.map(({ vehicle }) => vehicle), total }), next);
      },
    );
  };
}
