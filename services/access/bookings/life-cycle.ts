import { randomUUID } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import { auditChange, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { RequestContext } from '@odograph/http/http';
import type { Sealer } from '@odograph/runtime/sealing';
import { type DeviceCommands, findBookingCommands } from '../authorizations/device-commands.ts';
import { type Issued, issueAuthorization, replaceAuthorization, revokeAuthorization } from '../authorizations/issue.ts';
import { lockLatestAuthorization, lockVehicle } from '../authorizations/queries.ts';
import { resolveDriver } from '../shared/resolve-driver.ts';
import * as queries from './queries.ts';
import * as rules from './rules.ts';

export interface BookingRequest {
  readonly vehicleId: string;
  readonly type: string | undefined;
  readonly driver: string | undefined;
  readonly interval: rules.BookingInterval;
}

/** A new booking with the credentials and commands of its driver. */
export interface Booked {
  readonly booking: queries.Booking;
  readonly issued: Issued;
  readonly commands: DeviceCommands;
}

function requireBookable({ hasDevice, outOfService }: queries.BookableVehicle): void {
  if (outOfService.includes('archived')) throw new Failure('VEHICLE_ARCHIVED');
  if (!hasDevice) throw new Failure('NO_DEVICE');
  const states = outOfService.join(', ');
  if (states !== '') throw new Failure('VEHICLE_NOT_AVAILABLE', `the vehicle is not in service: ${states}`);
}

async function audit(
  db: Database,
  { caller, address: ip }: RequestContext,
  action: string,
  { id, vehicleId, userId, type, from, until, authorizationId }: queries.Booking,
): Promise<void> {
  const interval = { from: from.toISOString(), until: until?.toISOString() ?? null };
  const details = { vehicleId, driver: userId, type, authorizationId, ...interval };
  await auditChange(db, originOf({ caller, ip }), `booking.${action}`, `booking:${id}`, details);
}

interface AuthorizedBooking {
  readonly vehicleId: number;
  readonly driverId: string;
  readonly interval: rules.BookingInterval;
}

/** Issues the authorizations of bookings. */
export interface Issuer {
  readonly sealer: Sealer;
  /** Maximum validity of an authorization token. */
  readonly maxAuthorizationMs: number;
}

async function issue(
  db: Database,
  { sealer, maxAuthorizationMs }: Issuer,
  { interval, ...booking }: AuthorizedBooking,
  context: RequestContext,
): Promise<Issued> {
  const { from, until } = rules.authorizationInterval(interval, context.now, maxAuthorizationMs);
  return issueAuthorization(db, sealer, { ...booking, level: 'DRIVE', from, until }, context);
}

/** Replaces the authorization of a changed booking; issues a new one if it was revoked meanwhile. */
async function reissue(
  db: Database,
  issuer: Issuer,
  authorizationId: string,
  booking: AuthorizedBooking,
  context: RequestContext,
): Promise<Issued> {
  const current = await lockLatestAuthorization(db, context.caller.applicationId, authorizationId);
  if (!current) return issue(db, issuer, booking, context);
  const interval = rules.authorizationInterval(booking.interval, context.now, issuer.maxAuthorizationMs);
  return replaceAuthorization(db, issuer.sealer, current, interval, context);
}

async function revoke(db: Database, authorizationId: string, { caller, now }: RequestContext): Promise<void> {
  const current = await lockLatestAuthorization(db, caller.applicationId, authorizationId);
  if (current) await revokeAuthorization(db, current, now);
}

/**
 * Books a vehicle. Run it in a transaction, like all functions below.
 * @throws Failure as listed for POST /v1/vehicle/{id}/booking
 */
export async function createBooking(
  db: Database,
  issuer: Issuer,
  context: RequestContext,
  request: BookingRequest,
): Promise<Booked> {
  const { caller, now } = context;
  const vehicle = await lockVehicle(db, caller, request.vehicleId);
  const driver = await resolveDriver(db, caller, request.driver, vehicle.isManaged);
  const type = rules.requireType(request.type);
  rules.requireInterval(type, request.interval, now);
  requireBookable(await queries.findBookable(db, vehicle.id));
  const { from } = request.interval;
  const interval = { from, until: request.interval.until ?? (await queries.findNextStart(db, vehicle.id, from, now)) };
  const [id, vehicleId, { userId }] = [randomUUID(), vehicle.id, driver];
  const issued = await issue(db, issuer, { vehicleId, driverId: userId, interval }, context);
  const authorizationId = issued.authorization.id;
  const { applicationId } = caller;
  await queries.insertBooking(db, { id, applicationId, vehicleId, driver, type, interval, authorizationId, now });
  const booking = { id, vehicleId, userId, authorizationId, type, ...interval, stoppedAt: undefined };
  const commands = await findBookingCommands(db, issuer.sealer, caller, issued.authorization);
  await audit(db, context, 'create', booking);
  return { booking, issued, commands };
}

/** A requested change; undefined keeps the current value. */
export interface BookingChange {
  readonly id: string;
  readonly from: Date | undefined;
  readonly until: Date | undefined;
}

/**
 * Rejects a later start once the vehicle was used: the booking would no longer show who used it, and could be deleted.
 * @throws Failure INVALID_INTERVAL
 */
async function requirePostponable(db: Database, booking: queries.Booking, from: Date, now: Date): Promise<void> {
  if (rules.stateAt(booking, now) === 'PLANNED' || from <= booking.from || !(await queries.wasUsed(db, booking)))
    return;
  const message = 'from must not be later: the vehicle has been used since the booking started';
  throw new Failure('INVALID_INTERVAL', message, { field: 'from' });
}

/**
 * Changes the interval of a booking, which replaces its authorization.
 * @throws Failure NOT_FOUND, BOOKING_EXPIRED, INVALID_INTERVAL, VEHICLE_ARCHIVED, NO_DEVICE, VEHICLE_NOT_AVAILABLE
 */
export async function updateBooking(
  db: Database,
  issuer: Issuer,
  context: RequestContext,
  { id, ...change }: BookingChange,
): Promise<Issued> {
  const { booking, vehicle } = await queries.lockBooking(db, context.caller, id);
  rules.requireUnfinished(booking, context.now);
  const interval = { from: change.from ?? booking.from, until: change.until ?? booking.until };
  rules.requireInterval(booking.type, interval, context.now, booking.from);
  await requirePostponable(db, booking, interval.from, context.now);
  requireBookable(vehicle);
  const authorized = { vehicleId: booking.vehicleId, driverId: booking.userId, interval };
  const issued = await reissue(db, issuer, booking.authorizationId, authorized, context);
  const authorizationId = issued.authorization.id;
  await queries.moveBooking(db, id, { interval, authorizationId });
  await audit(db, context, 'update', { ...booking, ...interval, authorizationId });
  return issued;
}

/**
 * Ends a booking now. Idempotent, because the first answer may have been lost.
 * @throws Failure NOT_FOUND; BOOKING_EXPIRED when it has reached its end
 */
export async function stopBooking(db: Database, context: RequestContext, id: string): Promise<void> {
  const { booking } = await queries.lockBooking(db, context.caller, id);
  if (rules.stateAt(booking, context.now) === 'STOPPED') return;
  rules.requireUnfinished(booking, context.now);
  await queries.endBooking(db, id, context.now);
  await revoke(db, booking.authorizationId, context);
  await audit(db, context, 'stop', booking);
}

/**
 * Deletes a booking that has not started, or a free-floating one of the last 10 minutes whose vehicle was not moved.
 * @throws Failure NOT_FOUND, BOOKING_EXPIRED for any other
 */
export async function deleteBooking(db: Database, context: RequestContext, id: string): Promise<void> {
  const { booking } = await queries.lockBooking(db, context.caller, id);
  const state = rules.stateAt(booking, context.now);
  const isDeletable =
    state === 'PLANNED' ||
    (state === 'ACTIVE' && rules.isEarly(booking, context.now) && !(await queries.wasUsed(db, booking)));
  if (!isDeletable) throw new Failure('BOOKING_EXPIRED', 'the booking has started', { deleted: false });
  await queries.markDeleted(db, id, context.now);
  await revoke(db, booking.authorizationId, context);
  await audit(db, context, 'delete', booking);
}
