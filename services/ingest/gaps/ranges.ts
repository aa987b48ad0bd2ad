/** Whole numbers from the first to the second, both included. */
export type Range = readonly [from: number, until: number];

/** Sorted ranges that neither overlap nor touch, of ranges in any order. */
export function normalize(ranges: readonly Range[]): Range[] {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
  const normal: Range[] = [];
  for (const [from, until] of sorted) {
    const last = normal.at(-1);
    if (last && from <= last[1] + 1) normal[normal.length - 1] = [last[0], Math.max(last[1], until)];
    else normal.push([from, until]);
  }
  return normal;
}

/** What lies between the ranges. @param ranges normal */
export function between(ranges: readonly Range[]): Range[] {
  return ranges.slice(1).map(([from], index) => [(ranges[index]?.[1] ?? from) + 1, from - 1]);
}

/** The parts of a range that none of the others covers. @param others normal */
export function without([from, until]: Range, others: readonly Range[]): Range[] {
  const left: Range[] = [];
  let next = from;
  for (const [otherFrom, otherUntil] of others) {
    if (otherUntil < next) continue;
    if (otherFrom > until) break;
    if (otherFrom > next) left.push([next, otherFrom - 1]);
    next = otherUntil + 1;
  }
  if (next <= until) left.push([next, until]);
  return left;
}
