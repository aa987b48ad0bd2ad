/** The days of the week; Monday is first. */
export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
export type Weekday = (typeof weekdays)[number];

/** The local times at which a geofence is active. */
export interface GeofenceWindows {
  /** IANA name. */
  readonly timeZone: string;
  readonly windows: readonly {
    /** The days on which the window begins. */
    readonly weekdays: readonly Weekday[];
    /** `HH:MM`; the window is half-open, and ends on the next day unless `until` is later than `from`. */
    readonly from: string;
    readonly until: string;
  }[];
}

const dayMinutes = 1440;
const slotMs = 15 * 60_000;

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

/**
 * Creates a function that returns the UTC offset of a time zone at a Unix time, both in milliseconds. It caches the offset
 * of the last quarter of an hour, because transitions occur only at multiples of 15 minutes.
 */
function createOffset(timeZone: string): (timeMs: number) => number {
  const format = new Intl.DateTimeFormat('en', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric' },
  } as const);
  let [lastSlot, lastOffsetMs] = [Number.NaN, 0];
  return (timeMs) => {
    const slot = Math.floor(timeMs / slotMs);
    if (slot !== lastSlot) {
      const parts = format.formatToParts(slot * slotMs).map(({ type, value }) => [type, Number(value)] as const);
      const { year = 0, month = 0, day = 0, hour, minute } = Object.fromEntries(parts);
      [lastSlot, lastOffsetMs] = [slot, Date.UTC(year, month - 1, day, hour, minute) - slot * slotMs];
    }
    return lastOffsetMs;
  };
}

/**
 * Creates a predicate that tests whether a geofence is active at a Unix time in milliseconds. A window loses the hour that
 * is skipped when clocks go forward, and contains the repeated hour twice when they go back.
 */
export function createWindowTest({ timeZone, windows }: GeofenceWindows): (timeMs: number) => boolean {
  const offsetMs = createOffset(timeZone);
  // Minutes since Monday 00:00.
  const intervals = windows.flatMap(({ weekdays: days, from, until }) =>
    days.map((day) => {
      const start = weekdays.indexOf(day) * dayMinutes + minutesOf(from);
      const minutes = (minutesOf(until) - minutesOf(from) + dayMinutes) % dayMinutes || dayMinutes;
      return { start, minutes };
    }),
  );
  return (timeMs) => {
    // 1970-01-01 was a Thursday.
    const minute = Math.floor((timeMs + offsetMs(timeMs)) / 60_000) + 3 * dayMinutes;
    return intervals.some(({ start, minutes }) => {
      const since = (((minute - start) % (7 * dayMinutes)) + 7 * dayMinutes) % (7 * dayMinutes);
      return since < minutes;
    });
  };
}
