import type { Viewer } from '@odograph/contracts/caller';
import type { Microseconds } from '@odograph/contracts/timestamps';
import {
  authorizationJson,
  bookingJson,
  managesVehicle,
  seesAuthorization,
  seesBooking,
} from '@odograph/database/bookings';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { visibleTo } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import { instant } from '../reading-keys.ts';
import type { CalendarBooking, VehicleAccess, VehicleRequest } from './schemas.ts';

/** Where a page of bookings ends. */
export interface BookingKey {
  readonly start: Microseconds;
  readonly id: string;
}

/** Bookings that overlap `[from, until)`. */
export interface CalendarRequest {
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
export async function listBookings(
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

const mostRequests = 1000;

/** Lists the requests for vehicles that wait for a decision, the oldest first, at most 1,000; a user sees its own. */
export async function listPendingRequests(db: Database, { applicationIds, userId }: Viewer): Promise<VehicleRequest[]> {
  const ofApplications =
    applicationIds === undefined ? sql`true` : sql`application.id = any(${[...applicationIds]}::integer[])`;
  const { rows } = await sql<{ request: VehicleRequest }>`
    select json_strip_nulls(json_build_object('requestId', vehicle_request.id, 'appId', application.app_id,
      'userId', vehicle_request.user_id, 'plate', vehicle_request.plate, 'request', vehicle_request.request,
      'createdAt', ${isoTime('vehicle_request.created_at')})) as request
    from vehicle_request join application on application.id = vehicle_request.application_id
    where vehicle_request.state = 'pending' and ${ofApplications}
      and ${userId === undefined ? sql`true` : sql`vehicle_request.user_id = ${userId}`}
    order by vehicle_request.created_at, vehicle_request.id limit ${mostRequests}::integer`.execute(db);
  return rows.map(({ request }) => request);
}

const mostEnded = 200;

/**
 * Finds who may use a vehicle: its Bluetooth authorizations that have not ended, and its grants. A user who does not manage
 * the vehicle sees its own.
 * @param withEnded also lists the 200 authorizations that ended last; those that an update replaced go on in another
 */
export async function findAccess(
  db: Database,
  viewer: Viewer,
  vehicleId: number,
  withEnded: boolean,
): Promise<VehicleAccess> {
  const { userId } = viewer;
  const isOwn = (own: RawBuilder<boolean>) =>
    userId === undefined ? sql<boolean>`true` : sql<boolean>`(${managesVehicle(viewer)} or ${own})`;
  const { rows } = await sql<VehicleAccess>`
    select
      (select coalesce(json_agg(${authorizationJson}
          order by held.valid_from, held.id), '[]')
        from (${selectHeld(seesAuthorization(viewer), withEnded)}) as held) as authorizations,
      (select coalesce(json_agg(json_build_object('userId', held.user_id, 'username', user_account.username,
          'role', held.role) order by user_account.username), '[]')
        from vehicle_grant as held join user_account on user_account.id = held.user_id and user_account.deleted_at is null
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
    order by least(held.revoked_at, held.valid_until) desc limit ${mostEnded}::integer)`;
}
