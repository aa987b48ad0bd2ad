import { parseTimestamp } from '@odograph/contracts/timestamps';
import { text, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import { DeviceCommands } from '../authorizations/device-commands.ts';
import { credentials } from '../authorizations/schemas.ts';
import type { Booking } from './queries.ts';

const timestamp = (description: string) =>
  Type.String({ description: `${description}: ISO 8601, UNIX seconds or milliseconds` });

/** Parses a timestamp of a request, to the millisecond. @throws Failure INVALID_PARAMETER naming the field */
export function parseMoment(field: string, value: string): Date {
  return new Date(Number(parseTimestamp(field, value) / 1000n));
}

export const VehiclePath = Type.Object({ id: VehicleId });
export const BookingPath = Type.Object({ id: Type.String({ description: 'booking identifier' }) });

export const BookingRequest = Type.Object({
  from: timestamp('start, not earlier than 5 minutes before the request'),
  until: Type.Optional(
    timestamp('end, exclusive; a BOOKING needs it, a FREE_FLOATING one lasts until the next booking'),
  ),
  type: Type.Optional(Type.String({ description: 'BOOKING or FREE_FLOATING' })),
  driver: Type.Optional({ ...text(0, 256), description: 'default: the requesting user, or the application' }),
});

export const BookingChange = Type.Object({
  from: Type.Optional(timestamp('new start')),
  until: Type.Optional(timestamp('new end, exclusive')),
});

const fields = {
  from: Type.String({ format: 'date-time' }),
  until: Type.String({ description: 'empty while open-ended' }),
  vehicleId: Type.String(),
  authorizationId: Type.String(),
  userId: Type.String({ description: 'the driver' }),
  bookingType: Type.String({ description: 'BOOKING or FREE_FLOATING' }),
};
/** Interface specification, "Booking fields". */
export const BookingRecord = Type.Object({ id: Type.String(), ...fields });
export const BookingList = Type.Object({ bookings: Type.Array(BookingRecord) });

export const BookedAnswer = Type.Object({
  booked: Type.Boolean(),
  bookingId: Type.String(),
  ...fields,
  authorization: Type.Object({ id: Type.String(), ...credentials }),
  commands: DeviceCommands,
});
export const UpdatedAnswer = Type.Object({ updated: Type.Boolean(), authorizationId: Type.String(), ...credentials });
export const DeletionRefused = Type.Object(
  { deleted: Type.Boolean(), error: Type.String(), message: Type.String() },
  { description: 'BOOKING_EXPIRED' },
);

/** Formats the fields that every answer with a booking contains. */
export function describeBooking({ from, until, vehicleId, authorizationId, userId, type }: Booking) {
  return {
    from: from.toISOString(),
    until: until?.toISOString() ?? '',
    vehicleId: String(vehicleId),
    authorizationId,
    userId,
    bookingType: type,
  };
}
