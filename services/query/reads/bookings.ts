import { type Viewer, withinGroup } from '@odograph/contracts/caller';
import { invalidParameter } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import {
  authorizationJson,
  bookingJson,
  managesVehicle,
  seesAuthorization,
  seesBooking,
} from '@odograph/database/bookings';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { findVisibleVehicle, grantRoles, visibleTo } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendPage } from '@odograph/http/paging';
import {
  answers,
  Flag,
  GroupFilter,
  isTrue,
  moment,
  pageHeaders,
  timestamp,
  VehicleId,
  word,
} from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { parseInterval } from '../shared/fields.ts';
import { instant } from '../shared/reading-keys.ts';
import { text, VehicleParameters } from '../shared/schemas.ts';

const id = (description: string) => text(description, '0197a1de-5f0e-7000-8000-000000000001');
const application = { appId: text('the application', 'app-0001') };

export const CalendarBooking = Type.Object(
  {
    bookingId: id('booking identifier'),
    vehicleId: text('vehicle identifier', '1000000001'),
    plate: text('license plate', 'AB-123-CD'),
    ...application,
    userId: text('driver', 'driver-17'),
    type: word(['BOOKING', 'FREE_FLOATING']),
    state: word(['PLANNED', 'ACTIVE', 'ENDED', 'STOPPED']),
    from: moment('start, inclusive'),
    until: Type.Optional(moment('end, exclusive; left out while it is open')),
    stoppedAt: Type.Optional(moment('when it was stopped')),
  },
  { title: 'CalendarBooking' },
);
export type CalendarBooking = Static<typeof CalendarBooking>;

const VehicleRequest = Type.Object(
  {
    requestId: id('request identifier'),
    ...application,
    userId: Type.Optional(id('account of the user who asked; left out for the application itself')),
    plate: text('license plate', 'AB-123-CD'),
    request: text('what was asked for', 'ADD'),
    createdAt: moment('when it was made'),
  },
  { title: 'PendingVehicleRequest' },
);
type VehicleRequest = Static<typeof VehicleRequest>;

const Calendar = Type.Object(
  {
    bookings: Type.Array(CalendarBooking, { description: 'by their start' }),
    requests: Type.Array(VehicleRequest, {
      description: 'requests for vehicles that wait for a decision, the oldest 1,000; empty with `after`',
    }),
  },
  { title: 'Calendar' },
);

const CalendarQuery = Type.Object({
  from: timestamp('start, inclusive'),
  until: timestamp('end, exclusive; at most 366 days after the start'),
  vehicleId: Type.Optional(VehicleId),
  group: GroupFilter,
  limit: Type.Integer({ minimum: 1, maximum: 5000, default: 1000, description: 'bookings on a page' }),
  after: Type.Optional(
    Type.String({ maxLength: 64, description: 'continues behind a booking; from the Link of the page before' }),
  ),
});

const AccessQuery = Type.Object({
  ended: Type.Optional({ ...Flag, description: 'whether to list also the 200 authorizations that ended last' }),
});

export const HeldAuthorization = Type.Object(
  {
    authorizationId: id('authorization identifier'),
    userId: text('driver', 'driver-17'),
    level: word(['LOCK_UNLOCK', 'DRIVE']),
    from: moment('start, inclusive'),
    until: moment('end, exclusive'),
    suspendedUntil: Type.Optional(moment('end of a suspension that has not ended')),
    revokedAt: Type.Optional(moment('when it was revoked')),
    issuedAt: moment('when it was issued'),
    issuedBy: Type.Optional(text('name of the user who issued it; left out if the application did', 'driver-17')),
  },
  { title: 'HeldAuthorization' },
);

const VehicleAccess = Type.Object(
  {
    authorizations: Type.Array(HeldAuthorization, {
      description: 'Bluetooth authorizations that are current or planned, and with `ended` also past ones',
    }),
    grants: Type.Array(
      Type.Object(
        {
          ...{ userId: id('account'), username: text('name of the account', 'driver-17'), role: word(grantRoles) },
          byGroup: Type.Boolean({ description: 'the role comes from a grant on a group' }),
        },
        { title: 'HeldGrant' },
      ),
      { description: 'users of the application with access to the vehicle' },
    ),
  },
  { title: 'VehicleAccess' },
);
type VehicleAccess = Static<typeof VehicleAccess>;

/** Where a page of bookings ends. */
interface BookingKey {
  readonly start: Microseconds;
  readonly id: string;
}

/** Bookings that overlap `[from, until)`. */
interface CalendarRequest {
  readonly viewer: Viewer;
  readonly from: Microseconds;
  readonly until: Microseconds;
  readonly vehicleId?: number | undefined;
  readonly after?: BookingKey | undefined;
  readonly limit: number;
}

const isVisibleBooking = (viewer: Viewer) =>
  sql<boolean>`(booking.deleted_at is null and ${visibleTo(viewer)} and ${seesBooking(viewer)})`;

/** Lists the bookings of an interval that a person may see, in the order of their start. */
async function listBookings(
  db: Database,
  request: CalendarRequest,
): Promise<{ booking: CalendarBooking; key: BookingKey }[]> {
  const { viewer, from, until, vehicleId, after, limit } = request;
  const { rows } = await sql<{ booking: CalendarBooking; start: string }>`
    select ${bookingJson} as booking, (extract(epoch from booking.starts_at) * 1000000)::bigint::text as start
    from booking join vehicle on vehicle.id = booking.vehicle_id
    join application on application.id = vehicle.application_id
    where ${isVisibleBooking(viewer)}
      and tstzrange(booking.starts_at, booking.ends_at) && tstzrange(${instant(from)}, ${instant(until)})
      and ${vehicleId === undefined ? sql`true` : sql`vehicle.id = ${vehicleId}`}
      and ${after ? sql`(booking.starts_at, booking.id) > (${instant(after.start)}, ${after.id}::uuid)` : sql`true`}
    order by booking.starts_at, booking.id limit ${limit}::integer`.execute(db);
  return rows.map(({ booking, start }) => ({ booking, key: { start: BigInt(start), id: booking.bookingId } }));
}

const maxRequests = 1000;

/** Lists the requests for vehicles that wait for a decision, the oldest first, at most 1,000; a user sees its own. */
async function listPendingRequests(db: Database, { applicationIds, userId }: Viewer): Promise<VehicleRequest[]> {
  const ofApplications =
    applicationIds === undefined ? sql`true` : sql`application.id = any(${[...applicationIds]}::integer[])`;
  const { rows } = await sql<{ request: VehicleRequest }>`
    select json_strip_nulls(json_build_object('requestId', vehicle_request.id, 'appId', application.app_id,
      'userId', vehicle_request.user_id, 'plate', vehicle_request.plate, 'request', vehicle_request.request,
      'createdAt', ${isoTime('vehicle_request.created_at')})) as request
    from vehicle_request join application on application.id = vehicle_request.application_id
    where vehicle_request.state = 'pending' and ${ofApplications}
      and ${userId === undefined ? sql`true` : sql`vehicle_request.user_id = ${userId}`}
    order by vehicle_request.created_at, vehicle_request.id limit ${maxRequests}::integer`.execute(db);
  return rows.map(({ request }) => request);
}

const maxEnded = 200;

/**
 * Finds who may use a vehicle: its Bluetooth authorizations that have not ended, and its grants. A user who does not manage
 * the vehicle sees its own.
 * @param withEnded also lists the 200 authorizations that ended last; those that an update replaced go on in another
 */
async function findAccess(db: Database, viewer: Viewer, vehicleId: number, withEnded: boolean): Promise<VehicleAccess> {
  const { userId } = viewer;
  const isOwn = (own: RawBuilder<boolean>) =>
    userId === undefined ? sql<boolean>`true` : sql<boolean>`(${managesVehicle(viewer)} or ${own})`;
  const { rows } = await sql<VehicleAccess>`
    select
      (select coalesce(json_agg(${authorizationJson}
          order by held.valid_from, held.id), '[]')
        from (${selectHeld(seesAuthorization(viewer), withEnded)}) as held) as authorizations,
      (select coalesce(json_agg(json_build_object('userId', held.user_id, 'username', user_account.username, 'role', held.role, 'byGroup',
          not exists (select from vehicle_grant as own where own.user_id = held.user_id
            and own.vehicle_id = held.vehicle_id and own.role = held.role)) order by user_account.username), '[]')
        from vehicle_access as held join user_account on user_account.id = held.user_id and user_account.deleted_at is null
        where held.vehicle_id = vehicle.id and ${isOwn(sql<boolean>`held.user_id = ${userId ?? null}::uuid`)}) as grants
    from vehicle where vehicle.id = ${vehicleId} and ${visibleTo(viewer)}`.execute(db);
  return rows[0] ?? { authorizations: [], grants: [] };
}

/** Selects the authorizations of the table `vehicle`'s row that have not ended, and on demand those that ended last. */
function selectHeld(isShown: RawBuilder<boolean>, withEnded: boolean): RawBuilder<unknown> {
  const hasEnded = sql`(held.revoked_at is not null or held.valid_until <= now())`;
  const from = sql`select held.*, issuer.username as issuer from bluetooth_authorization as held
    left join user_account as issuer on issuer.id = held.issued_by
    where held.vehicle_id = vehicle.id and held.replaced_by is null and ${isShown}`;
  const current = sql`${from} and not ${hasEnded}`;
  if (!withEnded) return current;
  return sql`(${current}) union all (${from} and ${hasEnded}
    order by least(held.revoked_at, held.valid_until) desc limit ${maxEnded}::integer)`;
}

const path = '/v1/x/bookings';
const keyForm = /^(\d{1,17})_(.{36})$/;

/** @throws Failure INVALID_PARAMETER for a value that no answer contained */
function readKey(text: string): BookingKey {
  const [, start = '', id = ''] = keyForm.exec(text) ?? [];
  if (start === '' || !isUuid(id)) throw invalidParameter('after', 'must be taken from the Link of an answer');
  return { start: BigInt(start), id };
}

/** Additions to the interface: the calendar of bookings, and who may use a vehicle. */
export function calendarRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      path,
      {
        schema: {
          operationId: 'getCalendar',
          tags: ['bookings'],
          summary: 'The bookings of an interval over all vehicles, and the requests that wait for a decision',
          description:
            'A user sees its own bookings and requests, as a manager all bookings of the vehicle. Only the first page has requests.',
          querystring: CalendarQuery,
          answerHeaders: pageHeaders,
          response: answers(Calendar, 'INVALID_INTERVAL', 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ viewer, query }, reply) => {
        const { from, until } = parseInterval(query, 366);
        const { vehicleId, group, limit } = query;
        const after = query.after === undefined ? undefined : readKey(query.after);
        const rows = await listBookings(db, {
          ...{ viewer: withinGroup(viewer, group), from, until, after, limit: limit + 1 },
          vehicleId: vehicleId === undefined ? undefined : await findVisibleVehicle(db, viewer, vehicleId),
        });
        const page = rows.slice(0, limit);
        // Otherwise, clients that read all pages would get each request once per page.
        const requests = after === undefined ? await listPendingRequests(db, viewer) : [];
        const last = rows.length > limit ? page.at(-1)?.key : undefined;
        const interval = { from: isoMicroseconds(from), until: isoMicroseconds(until) };
        const body = JSON.stringify({ bookings: page.map(({ booking }) => booking), requests });
        const parameters = { ...interval, vehicleId, group, limit: String(limit) };
        return sendPage(
          reply,
          body,
          last && { path, parameters: { ...parameters, after: `${last.start}_${last.id}` } },
        );
      },
    );

    http.get(
      '/v1/x/vehicle/:id/access',
      {
        schema: {
          tags: ['bookings'],
          summary: 'Who may use a vehicle: its Bluetooth authorizations and its grants',
          description: 'A user who does not manage the vehicle sees its own.',
          params: VehicleParameters,
          querystring: AccessQuery,
          response: answers(VehicleAccess, 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ viewer, params, query: { ended = false } }) =>
        findAccess(db, viewer, await findVisibleVehicle(db, viewer, params.id), isTrue(ended)),
    );
  };
}
