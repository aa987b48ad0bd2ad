import { expect, it } from 'vitest';
import { attemptDelayMs, ReceiverState } from './health.ts';
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

it('allows 16 attempts in flight, one more whenever events wait, up to 128, and half as many after a failure', () => {
  const [now, none] = [new Date(), undefined];
  const health = { failingSince: none, pauses: 0, pausedUntil: none, lastError: none, lastSuccessAt: none };
  const state = new ReceiverState(health);
  const after = (count: number, change: () => unknown) => {
    for (let n = 0; n < count; n += 1) change();
    return state.maxInFlight;
  };
  expect(after(1000, () => state.succeeded(now))).toBe(16);
  expect(after(3, () => state.adjust(true))).toBe(19);
  expect(after(1000, () => state.adjust(true))).toBe(128);
  expect(after(1000, () => state.adjust(false))).toBe(16);
  const refused = { outcome: 'refused', status: 400, durationMs: 1, error: 'answered 400', retryAfterMs: 0 } as const;
  expect(after(1, () => state.failed(refused, now))).toBe(8);
  expect(after(1000, () => state.adjust(true))).toBe(8);
  expect(after(1000, () => state.succeeded(now))).toBe(16);
});
