import { Readable } from 'node:stream';
import { type Viewer, withinGroup } from '@odograph/contracts/caller';
import { invalidParameter } from '@odograph/contracts/failures';
import type { Addresses } from '@odograph/database/addresses';
import type { Database } from '@odograph/database/database';
import type { RoutePlugin } from '@odograph/http/authentication';
import { type NextPage, sendPage } from '@odograph/http/paging';
import { answers, pageHeaders } from '@odograph/http/schemas';
import { writeCell } from '../shared/csv.ts';
import {
  type CsvColumn,
  countTable,
  csvColumns,
  readTable,
  readWholeTable,
  type SortColumn,
  sortTypeOf,
  type TableKey,
  type TableRequest,
  type TableVehicle,
  tableStates,
  VehicleTable,
  VehicleTableQuery,
} from './vehicle-table-queries.ts';

/** Writes the parameter `after` that continues behind a vehicle. */
function writeKey({ value, id }: TableKey): string {
  return Buffer.from(JSON.stringify([value, id])).toString('base64url');
}

/** How the values of each type are written; each of these texts is one. */
const valueForms = {
  text: /^[^\0]*$/,
  float8: /^-?\d{1,300}(\.\d{1,300})?(e[+-]\d\d)?$/,
  // microseconds, up to the year 9999
  timestamptz: /^-?\d{1,18}$/,
} as const;

/** Reads the parameter `after`. @throws Failure INVALID_PARAMETER for a value that no answer with this sort contained */
function readKey(text: string, column: SortColumn): TableKey {
  const failure = invalidParameter('after', 'must be taken from the Link of an answer with the same sort');
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    throw failure;
  }
  if (!Array.isArray(parts) || parts.length !== 2) throw failure;
  const [value, id]: unknown[] = parts;
  if (typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id > 2_147_483_647) throw failure;
  if (value === null) return { value, id };
  if (typeof value !== 'string' || !valueForms[sortTypeOf(column)].test(value)) throw failure;
  return { value, id };
}

function cellOf(vehicle: TableVehicle, column: CsvColumn): string | number | boolean | undefined {
  if (column === 'latitude' || column === 'longitude' || column === 'address') return vehicle.location?.[column];
  if (column === 'flags') return vehicle.flags.join(' ');
  return vehicle[column];
}

/** Returns the columns of a CSV; `address` only on request. */
const columnsOf = ({ columns, address }: VehicleTableQuery): readonly CsvColumn[] =>
  (columns?.split(',') as CsvColumn[] | undefined) ?? csvColumns.filter((column) => column !== 'address' || address);

/** Writes the table as CSV in UTF-8 with a byte order mark, without which spreadsheets assume another character set. */
async function* writeCsv(
  parts: AsyncIterable<readonly TableVehicle[]>,
  columns: readonly CsvColumn[],
): AsyncGenerator<string> {
  yield `\uFEFF${columns.join(',')}\r\n`;
  for await (const part of parts) {
    yield part
      .map((vehicle) => `${columns.map((column) => writeCell(cellOf(vehicle, column))).join(',')}\r\n`)
      .join('');
  }
}

const path = '/v1/x/vehicles';

function toRequest(viewer: Viewer, query: VehicleTableQuery): TableRequest {
  const { q, state, flag, appId, group, brand, model, energy, sort = 'plate' } = query;
  const states = (state?.split(',') ?? tableStates.filter((one) => one !== 'archived')) as TableRequest['states'];
  return {
    viewer: withinGroup(viewer, group),
    ...{ search: q?.trim().toLowerCase() || undefined, states, flag, appId, brand, model, energy },
    sort: { column: sort.replace('-', '') as SortColumn, isDescending: sort.startsWith('-') },
  };
}

/** Returns the page after the first `limit` rows; undefined if there are no more rows. */
function pageAfter({ address, ...query }: VehicleTableQuery, rows: readonly { key: TableKey }[]): NextPage | undefined {
  const last = rows[query.limit - 1];
  if (last === undefined || rows.length <= query.limit) return undefined;
  const limit = String(query.limit);
  return { path, parameters: { ...query, address: address ? 'true' : undefined, limit, after: writeKey(last.key) } };
}

/** An addition to the interface: the table of all vehicles that a person sees. */
export function vehicleTableRoutes(db: Database, addresses: Addresses): RoutePlugin {
  const addTo = (vehicles: readonly TableVehicle[]) =>
    addresses.addTo(
      db,
      vehicles.map(({ id, location }) => [id, location]),
    );
  async function* readParts(request: TableRequest, columns: readonly CsvColumn[]) {
    for await (const part of readWholeTable(db, request)) {
      if (columns.includes('address')) await addTo(part);
      yield part;
    }
  }
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
          const columns = columnsOf(query);
          const body = Readable.from(writeCsv(readParts(request, columns), columns));
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
        const total = after === undefined ? await countTable(db, request) : undefined;
        const vehicles = page.map(({ vehicle }) => vehicle);
        if (query.address) await addTo(vehicles);
        return sendPage(reply, JSON.stringify({ vehicles, total }), pageAfter(query, rows));
      },
    );
  };
}
