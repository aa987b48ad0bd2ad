import { parseTimestamp, type Timestamp } from '@odograph/contracts/timestamps';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { type Http, requestContext } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import {
  answers,
  checkedWord,
  moment,
  momentOrEmpty,
  pageHeaders,
  Succeeded,
  text,
  timestamp,
  VehicleId,
  word,
} from '@odograph/http/schemas';
import Type from 'typebox';
import { DeviceCommands } from '../authorizations/device-commands.ts';
import { AuthorizationId, credentials, DriverId } from '../authorizations/rules.ts';
import { type AccessOptions, changeAccess } from '../shared/access-options.ts';
import { ListPage, sendList } from '../shared/list-stream.ts';
import { createBooking, deleteBooking, stopBooking, updateBooking } from './life-cycle.ts';
import { type Booking, findBooking, type ListedBooking, listActive, listOfVehicle } from './queries.ts';

/** Parses a timestamp of a request, to the millisecond. @throws Failure INVALID_PARAMETER naming the field */
function parseMoment(field: string, value: Timestamp): Date {
  return new Date(Number(parseTimestamp(field, value) / 1000n));
}

const BookingId = Type.String({
  description: 'booking identifier',
  examples: ['0197a1de-5f0e-7000-8000-000000000002'],
});
const VehiclePath = Type.Object({ id: VehicleId });
const BookingPath = Type.Object({ id: BookingId });

const types = ['BOOKING', 'FREE_FLOATING'] as const;

const BookingRequest = Type.Object(
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

const BookingChange = Type.Object({
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
const BookingRecord = Type.Object({ id: BookingId, ...fields }, { title: 'Booking' });
const BookingList = Type.Object({ bookings: Type.Array(BookingRecord) }, { title: 'Bookings' });

const BookedAnswer = Type.Object(
  {
    booked: Succeeded,
    bookingId: BookingId,
    ...fields,
    authorization: Type.Object({ id: AuthorizationId, ...credentials }, { title: 'BookedAuthorization' }),
    commands: DeviceCommands,
  },
  { title: 'Booked' },
);
const UpdatedAnswer = Type.Object(
  { updated: Succeeded, authorizationId: AuthorizationId, ...credentials },
  { title: 'UpdatedBooking' },
);
const DeletionRefused = Type.Object({
  deleted: Type.Boolean({ examples: [false] }),
  error: word(['BOOKING_EXPIRED']),
  message: Type.String(),
});

/** Formats the fields that every answer with a booking contains. */
function describeBooking({ from, until, vehicleId, authorizationId, userId, type }: Booking) {
  return {
    from: from.toISOString(),
    until: until?.toISOString() ?? '',
    vehicleId: String(vehicleId),
    authorizationId,
    userId,
    bookingType: type,
  };
}

const route = { tags: ['bookings'] };

const toRecord = (booking: Booking) => ({ id: booking.id, ...describeBooking(booking) });

function addVehicleBookings(http: Http, options: AccessOptions): void {
  const { db, clock } = options;
  http.post(
    '/v1/vehicle/:id/booking',
    {
      schema: {
        ...route,
        summary: 'Book a vehicle for a driver, with an authorization for the interval',
        params: VehiclePath,
        body: BookingRequest,
        response: answers(
          BookedAnswer,
          ...(['UNAUTHORIZED', 'DRIVER_WITHOUT_ACCOUNT', 'INVALID_BOOKING_TYPE', 'INVALID_INTERVAL'] as const),
          ...(['NO_DEVICE', 'VEHICLE_ARCHIVED', 'VEHICLE_NOT_AVAILABLE', 'UNKNOWN_VEHICLE'] as const),
        ),
      },
    },
    async (request) => {
      const { from, until, type, driver } = request.body;
      const interval = {
        from: parseMoment('from', from),
        until: until === undefined ? undefined : parseMoment('until', until),
      };
      const wanted = { vehicleId: request.params.id, type, driver, interval };
      const { booking, issued, commands } = await db
        .transaction()
        .execute((trx) => createBooking(trx, options, requestContext(request, clock), wanted));
      return {
        booked: true,
        bookingId: booking.id,
        ...describeBooking(booking),
        authorization: { id: issued.authorization.id, token: issued.token, key: issued.key },
        commands,
      };
    },
  );
}

function addVehicleBookingList(http: Http, { db }: AccessOptions): void {
  http.get(
    '/v1/vehicle/:id/booking',
    {
      schema: {
        ...route,
        summary: 'The bookings of a vehicle, the latest start first',
        answerHeaders: pageHeaders,
        params: VehiclePath,
        querystring: ListPage('bookings'),
        response: answers(BookingList, 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ caller, params, query }, reply) => {
      const { id } = await findVehicle(db, caller, params.id);
      return sendList<ListedBooking>(reply, query, {
        ...{ name: 'bookings', path: `/v1/vehicle/${id}/booking`, describe: toRecord },
        read: (part) => listOfVehicle(db, caller, id, part),
      });
    },
  );
}

function addBookingReading(http: Http, { db, clock }: AccessOptions): void {
  http.get(
    '/v1/booking/:id',
    {
      schema: {
        ...route,
        summary: 'One booking',
        params: BookingPath,
        response: answers(BookingRecord, 'NOT_FOUND'),
      },
    },
    async ({ caller, params }) => toRecord(await findBooking(db, caller, params.id)),
  );

  http.get(
    '/v1/bookings',
    {
      schema: {
        ...route,
        summary: 'The bookings that have started and not ended',
        response: answers(BookingList),
      },
    },
    async ({ caller }) => ({ bookings: (await listActive(db, caller, clock())).map(toRecord) }),
  );
}

function addBookingChanges(http: Http, options: AccessOptions): void {
  const { clock } = options;
  http.put(
    '/v1/booking/:id',
    {
      schema: {
        ...route,
        summary: 'Change the interval of a booking, which replaces its authorization',
        params: BookingPath,
        body: BookingChange,
        response: answers(
          UpdatedAnswer,
          ...([
            'NOT_FOUND',
            'BOOKING_EXPIRED',
            'INVALID_INTERVAL',
            'NO_DEVICE',
            'VEHICLE_ARCHIVED',
            'VEHICLE_NOT_AVAILABLE',
            'UNAUTHORIZED',
          ] as const),
        ),
      },
    },
    async (request) => {
      const { from, until } = request.body;
      const wanted = {
        id: request.params.id,
        from: from === undefined ? undefined : parseMoment('from', from),
        until: until === undefined ? undefined : parseMoment('until', until),
      };
      const { authorization, token, key } = await changeAccess(options, (trx) =>
        updateBooking(trx, options, requestContext(request, clock), wanted),
      );
      return { updated: true, authorizationId: authorization.id, token, key };
    },
  );

  http.post(
    '/v1/booking/:id/stop',
    {
      schema: {
        ...route,
        summary: 'End a booking now and revoke its authorization',
        params: BookingPath,
        response: answers(Type.Object({ stopped: Succeeded }), 'NOT_FOUND', 'BOOKING_EXPIRED', 'UNAUTHORIZED'),
      },
    },
    async (request) => {
      await changeAccess(options, (trx) => stopBooking(trx, requestContext(request, clock), request.params.id));
      return { stopped: true };
    },
  );
}

function addBookingDeletion(http: Http, options: AccessOptions): void {
  http.delete(
    '/v1/booking/:id',
    {
      schema: {
        ...route,
        summary: 'Delete a booking before its start, or a free-floating one whose driver could not use the vehicle',
        params: BookingPath,
        response: {
          ...answers(Type.Object({ deleted: Succeeded }), 'NOT_FOUND', 'UNAUTHORIZED'),
          409: DeletionRefused,
        },
      },
    },
    async (request) => {
      await changeAccess(options, (trx) =>
        deleteBooking(trx, requestContext(request, options.clock), request.params.id),
      );
      return { deleted: true };
    },
  );
}

/** The routes of the interface specification, "Bookings and free-floating". */
export function bookingRoutes(options: AccessOptions): RoutePlugin {
  return (http) => {
    http.addHook('preValidation', leaveOutEmpty());
    addVehicleBookings(http, options);
    addVehicleBookingList(http, options);
    addBookingReading(http, options);
    addBookingChanges(http, options);
    addBookingDeletion(http, options);
  };
}
