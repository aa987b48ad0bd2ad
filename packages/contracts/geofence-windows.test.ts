import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createWindowTest, type Weekday, weekdays } from './geofence-windows.ts';

const on = (day: (typeof weekdays)[number], from: string, until: string, timeZone = 'Europe/Paris') =>
  createWindowTest({ timeZone, windows: [{ weekdays: [day], from, until }] });
const at = (time: string) => Date.parse(time);

describe('a time window', () => {
  it('is half-open, limited to its weekdays, and in local time', () => {
    const isOpen = on('monday', '08:00', '18:30');
    const times = ['05:59:59.999', '06:00:00', '16:29:59.999', '16:30:00'];
    expect(times.map((time) => isOpen(at(`2026-07-06T${time}Z`)))).toEqual([false, true, true, false]);
    expect(isOpen(at('2026-07-07T10:00:00Z'))).toBe(false);
  });

  it('extends past midnight into the next day, also from Sunday to Monday', () => {
    const isOpen = on('sunday', '22:00', '06:00', 'UTC');
    expect(isOpen(at('2026-03-01T21:59:59Z'))).toBe(false);
    expect(isOpen(at('2026-03-01T22:00:00Z'))).toBe(true);
    expect(isOpen(at('2026-03-02T05:59:59Z'))).toBe(true);
    expect(isOpen(at('2026-03-02T06:00:00Z'))).toBe(false);
    expect(isOpen(at('2026-03-02T22:00:00Z'))).toBe(false);
  });

  it('lasts 24 hours if from equals until, and until midnight if until is 00:00', () => {
    expect(on('monday', '08:00', '08:00', 'UTC')(at('2026-03-03T07:59:59Z'))).toBe(true);
    expect(on('monday', '08:00', '00:00', 'UTC')(at('2026-03-03T00:00:00Z'))).toBe(false);
  });

  it('loses the hour skipped by daylight saving time, and includes the repeated hour twice', () => {
    const openMinutes = (day: string, isOpen: (timeMs: number) => boolean) =>
      Array.from({ length: 32 * 60 }, (_, minute) => at(`${day}T00:00:00Z`) - 5 * 3_600_000 + minute * 60_000).filter(
        isOpen,
      ).length;
    // Paris: 2026-03-29 02:00 becomes 03:00, 2026-10-25 03:00 becomes 02:00.
    expect(openMinutes('2026-03-29', on('sunday', '01:30', '03:30'))).toBe(60);
    expect(openMinutes('2026-03-29', on('sunday', '02:10', '02:50'))).toBe(0);
    expect(openMinutes('2026-10-25', on('sunday', '01:30', '03:30'))).toBe(180);
    expect(openMinutes('2026-10-25', on('saturday', '22:00', '06:00'))).toBe(9 * 60);
  });

  it('agrees with Intl.DateTimeFormat for times in any order around daylight saving transitions', () => {
    const changes = { 'Europe/Paris': at('2026-10-25T01:00:00Z'), 'Australia/Lord_Howe': at('2026-04-04T15:00:00Z') };
    const zones = { ...changes, 'America/Sao_Paulo': at('2018-11-04T03:00:00Z'), 'Asia/Kathmandu': 0 };
    const clock = fc.integer({ min: 0, max: 1439 });
    const text = (minute: number) => new Date(minute * 60_000).toISOString().slice(11, 16);
    const property = fc.property(
      fc.constantFrom(...(Object.keys(zones) as (keyof typeof zones)[])),
      fc.constantFrom(...weekdays),
      fc.tuple(clock, clock),
      fc.array(fc.integer({ min: -2 * 86_400_000, max: 2 * 86_400_000 }), { minLength: 1, maxLength: 20 }),
      (timeZone, day, [from, until], offsets) => {
        const isOpen = on(day, text(from), text(until), timeZone);
        const format = new Intl.DateTimeFormat('en', {
          ...{ timeZone, weekday: 'long', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
        } as const);
        for (const offset of offsets) {
          const [weekday, time = ''] = format.format(zones[timeZone] + offset).split(/,? (?=\d)/);
          const place = weekdays.indexOf(weekday?.toLowerCase() as Weekday);
          const isFirst = weekdays[place] === day;
          const isNext = weekdays[(place + 6) % 7] === day;
          const expected =
            from < until
              ? isFirst && time >= text(from) && time < text(until)
              : (isFirst && time >= text(from)) || (isNext && time < text(until));
          expect([timeZone, offset, isOpen(zones[timeZone] + offset)]).toEqual([timeZone, offset, expected]);
        }
      },
    );
    fc.assert(property, { numRuns: 500 });
  });
});
