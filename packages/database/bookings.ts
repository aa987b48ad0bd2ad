import type { Viewer } from '@odograph/contracts/caller';
import { type RawBuilder, sql } from 'kysely';
import { isoTime } from './iso-time.ts';
import { namesUser } from './vehicle-access.ts';

/** SQL on `vehicle` that is true if a person manages it: applications and operators do, of users those with the role. */
export function managesVehicle({ userId }: Viewer): RawBuilder<boolean> {
  if (userId === undefined) return sql<boolean>`true`;
  return sql<boolean>`exists (select from vehicle_access where vehicle_access.user_id = ${userId}
    and vehicle_access.vehicle_id = vehicle.id and vehicle_access.role = 'manager')`;
}

/** SQL that is true for the bookings of a visible vehicle that a person sees: a user its own, a manager all. */
export function seesBooking(viewer: Viewer): RawBuilder<boolean> {
  if (viewer.userId === undefined) return sql<boolean>`true`;
  return sql<boolean>`(booking.account_id = ${viewer.userId} or ${managesVehicle(viewer)})`;
}

/** SQL on the alias `held` that is true for the authorizations of a visible vehicle that a person sees. */
export function seesAuthorization(viewer: Viewer): RawBuilder<boolean> {
  if (viewer.userId === undefined) return sql<boolean>`true`;
  return sql<boolean>`(${managesVehicle(viewer)} or ${namesUser(viewer.userId, sql`held.driver_id`)})`;
}

/** SQL of a booking as the calendar and events show it; needs the tables booking, vehicle and application. */
export const bookingJson = sql`json_strip_nulls(json_build_object('bookingId', booking.id,
  'vehicleId', vehicle.id::text, 'plate', vehicle.plate, 'appId', application.app_id, 'userId', booking.user_id,
  'type', booking.type, 'from', ${isoTime('booking.starts_at')}, 'until', ${isoTime('booking.ends_at')},
  'stoppedAt', ${isoTime('booking.stopped_at')},
  'state', case when booking.deleted_at is not null then 'DELETED' when booking.stopped_at is not null then 'STOPPED'
    when booking.ends_at <= now() then 'ENDED' when booking.starts_at <= now() then 'ACTIVE' else 'PLANNED' end))`;

/** SQL of an authorization, without its token; needs the alias `held`, with the name of its issuer as `issuer`. */
export const authorizationJson = sql`json_strip_nulls(json_build_object('authorizationId', held.id, 'userId', held.driver_id,
  'level', held.level, 'from', ${isoTime('held.valid_from')}, 'until', ${isoTime('held.valid_until')},
  'suspendedUntil', case when held.suspended_until > now() then ${isoTime('held.suspended_until')} end,
  'revokedAt', ${isoTime('held.revoked_at')}, 'replacedBy', held.replaced_by, 'issuedAt', ${isoTime('held.created_at')},
  'issuedBy', held.issuer))`;
