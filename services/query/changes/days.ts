/** A stretch of time as ISO 8601: `from` inclusive, `until` exclusive. */
export interface Span {
  readonly from: string;
  readonly until: string;
}

const dayMs = 86_400_000;
/** Each span is a part of one statement. */
const mostSpans = 100;

/**
 * Covers days by spans of a few days each: the readings of a page lie in few days of many, and what is asked for in a short
 * span is looked for in few chunks.
 * @param days since the epoch, ascending
 * @param length days that a span covers, doubled until the spans are few enough
 */
export function coverDays(days: readonly number[], length = 4): Span[] {
  const starts: number[] = [];
  for (const day of days) {
    const last = starts.at(-1);
    if (last === undefined || day >= last + length) starts.push(day);
  }
  if (starts.length > mostSpans) return coverDays(days, length * 2);
  const iso = (day: number) => new Date(day * dayMs).toISOString();
  return starts.map((start) => ({ from: iso(start), until: iso(start + length) }));
}
