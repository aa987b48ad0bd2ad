const firstMs = 5000;
const factor = 4;
const longestMs = 2 * 3_600_000;
/** The longest wait that a receiver can ask for. */
const longestAskedMs = 24 * 3_600_000;

/** How long an event is tried again before it is a dead letter. */
export const patienceMs = 3 * 86_400_000;

/**
 * Computes the wait before the next attempt: 5 s, 20 s, 80 s and so on up to two hours, of which a random half is left out so
 * that what failed together is not repeated together.
 * @param failures in a row, from 1
 * @param askedMs the receiver's `Retry-After`: at least this long, but no longer than a day
 */
export function backOffMs(failures: number, askedMs = 0, random: () => number = Math.random): number {
  const wholeMs = Math.min(longestMs, firstMs * factor ** (failures - 1));
  const waitMs = wholeMs * (0.5 + random() / 2);
  return Math.round(Math.max(waitMs, Math.min(askedMs, longestAskedMs)));
}

/**
 * Reads `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date.
 * @returns milliseconds; 0 for other text and for a date in the past
 */
export function retryAfterMs(header: string | undefined, now: Date): number {
  if (header === undefined) return 0;
  if (/^\s*\d{1,9}\s*$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now.getTime());
}
