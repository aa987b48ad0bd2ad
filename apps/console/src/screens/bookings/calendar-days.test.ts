import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addDays } from '../../parts/time/days.ts';
import { daysFrom, shareOf, spans, tickTimes } from './calendar-days.ts';

beforeEach(() => vi.stubEnv('TZ', 'Europe/Paris'));
afterEach(() => vi.unstubAllEnvs());

const clockOf = (time: number) => new Date(time).toLocaleString('sv', { timeZone: 'Europe/Paris' });
const boundsOf = (day: string, count: number) => {
  const { from, until } = daysFrom(day, count, 'local');
  return [clockOf(from), clockOf(until)];
};
/** Days on which the clocks in Paris change. */
const changes = ['2026-03-29', '2026-10-25'];

describe('the calendar in a time zone whose clocks change', () => {
  it.each(changes)('begins and ends at midnight, however long %s is', (day) => {
    const next = addDays(day, 1);
    expect(boundsOf(day, 1)).toEqual([`${day} 00:00:00`, `${next} 00:00:00`]);
    const monday = addDays(day, -6);
    expect(boundsOf(monday, 7)).toEqual([`${monday} 00:00:00`, `${next} 00:00:00`]);
  });

  it.each(changes)('goes on where it ends, and back where it began, around %s', (day) => {
    for (const count of spans) {
      for (let offset = 0; offset <= count; offset++) {
        const first = addDays(day, -offset);
        const { from, until } = daysFrom(first, count, 'local');
        expect(daysFrom(addDays(first, count), count, 'local').from).toBe(until);
        expect(daysFrom(addDays(first, -count), count, 'local').until).toBe(from);
      }
    }
  });

  it.each(changes)('labels the hours of %s where they are', (day) => {
    const clocks = tickTimes(daysFrom(day, 1, 'local'), 'local').map((time) => clockOf(time).slice(11, 16));
    expect(clocks).toEqual(['00:00', '03:00', '06:00', '09:00', '12:00', '15:00', '18:00', '21:00']);
  });

  it.each(changes)('labels at most 14 days around %s, each at its midnight', (day) => {
    for (const count of [7, 14, 28]) {
      const days = daysFrom(addDays(day, -3), count, 'local');
      const ticks = tickTimes(days, 'local');
      expect(ticks).toHaveLength(Math.min(14, count));
      expect(new Set(ticks.map((time) => clockOf(time).slice(11)))).toEqual(new Set(['00:00:00']));
      expect(Math.max(...ticks)).toBeLessThan(days.until);
    }
  });

  it('places a time by the elapsed share of the day', () => {
    const longDay = daysFrom('2026-10-25', 1, 'local');
    expect(shareOf(Date.parse('2026-10-25T12:00+01:00'), longDay)).toBeCloseTo(13 / 25);
    const shortDay = daysFrom('2026-03-29', 1, 'local');
    expect(shareOf(Date.parse('2026-03-29T12:00+02:00'), shortDay)).toBeCloseTo(11 / 23);
  });

  it('has the days of UTC for a person who prefers UTC', () => {
    const { from, until } = daysFrom('2026-10-25', 1, 'utc');
    expect([from, until]).toEqual([Date.parse('2026-10-25T00:00Z'), Date.parse('2026-10-26T00:00Z')]);
  });
});

it.each([null, '', 'x', '2026-13-01'])('the calendar of the day %s is that of today', (day) => {
  const { from, until } = daysFrom(day, 1, 'local');
  expect(from).toBeLessThanOrEqual(Date.now());
  expect(until).toBeGreaterThan(Date.now());
});
