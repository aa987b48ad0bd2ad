import type { Caller } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isoMicroseconds, parseTimestamp } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { fleetMembers, latestMembers } from '@odograph/database/reading-json';
import { accessibleTo } from '@odograph/database/vehicle-access';
import { isAvailable } from '@odograph/database/vehicle-conditions';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendJson } from '@odograph/http/paging';
import { checkedWord, answers as responses, timestamp } from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import type { Answers, ListRow } from '../shared/answers.ts';
import { readerOf } from '../shared/read-budget.ts';
import { CombinedVehicle, DynamicVehicle, FleetVehicle, VehicleStatus, view } from '../shared/schemas.ts';

/** Shapes of the answers that two families of the interface share. */
export type View = 'dynamic' | 'fleet' | 'combined';

/** The shape that an application has set, if any. */
type ConfiguredView = Exclude<View, 'combined'> | undefined;

/**
 * Chooses the shape of an answer: the requested one, else fleet for a search, else the one the application has set, else both
 * in one object, which is possible because they share no key but error and state.
 */
export function chooseView(
  requested: ConfiguredView,
  searchType: string | undefined,
  configured: ConfiguredView,
): View {
  if (requested !== undefined) return requested;
  if (searchType !== undefined) return 'fleet';
  return configured ?? 'combined';
}

/** Parameters of GET /v1/vehicles that search for vehicles to book. */
const SearchQuery = Type.Object({
  searchType: Type.Optional(
    checkedWord(['FREE_FLOATING', 'BOOKING'], {
      description: 'FREE_FLOATING: available now; BOOKING: available for an interval. Implies the fleet shape',
    }),
  ),
  from: Type.Optional(timestamp('start of the interval, required for BOOKING')),
  until: Type.Optional(timestamp('end of the interval, exclusive, required for BOOKING')),
  energy: Type.Optional(Type.String({ description: 'with BOOKING: registration-certificate nomenclature' })),
  gearbox: Type.Optional(checkedWord(['MANUAL', 'AUTOMATIC'], { description: 'with BOOKING' })),
  brand: Type.Optional(Type.String({ description: 'with BOOKING: manufacturer' })),
  kind: Type.Optional(Type.String({ description: 'with BOOKING: registration-certificate nomenclature' })),
});
type SearchQuery = Static<typeof SearchQuery>;

const now = sql`tstzrange(now(), now(), '[]')`;

function intervalOf({ from = '', until = '' }: SearchQuery): RawBuilder<unknown> {
  if (from === '') throw invalidParameter('from', 'is missing');
  if (until === '') throw invalidParameter('until', 'is missing');
  const [start, end] = [parseTimestamp('from', from), parseTimestamp('until', until)];
  if (end <= start) throw new Failure('INVALID_INTERVAL', undefined, { field: 'until' });
  return sql`tstzrange(${isoMicroseconds(start)}, ${isoMicroseconds(end)})`;
}

/** True for vehicles with this value, ignoring case; for all vehicles without a value. */
function isLike(column: string, value = ''): RawBuilder<boolean> {
  if (value === '') return sql<boolean>`true`;
  if (value.includes('\0')) throw invalidParameter(column, 'must not contain the character NUL');
  return sql<boolean>`lower(${sql.ref(`vehicle.${column}`)}) = lower(${value})`;
}

/** Checks parameters that only a search for BOOKING uses, so that a malformed one is never ignored. */
function requireWellFormed({ from, until, gearbox = '' }: SearchQuery): void {
  if (!['', 'MANUAL', 'AUTOMATIC'].includes(gearbox)) throw invalidParameter('gearbox', 'must be MANUAL or AUTOMATIC');
  if (from !== undefined) parseTimestamp('from', from);
  if (until !== undefined) parseTimestamp('until', until);
}

function forBooking(query: SearchQuery): RawBuilder<boolean> {
  const { energy, gearbox, brand, kind } = query;
  return sql<boolean>`${isAvailable(intervalOf(query))} and ${isLike('energy', energy)} and ${isLike('gearbox', gearbox)}
    and ${isLike('brand', brand)} and ${isLike('kind', kind)}`;
}

/**
 * SQL that is true for the vehicles a search matches, for all without a search; `vehicle` is the alias of the table
 * (interface specification, "Bookings and free-floating").
 * @throws Failure INVALID_PARAMETER naming the field; INVALID_INTERVAL
 */
function matchesSearch(query: SearchQuery): RawBuilder<boolean> {
  const { searchType } = query;
  requireWellFormed(query);
  if (searchType === undefined) return sql<boolean>`true`;
  if (searchType === 'FREE_FLOATING') return isAvailable(now);
  if (searchType === 'BOOKING') return forBooking(query);
  throw invalidParameter('searchType', 'must be FREE_FLOATING or BOOKING');
}

const withData = sql`join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id`;
const withDevice = sql`left join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
  left join device on device.id = device_link.device_id`;

const vehicleJson: Readonly<Record<View, { readonly json: RawBuilder<string>; readonly source: RawBuilder<unknown> }>> =
  {
    dynamic: { json: latestMembers.brief, source: withData },
    fleet: { json: fleetMembers, source: withDevice },
    combined: {
      json: sql`${fleetMembers}, case when vehicle_latest.vehicle_id is not null then concat(',', ${latestMembers.brief}) end`,
      source: sql`${withDevice} left ${withData}`,
    },
  };

/**
 * Selects the vehicles for which `filter` is true and whose id is greater than `lastId`, in one of the shapes of
 * GET /v1/vehicles. The dynamic shape leaves out vehicles without data.
 */
export function listVehicles(
  view: View,
  caller: Caller,
  filter: RawBuilder<boolean>,
  lastId: number,
): RawBuilder<ListRow> {
  const { json, source } = vehicleJson[view];
  return sql<ListRow>`select vehicle.id, concat('{', ${json}, '}') as json from vehicle ${source}
    where ${accessibleTo(caller)} and ${filter} and vehicle.id > ${lastId} order by vehicle.id`;
}

/** Selects the latest status of the vehicles that have data and an id greater than `lastId`. */
function listStatus(caller: Caller, lastId: number): RawBuilder<ListRow> {
  return sql<ListRow>`select vehicle.id, concat('{', ${latestMembers.full}, '}') as json from vehicle ${withData}
    where ${accessibleTo(caller)} and vehicle.id > ${lastId} order by vehicle.id`;
}

/** Finds the shape that the application has set, if any. */
export async function findConfiguredView(db: Database, { applicationId }: Caller): Promise<ConfiguredView> {
  const row = await db.selectFrom('application').select('view').where('id', '=', applicationId).executeTakeFirst();
  return row?.view ?? undefined;
}

const Vehicles = Type.Union([Type.Array(CombinedVehicle), Type.Array(DynamicVehicle), Type.Array(FleetVehicle)]);
const ViewQuery = Type.Object({ view, ...SearchQuery.properties });

/** Interface specification, "Dynamic data": the latest state of vehicles. */
export function latestRoutes(answers: Answers): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/vehicles',
      {
        schema: {
          tags: ['latest'],
          summary: 'All vehicles with their latest position, or those that can be booked',
          querystring: ViewQuery,
          response: responses(Vehicles, 'INVALID_INTERVAL'),
        },
      },
      async (request, reply) => {
        const { caller, query } = request;
        const filter = matchesSearch(query);
        const body = await answers.openList(readerOf(request), async (db: Database, lastId) => {
          const shape = chooseView(query.view, query.searchType, await findConfiguredView(db, caller));
          return listVehicles(shape, caller, filter, lastId);
        });
        return sendJson(reply, body);
      },
    );

    http.get(
      '/v1/vehicles/status',
      {
        schema: {
          tags: ['latest'],
          summary: 'Latest status of all vehicles that have data',
          response: responses(Type.Array(VehicleStatus)),
        },
      },
      async (request, reply) => {
        const { caller } = request;
        return sendJson(reply, await answers.openList(readerOf(request), (_db, lastId) => listStatus(caller, lastId)));
      },
    );
  };
}
