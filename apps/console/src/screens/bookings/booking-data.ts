import { answerOf, api, type CallFailure, type Schema } from '../../api/client.ts';
import type { NamedVehicle } from '../../parts/forms/vehicle-picker.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';

export type Booking = Schema<'CalendarBooking'>;

const dayMs = 86_400_000;
const pageSize = 5000;
const maxRows = 500;

/** The lengths of the calendar, in days. */
export const spans = [1, 7, 14, 28] as const;

/** The interval that the calendar shows, UNIX milliseconds. */
export interface Interval {
  readonly from: number;
  readonly until: number;
}

/** The interval of so many days from a day. @param day as in an input of the type date; today without one */
export function intervalOf(day: string | null, days: number): Interval {
  const from = new Date(day ? `${day}T00:00` : Date.now());
  from.setHours(0, 0, 0, 0);
  return { from: from.getTime(), until: from.getTime() + days * dayMs };
}

/** Writes the day of a time as an input of the type date has it. */
export function dayOf(time: number): string {
  const date = new Date(time);
  return new Date(time - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

/** A row of the calendar: a vehicle with its bookings. */
export interface CalendarRow {
  readonly id: string;
  readonly plate: string;
  readonly bookings: readonly Booking[];
}

/** The rows of the calendar, by plate. */
export interface Calendar {
  readonly rows: readonly CalendarRow[];
  /** Vehicles without a booking that have no row. */
  readonly hiddenCount: number;
}

/** Reads the first vehicles by plate. @throws CallFailure */
async function loadVehicles(appId: string, group: string) {
  const query = {
    limit: maxRows,
    sort: 'plate' as const,
    ...(appId !== '' && { appId }),
    ...(group !== '' && { group }),
  };
  const answer = await answerOf(api.GET('/v1/x/vehicles', { params: { query } }));
  // A text is CSV, which is not requested.
  const { vehicles, total } = typeof answer === 'string' ? { vehicles: [], total: 0 } : answer;
  return { vehicles, total: total ?? vehicles.length };
}

/** Reads the first 5,000 bookings of an interval. @throws CallFailure */
export async function loadBookings(
  appId: string,
  { from, until }: Interval,
  filter: { readonly vehicleId?: string; readonly group?: string },
) {
  const interval = { from: new Date(from).toISOString(), until: new Date(until).toISOString() };
  const query = { ...interval, limit: pageSize, ...filter };
  return (await answerOf(api.GET('/v1/x/bookings', { params: { query, header: headerFor(appId) } }))).bookings;
}

/**
 * Reads the bookings of an interval, and the first vehicles by plate, booked or free.
 * @param group the id of a group; empty for all vehicles
 * @throws CallFailure
 */
export async function loadCalendar(
  appId: string,
  interval: Interval,
  only: NamedVehicle | undefined,
  group: string,
): Promise<Calendar> {
  const filter = { ...(only !== undefined && { vehicleId: only.id }), ...(group !== '' && { group }) };
  const [bookings, { vehicles, total }] = await Promise.all([
    loadBookings(appId, interval, filter),
    only === undefined ? loadVehicles(appId, group) : { vehicles: [only], total: 1 },
  ]);
  const rows = new Map(vehicles.map(({ id, plate }) => [id, { id, plate, bookings: [] as Booking[] }]));
  for (const booking of bookings) {
    const { vehicleId: id, plate } = booking;
    const row = rows.get(id) ?? { id, plate, bookings: [] };
    row.bookings.push(booking);
    rows.set(id, row);
  }
  const sorted = [...rows.values()].sort((a, b) => a.plate.localeCompare(b.plate) || a.id.localeCompare(b.id));
  return { rows: sorted, hiddenCount: Math.max(0, total - rows.size) };
}

/** When a booking ends: when it was stopped, else its end; undefined while it is open. */
export const endOf = ({ stoppedAt, until }: Booking): string | undefined => stoppedAt ?? until;

/** The start and the end of a booking as shares of an interval, each between 0 and 1. */
export function shareOf(booking: Booking, { from, until }: Interval): { start: number; end: number } {
  const within = (time: number) => Math.min(1, Math.max(0, (time - from) / (until - from)));
  const end = endOf(booking);
  return { start: within(Date.parse(booking.from)), end: end === undefined ? 1 : within(Date.parse(end)) };
}

/** The input that is at fault where the platform names a reason instead. */
const inputs: Readonly<Record<string, string>> = {
  VEHICLE_NOT_AVAILABLE: 'vehicle',
  VEHICLE_ARCHIVED: 'vehicle',
  NO_DEVICE: 'vehicle',
  UNKNOWN_VEHICLE: 'vehicle',
  INVALID_INTERVAL: 'until',
  DRIVER_WITHOUT_ACCOUNT: 'driver',
};

/** The message of a refused booking if this input is at fault. */
export function faultOf(failure: CallFailure | undefined, input: string): string | undefined {
  if (failure === undefined) return undefined;
  return (failure.field ?? inputs[failure.code]) === input ? failure.message : undefined;
}

/** The message of a refused booking if no input is at fault. */
export function otherFaultOf(failure: CallFailure | undefined): string | undefined {
  const known = ['vehicle', 'driver', 'from', 'until'];
  return known.some((input) => faultOf(failure, input) !== undefined) ? undefined : failure?.message;
}
