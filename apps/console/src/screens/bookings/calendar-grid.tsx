import { formatShortDay, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { type Booking, type CalendarRow, endOf, type Period, shareOf } from './booking-data.ts';

const dayMs = 86_400_000;

/** The times above the calendar: hours of one day, else days. */
function ticksOf({ from, until }: Period): { readonly at: number; readonly label: string }[] {
  const step = until - from <= dayMs ? dayMs / 8 : Math.max(dayMs, Math.round((until - from) / dayMs / 14) * dayMs);
  const count = Math.round((until - from) / step);
  return Array.from({ length: count }, (_unused, index) => {
    const time = from + index * step;
    const label =
      step < dayMs ? `${String(Math.round((time - from) / 3_600_000)).padStart(2, '0')}:00` : formatShortDay(time);
    return { at: (time - from) / (until - from), label };
  });
}

/** Says a booking in words, for its tip and for a screen reader. */
export function describe(booking: Booking): string {
  const { bookings: text } = texts.value;
  const { plate, userId, from, state, type } = booking;
  const end = endOf(booking);
  const times = `${formatTime(from)} – ${end === undefined ? text.open : formatTime(end)}`;
  return `${plate}, ${userId}, ${times}, ${text.types[type]}, ${text.states[state]}`;
}

function Bar({ booking, period, onLook }: { booking: Booking; period: Period; onLook: () => void }) {
  const { start, end } = shareOf(booking, period);
  const style = { left: `${start * 100}%`, width: `max(${(end - start) * 100}%, 6px)` };
  const words = describe(booking);
  return (
    <button
      type="button"
      class={`booking ${booking.state.toLowerCase()}`}
      style={style}
      title={words}
      aria-label={words}
      onClick={onLook}
    >
      {booking.userId}
    </button>
  );
}

interface GridOptions {
  readonly rows: readonly CalendarRow[];
  readonly period: Period;
  readonly onLook: (booking: Booking) => void;
}

/** The calendar: a row for each vehicle, a bar for each booking. */
export function CalendarGrid({ rows, period, onLook }: GridOptions) {
  const { bookings: text } = texts.value;
  const now = (Date.now() - period.from) / (period.until - period.from);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it
    <section class="calendar card" aria-label={text.calendar} tabIndex={0}>
      <div class="calendar-inner">
        <div class="calendar-row calendar-head" aria-hidden="true">
          <span />
          <div class="calendar-line">
            {ticksOf(period).map(({ at, label }) => (
              <span key={at} class="calendar-tick" style={{ left: `${at * 100}%` }}>
                {label}
              </span>
            ))}
          </div>
        </div>
        <ul>
          {rows.map(({ vehicleId, plate, bookings }) => (
            <li key={vehicleId} class="calendar-row">
              <a href={`/vehicles/${vehicleId}`}>{plate}</a>
              <div class="calendar-line">
                {now > 0 && now < 1 && <span class="calendar-now" style={{ left: `${now * 100}%` }} />}
                {bookings.map((booking) => (
                  <Bar key={booking.bookingId} booking={booking} period={period} onLook={() => onLook(booking)} />
                ))}
              </div>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}
