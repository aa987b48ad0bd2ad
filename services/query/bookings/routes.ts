import { invalidParameter } from '@odograph/contracts/failures';
import { isoMicroseconds } from '@odograph/contracts/timestamps';
import { isUuid } from '@odograph/contracts/uuid';
import type { Database } from '@odograph/database/database';
import { findVisibleVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendPage } from '@odograph/http/paging';
import { answers, isTrue, pageHeaders } from '@odograph/http/schemas';
import { VehicleParameters } from '../schemas.ts';
import { parseInterval } from '../series/rules.ts';
import { type BookingKey, findAccess, listBookings, listPendingRequests } from './queries.ts';
import { AccessQuery, Calendar, CalendarQuery, VehicleAccess } from './schemas.ts';

const path = '/v1/x/bookings';
const keyForm = /^(\d{1,17})_(.{36})$/;

/** @throws Failure INVALID_PARAMETER for a value that no answer contained */
function readKey(text: string): BookingKey {
  const [, start = '', id = ''] = keyForm.exec(text) ?? [];
  if (start === '' || !isUuid(id)) throw invalidParameter('after', 'must be taken from the Link of an answer');
  return { start: BigInt(start), id };
}

/** Additions to the interface: the calendar of bookings, and who may use a vehicle. */
export function calendarRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      path,
      {
        schema: {
          operationId: 'getCalendar',
          tags: ['bookings'],
          summary: 'The bookings of an interval over all vehicles, and the requests that wait for a decision',
          description: 'A user sees its own bookings and requests, as a manager all bookings of the vehicle.',
          querystring: CalendarQuery,
          answerHeaders: pageHeaders,
          response: answers(Calendar, 'INVALID_INTERVAL', 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ viewer, query }, reply) => {
        const { from, until } = parseInterval(query, 366);
        const { vehicleId, limit } = query;
        const after = query.after === undefined ? undefined : readKey(query.after);
        const rows = await listBookings(db, {
          ...{ viewer, from, until, after, limit: limit + 1 },
          vehicleId: vehicleId === undefined ? undefined : await findVisibleVehicle(db, viewer, vehicleId),
        });
        const page = rows.slice(0, limit);
        const requests = await listPendingRequests(db, viewer);
        const last = rows.length > limit ? page.at(-1)?.key : undefined;
        const interval = { from: isoMicroseconds(from), until: isoMicroseconds(until) };
        const body = JSON.stringify({ bookings: page.map(({ booking }) => booking), requests });
        const parameters = { ...interval, vehicleId, limit: String(limit) };
        return sendPage(
          reply,
          body,
          last && { path, parameters: { ...parameters, after: `${last.start}_${last.id}` } },
        );
      },
    );

    http.get(
      '/v1/x/vehicle/:id/access',
      {
        schema: {
          tags: ['bookings'],
          summary: 'Who may use a vehicle: its Bluetooth authorizations and its grants',
          description: 'A user who does not manage the vehicle sees its own.',
          params: VehicleParameters,
          querystring: AccessQuery,
          response: answers(VehicleAccess, 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ viewer, params, query: { ended = false } }) =>
        findAccess(db, viewer, await findVisibleVehicle(db, viewer, params.id), isTrue(ended)),
    );
  };
}
