import { expect, it } from 'vitest';
import { secondsOf } from './time.ts';

const noon = Date.parse('2024-03-10T12:00:00Z') / 1000;

it('reads ISO 8601 and UNIX time, without a zone in UTC', () => {
  const texts = [
    '2024-03-10T12:00:00Z',
    '2024-03-10 12:00:00',
    '2024-03-10 13:00:00 +01:00',
    '2024-03-10T13:00:00+0100',
    '2024-03-10 12:00:00+00',
    '2024-03-10T09:00:00.000-03',
  ];
  for (const time of [...texts, noon, noon * 1000, String(noon)]) expect([time, secondsOf(time)]).toEqual([time, noon]);
});

it('reads no date whose day and month could be confused', () => {
  for (const time of [
    '10/03/2024 12:00:00+01:00',
    '10/03/2024 12:00Z',
    '10.03.2024 12:00:00+0100',
    '10/03/2024',
    '-5',
  ]) {
    expect([time, secondsOf(time)]).toEqual([time, undefined]);
  }
});
