/** Returns a function that converts a moment to the clock of a time zone: milliseconds, as if that clock were UTC. */
export function clockOf(timeZone: string): (moment: string) => number {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  // Clocks change at most every quarter of an hour; finding an offset takes microseconds.
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

/** Writes a moment as the clock of its zone shows it, to the minute. @param ms of clockOf */
export const writeMinute = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
