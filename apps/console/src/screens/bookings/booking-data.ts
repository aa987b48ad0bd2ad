import { type Booking, loadBookings } from '../../api/bookings.ts';
import { answerOf, api, type CallFailure } from '../../api/client.ts';
import type { NamedVehicle } from '../../parts/forms/vehicle-picker.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import type { Interval } from './calendar-days.ts';

const maxRows = 500;

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
  /** Bookings that start after this time are missing; undefined if none is. */
  readonly completeUntil: string | undefined;
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

/**
 * Reads the first 20,000 bookings of an interval, and the first vehicles by plate, booked or free.
 * @param group the id of a group; empty for all vehicles
 * @throws CallFailure
 */
export async function loadCalendar(
  appId: string,
  { from, until }: Interval,
  only: NamedVehicle | undefined,
  group: string,
): Promise<Calendar> {
  const query = {
    ...{ from: new Date(from).toISOString(), until: new Date(until).toISOString() },
    ...(only !== undefined && { vehicleId: only.id }),
    ...(group !== '' && { group }),
  };
  const [{ bookings, hasMore }, { vehicles, total }] = await Promise.all([
    loadBookings(query, headerFor(appId)),
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
  return {
    rows: sorted,
    hiddenCount: Math.max(0, total - rows.size),
    completeUntil: hasMore ? bookings.at(-1)?.from : undefined,
  };
}

/** When a booking ends: when it was stopped, else its end; undefined while it is open. */
export const endOf = ({ stoppedAt, until }: Booking): string | undefined => stoppedAt ?? until;

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
