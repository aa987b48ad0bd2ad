import { expect, it } from 'vitest';
import { attemptDelayMs } from './health.ts';
import { parseRetryAfter } from './receiver.ts';

const [second, hour, day] = [1000, 3_600_000, 86_400_000];

it.each([
  ['5 s after the first failure', 1, 0, 5 * second],
  ['80 s after the third', 3, 0, 80 * second],
  ['two hours at most', 50, 0, 2 * hour],
  ['what Retry-After asks for', 1, 6 * hour, 6 * hour],
  ['a day at most, whatever Retry-After asks for', 1, 10 * day, day],
])('backs off %s', (_case, failures, retryAfterMs, expected) => {
  expect(attemptDelayMs(failures, retryAfterMs, () => 1)).toBe(expected);
  expect(attemptDelayMs(failures, retryAfterMs, () => 0)).toBe(retryAfterMs === 0 ? expected / 2 : expected);
});

it.each([
  [undefined, 0],
  [' 120 ', 120 * second],
  ['Sun, 01 Mar 2026 13:00:00 GMT', hour],
  ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
  ['soon', 0],
])('reads Retry-After: %s', (header, expected) => {
  expect(parseRetryAfter(header, new Date('2026-03-01T12:00:00Z'))).toBe(expected);
});
