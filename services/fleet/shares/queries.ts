import { type Caller, type Operator, seesApplication, type Viewer } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import { isoMicroseconds, type Microseconds, parseTimestamp } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { isoTime } from '@odograph/database/iso-time';
import { metresBetween } from '@odograph/database/positions';
import { findTrip } from '@odograph/database/trips';
import { accessibleTo, findVehicle, visibleTo } from '@odograph/database/vehicle-access';
import { hashSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';
import { firstRow, following, requireUuid } from '../alarms/geofences.ts';
import type { NewShare, Share, SharesQuery } from './schemas.ts';

const maxShares = 1000;
const maxDays = 31;
/** Retention of ended shares. */
const retentionDays = 30;

/** @throws Failure INVALID_PARAMETER, INVALID_INTERVAL */
function parseEnd({ until }: NewShare): Microseconds {
  const end = parseTimestamp('until', until);
  const nowMs = Date.now();
  const endMs = Number(end / 1000n);
  if (endMs <= nowMs) throw new Failure('INVALID_INTERVAL', 'until is in the past', { field: 'until' });
  if (endMs > nowMs + maxDays * 86_400_000) throw invalidParameter('until', `must be within ${maxDays} days`);
  return end;
}

/** Finds the interval of the completed trip to share. @throws Failure NOT_FOUND, INVALID_PARAMETER */
async function findTripTimes(db: Database, vehicleId: number, { tripId, place }: NewShare) {
  if (tripId === undefined) return undefined;
  if (place !== undefined) throw invalidParameter('place', 'cannot be combined with tripId');
  const trip = await findTrip(db, vehicleId, tripId);
  if (!trip) throw new Failure('NOT_FOUND', 'the vehicle has no such completed trip', { field: 'tripId' });
  return { from: isoMicroseconds(trip.start), until: isoMicroseconds(trip.end) };
}

const bookingIsOpen = sql<boolean>`(booking.deleted_at is null and booking.stopped_at is null
  and coalesce(booking.ends_at, 'infinity') > clock_timestamp())`;

/** @throws Failure NOT_FOUND */
async function requireBooking(db: Database, vehicleId: number, { bookingId }: NewShare): Promise<void> {
  if (bookingId === undefined) return;
  const isOpen =
    isUuid(bookingId) &&
    (await firstRow(
      db,
      sql`select from booking where id = ${bookingId} and vehicle_id = ${vehicleId} and ${bookingIsOpen}`,
    ));
  if (!isOpen) throw new Failure('NOT_FOUND', 'the vehicle has no such open booking', { field: 'bookingId' });
}

/**
 * Creates a share of a vehicle that the caller may use, and deletes shares past their retention.
 * @returns its id
 * @throws Failure UNKNOWN_VEHICLE, UNAUTHORIZED, VEHICLE_ARCHIVED, INVALID_INTERVAL, INVALID_PARAMETER, NOT_FOUND, TOO_MANY
 */
export async function createShare(db: Database, caller: Caller, share: NewShare, token: string): Promise<string> {
  const end = parseEnd(share);
  if (caller.apiKey && !caller.apiKey.scopes.includes('read')) {
    throw new Failure('UNAUTHORIZED', 'the API key lacks the scope read');
  }
  const vehicle = await findVehicle(db, caller, share.vehicleId, 'use');
  if (vehicle.archived) throw new Failure('VEHICLE_ARCHIVED');
  const trip = await findTripTimes(db, vehicle.id, share);
  await requireBooking(db, vehicle.id, share);
  const { applicationId, userId = null, operatorName = null, apiKey } = caller;
  await sql`delete from share where application_id = ${applicationId}
    and coalesce(ended_at, ends_at) < now() - make_interval(days => ${retentionDays})`.execute(db);
  const row = await firstRow(
    db,
    sql<{ id: string }>`insert into share (application_id, vehicle_id, token_sha256, user_id, operator_name, api_key_id,
        shown_from, shown_until, ends_at, booking_id, place_latitude, place_longitude, place_radius_metres, grid_metres)
      select ${applicationId}, ${vehicle.id}, ${hashSecret(token)}, ${userId}::uuid, ${operatorName}, ${apiKey?.id}::uuid,
        coalesce(${trip?.from}::timestamptz, clock_timestamp()), ${trip?.until}::timestamptz,
        ${isoMicroseconds(end)}::timestamptz, ${share.bookingId}::uuid, ${share.place?.latitude}::float8,
        ${share.place?.longitude}::float8, ${share.place?.radiusMetres}::float8, ${share.gridMetres}::integer
      where (select count(*) from share where application_id = ${applicationId}) < ${maxShares} returning id`,
  );
  if (!row) throw new Failure('TOO_MANY', `an application has at most ${maxShares} shares`);
  return row.id;
}

const metresFromPlace = metresBetween(
  [sql`reading.latitude`, sql`reading.longitude`],
  [sql`place_latitude`, sql`place_longitude`],
);
/** Maximum lateness of a reading that ends a share while it is viewed; bounds the readings of each poll. */
const maxLateness = sql.lit('1 hour');
const hasArrived = sql<boolean>`(place_latitude is not null and exists (select from reading_in_units as reading
  where reading.vehicle_id = share.vehicle_id and ${metresFromPlace} <= place_radius_metres
    and reading.time >= greatest(shown_from, last_viewed_at - interval ${maxLateness})))`;
const creatorIsOperator = sql<boolean>`exists (select from operator
  where lower(operator.name) = lower(share.operator_name) and operator.created_at <= share.created_at
    and operator.deleted_at is null and operator.role <> 'viewer'
    and (not exists (select from operator_application where operator_id = operator.id)
      or exists (select from operator_application
        where operator_id = operator.id and operator_application.application_id = share.application_id)))`;

/** True for a share that has not ended; does not check the access of the user who created it, see keepsAccess. */
const isOpen = sql<boolean>`(share.ended_at is null and share.ends_at > clock_timestamp() and vehicle.deleted_at is null
  and vehicle.archived_at is null and vehicle.application_id = share.application_id
  and exists (select from application where application.id = share.application_id
    and application.deleted_at is null and application.moving_since is null)
  and (booking_id is null or exists (select from booking where booking.id = booking_id and ${bookingIsOpen}))
  and (share.operator_name is null or ${creatorIsOperator})
  and (api_key_id is null or exists (select from api_key
    where api_key.id = api_key_id and coalesce(expires_at, 'infinity') > clock_timestamp()))
  and not ${hasArrived})`;

/** False while the application is being moved to another cell. */
const isWritable = sql<boolean>`not exists (select from application
  where application.id = share.application_id and moving_since is not null)`;

interface Creation {
  readonly applicationId: number;
  readonly vehicleId: number;
  /** The user who created the share; null for an application or operator. */
  readonly userId: string | null;
}

/** Tests whether the user who created a share may still use the vehicle; true if an application or operator created it. */
async function keepsAccess(db: Database, { applicationId, vehicleId, userId }: Creation): Promise<boolean> {
  if (userId === null) return true;
  const permits = accessibleTo({ applicationId, userId }, 'use');
  return (await firstRow(db, sql`select from vehicle where id = ${vehicleId} and ${permits}`)) !== undefined;
}

/** Lists the shares of visible vehicles, ordered by id. */
export async function listShares(
  db: Database,
  viewer: Viewer,
  { vehicleId, after }: SharesQuery,
  limit: number,
): Promise<Share[]> {
  const { rows } = await sql<{ share: Share } & Creation>`select share.application_id as "applicationId",
      share.vehicle_id as "vehicleId", share.user_id as "userId", jsonb_strip_nulls(jsonb_build_object(
      'id', share.id, 'appId', application.app_id, 'vehicleId', share.vehicle_id::text,
      'kind', case when shown_until is null then 'live' else 'trip' end,
      'state', case when ${isOpen} then 'active' else 'ended' end,
      'createdBy', coalesce('user:' || share.user_id, 'operator:' || share.operator_name,
        'api-key:' || (select api_key.name from api_key where api_key.id = api_key_id), 'application'),
      'createdAt', ${isoTime('share.created_at')}, 'until', ${isoTime('share.ends_at')},
      'endedAt', ${isoTime('share.ended_at')}, 'bookingId', share.booking_id, 'gridMetres', grid_metres,
      'place', case when place_latitude is not null then jsonb_build_object('latitude', place_latitude,
        'longitude', place_longitude, 'radiusMetres', place_radius_metres) end,
      'views', views, 'lastViewedAt', ${isoTime('last_viewed_at')})) as share
    from share join vehicle on vehicle.id = share.vehicle_id join application on application.id = share.application_id
    where ${visibleTo(viewer)} and vehicle.application_id = share.application_id
      and share.vehicle_id::text = coalesce(${vehicleId}, share.vehicle_id::text) and ${following('share.id', after)}
    order by share.id limit ${limit}`.execute(db);
  const shares: Share[] = [];
  for (const { share, ...creation } of rows) {
    const isActive = share.state === 'active' && (await keepsAccess(db, creation));
    shares.push({ ...share, state: isActive ? 'active' : 'ended' });
  }
  return shares;
}

/**
 * Revokes a share that the caller created or whose vehicle the caller manages. Idempotent.
 * @throws Failure NOT_FOUND if the share is not visible; UNAUTHORIZED
 */
export async function revokeShare(db: Database, caller: Caller, id: string): Promise<void> {
  const { userId = null } = caller;
  const row = await firstRow(
    db,
    sql<{ permitted: boolean }>`select (share.user_id = ${userId}::uuid or ${accessibleTo(caller, 'manage')}) is true
      as permitted from share join vehicle on vehicle.id = share.vehicle_id
      where share.id = ${requireUuid(id)} and share.application_id = ${caller.applicationId} and ${accessibleTo(caller)}`,
  );
  if (!row) throw new Failure('NOT_FOUND');
  if (!row.permitted)
    throw new Failure('UNAUTHORIZED', 'only its creator and managers of the vehicle can revoke a share');
  await endShare(db, id);
}

/** Finds the application of a share that is visible to an operator. @throws Failure NOT_FOUND */
export async function findShareOwner(db: Database, operator: Operator, id: string): Promise<number> {
  const row = await firstRow(
    db,
    sql<{ owner: number }>`select application_id as owner from share where id = ${requireUuid(id)}`,
  );
  if (!row || !seesApplication(operator, row.owner)) throw new Failure('NOT_FOUND');
  return row.owner;
}

async function endShare(db: Database, id: string): Promise<void> {
  await sql`update share set ended_at = clock_timestamp() where id = ${id} and ended_at is null and ${isWritable}`.execute(
    db,
  );
}

/** Ends the shares of a vehicle permanently, so that restoring an archived vehicle does not reactivate them. */
export async function endSharesOf(db: Database, vehicleId: number): Promise<void> {
  await sql`update share set ended_at = clock_timestamp()
    where vehicle_id = ${vehicleId} and ended_at is null`.execute(db);
}

/** A share that has not ended. */
export interface OpenShare extends Creation {
  readonly id: string;
  readonly name: string;
  readonly endsAt: Date;
  readonly shownFrom: string;
  /** Null for a live share. */
  readonly shownUntil: string | null;
  readonly gridMetres: number | null;
  readonly place: { readonly latitude: number; readonly longitude: number } | null;
}

/** Finds the share of a token unless it has ended. Records the end, so that it cannot become active again. */
export async function findOpenShare(db: Database, token: string): Promise<OpenShare | undefined> {
  const row = await firstRow(
    db,
    sql<OpenShare & { isOpen: boolean }>`select share.id, share.application_id as "applicationId",
      share.vehicle_id as "vehicleId", share.user_id as "userId", ends_at as "endsAt", ${isoTime('shown_from', 'microseconds')} as "shownFrom",
      ${isoTime('shown_until', 'microseconds')} as "shownUntil", grid_metres as "gridMetres",
      case when place_latitude is not null then jsonb_build_object('latitude', place_latitude, 'longitude', place_longitude)
        end as place,
      concat_ws(' ', nullif(vehicle.brand, ''), nullif(vehicle.model, '')) as name, ${isOpen} as "isOpen"
      from share join vehicle on vehicle.id = share.vehicle_id where token_sha256 = ${hashSecret(token)}`,
  );
  if (!row) return undefined;
  if (row.isOpen && (await keepsAccess(db, row))) return row;
  await endShare(db, row.id);
  return undefined;
}

/**
 * Records a request for a share, and counts a view if it opens the page.
 * @returns whether it is the first view
 */
export async function countView(db: Database, id: string, isOpening: boolean): Promise<boolean> {
  const row = await firstRow(
    db,
    sql<{ views: number }>`update share set views = views + ${isOpening ? 1 : 0}, last_viewed_at = now()
      where id = ${id} and ${isWritable} and (${isOpening} or last_viewed_at is null or last_viewed_at < now() - interval '1 minute')
      returning views`,
  );
  return isOpening && row?.views === 1;
}
