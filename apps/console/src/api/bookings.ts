import { answerOf, api, type Schema } from './client.ts';
import { nextPage } from './use-pages.ts';

/** A booking as the calendar lists it. */
export type Booking = Schema<'CalendarBooking'>;

const pageSize = 5000;
const maxPages = 4;

/** The bookings to read. */
export interface BookingQuery {
  readonly from: string;
  readonly until: string;
  readonly vehicleId?: string;
  readonly group?: string;
}

/** The bookings of an interval by their start. */
export interface Bookings {
  readonly bookings: readonly Booking[];
  /** Whether more follow. */
  readonly hasMore: boolean;
}

/** Reads the first 20,000 bookings of an interval, page by page. @throws CallFailure */
export async function loadBookings(
  query: BookingQuery,
  header: { readonly 'X-Application'?: string } = {},
): Promise<Bookings> {
  const bookings: Booking[] = [];
  let after: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const parameters = { ...query, limit: pageSize, ...(after !== undefined && { after }) };
    const call = api.GET('/v1/x/bookings', { params: { query: parameters, header } });
    for (const booking of (await answerOf(call)).bookings) bookings.push(booking);
    after = nextPage((await call).response);
    if (after === undefined) break;
  }
  return { bookings, hasMore: after !== undefined };
}
