import { randomUUID } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import { appendAudit } from '@odograph/database/audit';
import { originOf } from '@odograph/database/audit-origin';
import type { Database } from '@odograph/database/database';
import type { RequestContext } from '@odograph/http/request-context';
import type { Sealer } from '@odograph/runtime/sealing';
import type { CommandsRecord } from '../authorizations/device-commands.ts';
import type { Issued } from '../authorizations/issue.ts';
import { type Driver, resolveDriver } from './drivers.ts';
import { findCommands, issueKey, renewKey, revokeKey } from './keys.ts';
import * as queries from './queries.ts';
import * as rules from './rules.ts';

export interface BookingRequest {
  readonly vehicleId: string;
  readonly type: string | undefined;
  readonly driver: string | undefined;
  readonly interval: rules.Interval;
}

/** A new booking with what its driver needs to get into the vehicle. */
export interface Booked {
  readonly booking: queries.Booking;
  readonly key: Issued;
  readonly commands: CommandsRecord;
}

function requireBookable({ hasDevice, isInService }: queries.BookableVehicle): void {
  if (!hasDevice) throw new Failure('NO_DEVICE');
  if (!isInService) throw new Failure('VEHICLE_NOT_AVAILABLE', 'the vehicle is archived or has a state raised');
}

async function audit(
  db: Database,
  { caller, address: ip }: RequestContext,
  action: string,
  { id, vehicleId, userId, type, from, until, authorizationId }: queries.Booking,
): Promise<void> {
  await appendAudit(db, {
    ...originOf({ caller, ip }),
    action: `booking.${action}`,
    subject: `booking:${id}`,
    details: {
      ...{ vehicleId, driver: userId, type, authorizationId },
      ...{ from: from.toISOString(), until: until?.toISOString() ?? null },
    },
    outcome: 'done',
  });
}

async function insert(
  db: Database,
  sealer: Sealer,
  asked: RequestContext,
  { driver, ...times }: { vehicleId: number; driver: Driver; type: rules.BookingType; interval: rules.Interval },
): Promise<Booked> {
  const { vehicleId, type, interval } = times;
  const { userId } = driver;
  const { applicationId } = asked.caller;
  const key = await issueKey(db, sealer, { vehicleId, driverId: userId, interval }, asked.now);
  const id = randomUUID();
  const authorizationId = key.authorization.id;
  await queries.insertBooking(db, { ...times, id, applicationId, driver, authorizationId, now: asked.now });
  const booking = { id, vehicleId, userId, authorizationId, type, ...interval, stoppedAt: undefined };
  const commands = await findCommands(db, sealer, key);
  await audit(db, asked, 'create', booking);
  return { booking, key, commands };
}

/**
 * Books a vehicle; run it in a transaction, as all of these.
 * @throws Failure as POST /v1/vehicle/{id}/booking names them
 */
export async function createBooking(
  db: Database,
  sealer: Sealer,
  asked: RequestContext,
  request: BookingRequest,
): Promise<Booked> {
  const vehicle = await queries.lockVehicle(db, asked.caller, request.vehicleId);
  const driver = await resolveDriver(db, asked.caller, request.driver);
  const type = rules.requireType(request.type);
  rules.requireInterval(type, request.interval, asked.now);
  requireBookable(vehicle);
  return insert(db, sealer, asked, { vehicleId: vehicle.id, driver, type, interval: request.interval });
}

/** What a client wants to change: undefined is left as it is, an end of null is taken away. */
export interface BookingChange {
  readonly id: string;
  readonly from: Date | undefined;
  readonly until: Date | null | undefined;
}

/**
 * Changes when a booking is, which replaces its authorization.
 * @throws Failure NOT_FOUND, BOOKING_EXPIRED, INVALID_INTERVAL, NO_DEVICE, VEHICLE_NOT_AVAILABLE
 */
export async function updateBooking(
  db: Database,
  sealer: Sealer,
  asked: RequestContext,
  { id, ...change }: BookingChange,
): Promise<Issued> {
  const { booking, vehicle } = await queries.lockBooking(db, asked.caller, id);
  rules.requireUnfinished(booking, asked.now);
  const until = change.until === undefined ? booking.until : (change.until ?? undefined);
  const interval = { from: change.from ?? booking.from, until };
  rules.requireInterval(booking.type, interval, asked.now, booking.from);
  requireBookable(vehicle);
  const request = { vehicleId: vehicle.id, driverId: booking.userId, interval };
  const key = await renewKey(db, sealer, booking.authorizationId, request, asked);
  const authorizationId = key.authorization.id;
  await queries.moveBooking(db, id, { interval, authorizationId });
  await audit(db, asked, 'update', { ...booking, ...interval, authorizationId });
  return key;
}

/**
 * Ends a booking now. Stopping it again changes nothing, since the answer may have been lost.
 * @throws Failure NOT_FOUND; BOOKING_EXPIRED when it ended by itself
 */
export async function stopBooking(db: Database, asked: RequestContext, id: string): Promise<void> {
  const { booking } = await queries.lockBooking(db, asked.caller, id);
  if (rules.stateAt(booking, asked.now) === 'STOPPED') return;
  rules.requireUnfinished(booking, asked.now);
  await queries.endBooking(db, id, asked.now);
  await revokeKey(db, booking.authorizationId, asked);
  await audit(db, asked, 'stop', booking);
}

async function isUnused(db: Database, booking: queries.Booking, now: Date): Promise<boolean> {
  if (!rules.isEarly(booking, now)) return false;
  const { since, before } = await queries.observe(db, booking.vehicleId, booking.from);
  return !rules.wasMoved(since, before);
}

/**
 * Deletes a booking that has not started, or a free-floating one of the last 10 minutes whose vehicle was not moved.
 * @throws Failure NOT_FOUND, BOOKING_EXPIRED for any other
 */
export async function deleteBooking(db: Database, asked: RequestContext, id: string): Promise<void> {
  const { booking } = await queries.lockBooking(db, asked.caller, id);
  const state = rules.stateAt(booking, asked.now);
  const isDeletable = state === 'PLANNED' || (state === 'ACTIVE' && (await isUnused(db, booking, asked.now)));
  if (!isDeletable) throw new Failure('BOOKING_EXPIRED', 'the booking has started', { deleted: false });
  await queries.markDeleted(db, id, asked.now);
  await revokeKey(db, booking.authorizationId, asked);
  await audit(db, asked, 'delete', booking);
}
