import { parseTimestamp, type Timestamp } from '@odograph/contracts/timestamps';
import {
  checkedWord,
  moment,
  momentOrEmpty,
  Succeeded,
  text,
  timestamp,
  VehicleId,
  word,
} from '@odograph/http/schemas';
import Type from 'typebox';
import { DeviceCommands } from '../authorizations/device-commands.ts';
import { AuthorizationId, credentials, DriverId } from '../authorizations/schemas.ts';
import type { Booking } from './queries.ts';

/** Parses a timestamp of a request, to the millisecond. @throws Failure INVALID_PARAMETER naming the field */
export function parseMoment(field: string, value: Timestamp): Date {
  return new Date(Number(parseTimestamp(field, value) / 1000n));
}

const BookingId = Type.String({
  description: 'booking identifier',
  examples: ['0197a1de-5f0e-7000-8000-000000000002'],
});
export const VehiclePath = Type.Object({ id: VehicleId });
export const BookingPath = Type.Object({ id: BookingId });

const types = ['BOOKING', 'FREE_FLOATING'] as const;

export const BookingRequest = Type.Object(
  {
    from: timestamp('start, not earlier than 5 minutes before the request'),
    until: Type.Optional(
      timestamp('end, exclusive; a BOOKING needs it, a FREE_FLOATING one lasts until the next booking'),
    ),
    type: Type.Optional(checkedWord(types)),
    driver: Type.Optional(
      text(0, 256, { description: 'default: the requesting user, or the application', examples: ['driver-17'] }),
    ),
  },
  { documentedAs: { required: ['from', 'type'] } },
);

export const BookingChange = Type.Object({
  from: Type.Optional(timestamp('new start')),
  until: Type.Optional(timestamp('new end, exclusive')),
});

const fields = {
  from: moment('start, inclusive'),
  until: momentOrEmpty('end, exclusive; empty while open-ended'),
  vehicleId: VehicleId,
  authorizationId: AuthorizationId,
  userId: DriverId,
  bookingType: word(types),
};
/** Interface specification, "Booking fields". */
export const BookingRecord = Type.Object({ id: BookingId, ...fields }, { title: 'Booking' });
export const BookingList = Type.Object({ bookings: Type.Array(BookingRecord) }, { title: 'Bookings' });

export const BookedAnswer = Type.Object(
  {
    booked: Succeeded,
    bookingId: BookingId,
    ...fields,
    authorization: Type.Object({ id: AuthorizationId, ...credentials }, { title: 'BookedAuthorization' }),
    commands: DeviceCommands,
  },
  { title: 'Booked' },
);
export const UpdatedAnswer = Type.Object(
  { updated: Succeeded, authorizationId: AuthorizationId, ...credentials },
  { title: 'UpdatedBooking' },
);
export const DeletionRefused = Type.Object({
  deleted: Type.Boolean({ examples: [false] }),
  error: word(['BOOKING_EXPIRED']),
  message: Type.String(),
});

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
