import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import type { Database } from '@odograph/database/database';
import { metresBetween } from '@odograph/database/positions';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { accessibleTo } from '@odograph/database/vehicle-access';
import { hasDevice, outOfService } from '@odograph/database/vehicle-conditions';
import { type RawBuilder, sql } from 'kysely';
import { lockVehicle } from '../authorizations/queries.ts';
import type { ListPart } from '../shared/list-stream.ts';
import type { Driver } from '../shared/resolve-driver.ts';
import type { BookingInterval, BookingTimes, BookingType } from './rules.ts';

/** A booking that is not deleted. */
export interface Booking extends BookingTimes {
  readonly id: string;
  readonly vehicleId: number;
  readonly userId: string;
  readonly authorizationId: string;
}

/** The properties that decide whether a vehicle can be booked, apart from other bookings. */
export interface BookableVehicle {
  readonly hasDevice: boolean;
  /** Whether it is archived, and the state flags that are raised; empty for a vehicle in service. */
  readonly outOfService: readonly string[];
}

type BookingRow = Omit<Booking, 'until' | 'stoppedAt'> & { until: Date | null; stoppedAt: Date | null };

const bookingColumns = sql`booking.id, booking.vehicle_id as "vehicleId", booking.user_id as "userId",
  coalesce((select latest_authorization(linked.replaced_by) from bluetooth_authorization linked
    where linked.id = booking.authorization_id and linked.replaced_by is not null), booking.authorization_id)
    as "authorizationId", booking.type, booking.starts_at as "from", booking.ends_at as until,
  booking.stopped_at as "stoppedAt"`;
const vehicleColumns = sql`${hasDevice} as "hasDevice", ${outOfService} as "outOfService"`;

function toBooking<Row extends BookingRow>({ until, stoppedAt, ...row }: Row) {
  return { ...row, until: until ?? undefined, stoppedAt: stoppedAt ?? undefined };
}

/** SQL that is true for the bookings that a caller may see: in user mode its own, as a manager those of the vehicle. */
function isVisibleTo(caller: Caller): RawBuilder<boolean> {
  const { userId } = caller;
  if (userId === undefined) return sql<boolean>`(booking.deleted_at is null and ${accessibleTo(caller)})`;
  const own = sql<boolean>`(booking.account_id = ${userId} and ${accessibleTo(caller)})`;
  return sql<boolean>`(booking.deleted_at is null and (${own} or ${accessibleTo(caller, 'manage')}))`;
}

/** Finds out whether a locked vehicle can be booked. */
export async function findBookable(db: Database, id: number): Promise<BookableVehicle> {
  const { rows } = await sql<BookableVehicle>`select ${vehicleColumns} from vehicle where id = ${id}`.execute(db);
  if (!rows[0]) throw new Failure('UNKNOWN_VEHICLE');
  return rows[0];
}

/** Finds a booking. @throws Failure NOT_FOUND for one that is missing, deleted or not visible alike */
export async function findBooking(db: Database, caller: Caller, id: string): Promise<Booking> {
  if (!isUuid(id)) throw new Failure('NOT_FOUND');
  const { rows } = await sql<BookingRow>`select ${bookingColumns}
    from booking join vehicle on vehicle.id = booking.vehicle_id
    where booking.id = ${id} and ${isVisibleTo(caller)}`.execute(db);
  if (!rows[0]) throw new Failure('NOT_FOUND');
  return toBooking(rows[0]);
}

/**
 * Finds a booking, and locks it and its vehicle until the end of the transaction.
 * @throws Failure NOT_FOUND; UNAUTHORIZED when the role of the grant does not permit changes
 */
export async function lockBooking(
  db: Database,
  caller: Caller,
  id: string,
): Promise<{ booking: Booking; vehicle: BookableVehicle }> {
  const { vehicleId } = await findBooking(db, caller, id);
  await lockVehicle(db, caller, String(vehicleId));
  await db.selectFrom('booking').select('id').where('id', '=', id).forNoKeyUpdate().execute();
  return { booking: await findBooking(db, caller, id), vehicle: await findBookable(db, vehicleId) };
}

/** A booking in a list. */
export interface ListedBooking extends Booking {
  /** The exact start, to the microsecond, by which the list is ordered. */
  readonly position: string;
}

/** Reads a part of the bookings of a vehicle that the caller may see, the latest start first. */
export async function listOfVehicle(
  db: Database,
  caller: Caller,
  vehicleId: number,
  { offset, after, count }: ListPart<ListedBooking>,
): Promise<ListedBooking[]> {
  const isAfter = after && sql`(booking.starts_at, booking.id) < (${after.position}::timestamptz, ${after.id}::uuid)`;
  const { rows } = await sql<BookingRow & { position: string }>`
    select ${bookingColumns}, booking.starts_at::text as position
    from booking join vehicle on vehicle.id = booking.vehicle_id
    where booking.vehicle_id = ${vehicleId} and ${isVisibleTo(caller)} and ${isAfter ?? sql`true`}
    order by booking.starts_at desc, booking.id desc limit ${count} offset ${after ? 0 : offset}`.execute(db);
  return rows.map(toBooking);
}

/** Lists the bookings that are active at a time, at most one for each vehicle. */
export async function listActive(db: Database, caller: Caller, now: Date): Promise<Booking[]> {
  const { rows } = await sql<BookingRow>`select ${bookingColumns}
    from booking join vehicle on vehicle.id = booking.vehicle_id
    where booking.application_id = ${caller.applicationId} and coalesce(booking.ends_at, 'infinity') > ${now}
      and booking.starts_at <= ${now} and ${isVisibleTo(caller)}
    order by booking.starts_at, booking.id`.execute(db);
  return rows.map(toBooking);
}

/** Finds the start of the next booking of a vehicle, at which an open-ended one must end. */
export async function findNextStart(db: Database, vehicleId: number, from: Date, now: Date): Promise<Date | undefined> {
  const { rows } = await sql<{ next: Date | null }>`select min(starts_at) as next from booking
    where vehicle_id = ${vehicleId} and deleted_at is null and starts_at > greatest(${from}::timestamptz, ${now})
      and (ends_at is null or ends_at > starts_at)`.execute(db);
  return rows[0]?.next ?? undefined;
}

const overlap = { booking_overlap: ['VEHICLE_NOT_AVAILABLE', 'another booking of the vehicle overlaps'] } as const;

export interface NewBooking {
  readonly id: string;
  readonly applicationId: number;
  readonly vehicleId: number;
  readonly driver: Driver;
  readonly type: BookingType;
  readonly interval: BookingInterval;
  readonly authorizationId: string;
  readonly now: Date;
}

/** Inserts a booking. @throws Failure VEHICLE_NOT_AVAILABLE when another booking of the vehicle overlaps */
export async function insertBooking(db: Database, booking: NewBooking): Promise<void> {
  const { driver, interval } = booking;
  await failOnConstraint(overlap, () =>
    db
      .insertInto('booking')
      .values({
        id: booking.id,
        application_id: booking.applicationId,
        vehicle_id: booking.vehicleId,
        user_id: driver.userId,
        account_id: driver.accountId,
        type: booking.type,
        starts_at: interval.from,
        ends_at: interval.until ?? null,
        authorization_id: booking.authorizationId,
        created_at: booking.now,
      })
      .execute(),
  );
}

/** Changes the interval of a booking. @throws Failure VEHICLE_NOT_AVAILABLE when another booking of the vehicle overlaps */
export async function moveBooking(
  db: Database,
  id: string,
  { interval, authorizationId }: { interval: BookingInterval; authorizationId: string },
): Promise<void> {
  await failOnConstraint(overlap, () =>
    db
      .updateTable('booking')
      .set({ starts_at: interval.from, ends_at: interval.until ?? null, authorization_id: authorizationId })
      .where('id', '=', id)
      .execute(),
  );
}

/** Ends a booking; one that has not started becomes empty. */
export async function endBooking(db: Database, id: string, now: Date): Promise<void> {
  await sql`update booking set stopped_at = ${now}, ends_at = greatest(starts_at, ${now}::timestamptz)
    where id = ${id}`.execute(db);
}

/** Marks a booking as deleted, which frees its interval. */
export async function markDeleted(db: Database, id: string, now: Date): Promise<void> {
  await db.updateTable('booking').set({ deleted_at: now }).where('id', '=', id).execute();
}

/** Shorter distances are within the error of GNSS receivers. */
const movedMetres = 50;

/**
 * Tests whether a vehicle was used since the start of a booking: ignition on, movement, or a position at least
 * `movedMetres` from the last one in the 24 hours before or, if there is none, from the first one since.
 */
export async function wasUsed(db: Database, { vehicleId, from: since }: Booking): Promise<boolean> {
  const located = sql`reading_in_units where vehicle_id = ${vehicleId} and latitude is not null and longitude is not null`;
  const distance = metresBetween(
    [sql`reading.latitude`, sql`reading.longitude`],
    [sql`origin.latitude`, sql`origin.longitude`],
  );
  const { rows } = await sql<{ wasUsed: boolean }>`
    with before as (select latitude, longitude from ${located}
        and time < ${since} and time >= ${since}::timestamptz - interval '1 day' order by time desc limit 1),
      first as (select latitude, longitude from ${located} and time >= ${since} order by time limit 1),
      origin as (select * from before union all select * from first where not exists (select from before))
    select exists (select from reading_in_units as reading left join origin on true
      where vehicle_id = ${vehicleId} and time >= ${since}
        and (ignition or movement or ${distance} >= ${movedMetres})) as "wasUsed"`.execute(db);
  return rows[0]?.wasUsed ?? false;
}
