interface Stretch {
  readonly startMicroseconds: number;
  readonly endMicroseconds: number;
}

interface Pair<Old, New> {
  old: Old;
  trip: New;
  overlap: number;
}

/** Every pair that overlaps; both lists are in the order of time and overlap nothing of themselves. */
function overlapping<Old extends Stretch, New extends Stretch>(olds: readonly Old[], news: readonly New[]) {
  const pairs: Pair<Old, New>[] = [];
  let first = 0;
  for (const trip of news) {
    while ((olds[first]?.endMicroseconds ?? Number.POSITIVE_INFINITY) <= trip.startMicroseconds) first += 1;
    for (let index = first; index < olds.length; index += 1) {
      const old = olds[index];
      if (!old || old.startMicroseconds >= trip.endMicroseconds) break;
      const overlap =
        Math.min(old.endMicroseconds, trip.endMicroseconds) - Math.max(old.startMicroseconds, trip.startMicroseconds);
      pairs.push({ old, trip, overlap });
    }
  }
  return pairs;
}

/**
 * Which trip of before a new one is: the one it overlaps most, each at most once, so that a trip that grows or shifts
 * keeps its id. Both lists are in the order of time.
 */
export function matchTrips<Old extends Stretch, New extends Stretch>(
  olds: readonly Old[],
  news: readonly New[],
): Map<New, Old> {
  const matches = new Map<New, Old>();
  const taken = new Set<Old>();
  for (const { old, trip } of overlapping(olds, news).sort((a, b) => b.overlap - a.overlap)) {
    if (matches.has(trip) || taken.has(old)) continue;
    matches.set(trip, old);
    taken.add(old);
  }
  return matches;
}
