/** Creates a function that converts a timestamp to local time, returned as the Unix milliseconds of the same UTC wall time. */
export function createLocalClock(timeZone: string): (moment: string) => number {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  // Offsets are cached by quarter of an hour, the granularity of transitions; a lookup takes microseconds.
  const quarterMs = 900_000;
  const offsets = new Map<number, number>();
  const findOffset = (ms: number): number => {
    const name = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours = 0, minutes = 0, seconds = 0] = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(name) ?? [];
    const offset = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
    return sign === '-' ? -offset : offset;
  };
  return (moment) => {
    const ms = Date.parse(moment);
    const quarter = Math.floor(ms / quarterMs);
    const offset = offsets.get(quarter) ?? findOffset(ms);
    offsets.set(quarter, offset);
    return ms + offset;
  };
}

/** Formats a local time to the minute. @param ms as returned by createLocalClock */
export const formatMinute = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
