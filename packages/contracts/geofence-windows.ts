/** The days of a week, from Monday on. */
export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
export type Weekday = (typeof weekdays)[number];

/** When a geofence counts, by the clocks of a time zone; at all other times it does not. */
export interface GeofenceWindows {
  /** IANA name. */
  readonly timeZone: string;
  readonly windows: readonly {
    /** The days on which it begins. */
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
 * Creates a function that returns how far the clocks of a time zone are ahead of UTC, ms. It remembers the last quarter of an
 * hour, within which no clock is changed.
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
 * Creates the test whether a geofence counts at a time, Unix ms. Where clocks go forward, the times left out belong to no
 * window; where they go back, the repeated hour belongs to its window twice.
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
