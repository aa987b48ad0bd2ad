import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { type Http, requestContext } from '@odograph/http/http';
import { sendPage } from '@odograph/http/paging';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, pageHeaders, Succeeded } from '@odograph/http/schemas';
import Type from 'typebox';
import { type AccessOptions, changeAccess } from '../access-options.ts';
import { streamList } from '../list-stream.ts';
import { createBooking, deleteBooking, stopBooking, updateBooking } from './life-cycle.ts';
import { type Booking, findBooking, type ListedBooking, listActive, listOfVehicle } from './queries.ts';
import * as schemas from './schemas.ts';

const route = { tags: ['bookings'] };
const largestOffset = 1_000_000_000;

const toRecord = (booking: Booking) => ({ id: booking.id, ...schemas.describeBooking(booking) });

function addVehicleBookings(http: Http, options: AccessOptions): void {
  const { db, clock } = options;
  http.post(
    '/v1/vehicle/:id/booking',
    {
      schema: {
        ...route,
        summary: 'Book a vehicle for a driver, with an authorization for the interval',
        params: schemas.VehiclePath,
        body: schemas.BookingRequest,
        response: answers(
          schemas.BookedAnswer,
          ...(['UNAUTHORIZED', 'DRIVER_WITHOUT_ACCOUNT', 'INVALID_BOOKING_TYPE', 'INVALID_INTERVAL'] as const),
          ...(['NO_DEVICE', 'VEHICLE_ARCHIVED', 'VEHICLE_NOT_AVAILABLE', 'UNKNOWN_VEHICLE'] as const),
        ),
      },
    },
    async (request) => {
      const { from, until, type, driver } = request.body;
      const interval = {
        from: schemas.parseMoment('from', from),
        until: until === undefined ? undefined : schemas.parseMoment('until', until),
      };
      const wanted = { vehicleId: request.params.id, type, driver, interval };
      const { booking, issued, commands } = await db
        .transaction()
        .execute((trx) => createBooking(trx, options, requestContext(request, clock), wanted));
      return {
        booked: true,
        bookingId: booking.id,
        ...schemas.describeBooking(booking),
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
        params: schemas.VehiclePath,
        querystring: Type.Object({
          offset: Type.Integer({ minimum: 0, maximum: largestOffset, default: 0, description: 'bookings to skip' }),
          limit: Type.Optional(
            Type.Integer({ minimum: 0, maximum: largestOffset, description: 'bookings to return; all by default' }),
          ),
        }),
        response: answers(schemas.BookingList, 'UNKNOWN_VEHICLE'),
      },
    },
    async ({ caller, params, query: { offset, limit } }, reply) => {
      const { id } = await findVehicle(db, caller, params.id);
      const read = (after: ListedBooking | undefined, count: number) =>
        listOfVehicle(db, caller, id, { offset, after, count });
      const body = await streamList('bookings', toRecord, read, limit);
      if (limit === undefined || limit === 0) return sendPage(reply, body, undefined);
      const following = await listOfVehicle(db, caller, id, { offset: offset + limit, count: 1 });
      const parameters = { offset: String(offset + limit), limit: String(limit) };
      const next = { path: `/v1/vehicle/${id}/booking`, parameters };
      return sendPage(reply, body, following.length > 0 ? next : undefined);
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
        params: schemas.BookingPath,
        response: answers(schemas.BookingRecord, 'NOT_FOUND'),
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
        response: answers(schemas.BookingList),
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
        params: schemas.BookingPath,
        body: schemas.BookingChange,
        response: answers(
          schemas.UpdatedAnswer,
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
        from: from === undefined ? undefined : schemas.parseMoment('from', from),
        until: until === undefined ? undefined : schemas.parseMoment('until', until),
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
        params: schemas.BookingPath,
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
        params: schemas.BookingPath,
        response: {
          ...answers(Type.Object({ deleted: Succeeded }), 'NOT_FOUND', 'UNAUTHORIZED'),
          409: schemas.DeletionRefused,
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
