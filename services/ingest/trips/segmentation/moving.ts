import { isReachable, judgedAfterMicroseconds, type Place, separationMetres, wasDriven } from './place.ts';
import type { TripReading } from './trip-reading.ts';

const leastMovingKmh = 5;

/** `pending`: a later reading will tell; `unknown`: nothing tells. */
export type Verdict = 'moving' | 'still' | 'pending' | 'unknown';

/** A verdict, and the place from which the next reading is judged. */
interface Judgement {
  verdict: Verdict;
  anchor: Place | null;
}

/** What the reading says itself: `movement`, else its speed. */
function ownVerdict({ movement, speedKmh }: TripReading): Verdict | undefined {
  if (movement !== null) return movement ? 'moving' : 'still';
  if (speedKmh !== null) return speedKmh >= leastMovingKmh ? 'moving' : 'still';
  return undefined;
}

function verdictOfPlaces(anchor: Place, place: Place): Verdict {
  if (wasDriven(anchor, place)) return 'moving';
  const metres = separationMetres(anchor, place);
  if (metres === null || !isReachable(anchor, place, metres)) return 'unknown';
  return place.timeMicroseconds - anchor.timeMicroseconds >= judgedAfterMicroseconds ? 'still' : 'pending';
}

/**
 * Whether the vehicle moves: `movement` if present, else speed from 5 km/h on, else 50 m at 1.11 m/s. The last of these
 * takes a stretch of readings from the anchor on, at most 45 s or one leg, in which the verdict is pending.
 */
export function judge(anchor: Place | null, reading: TripReading, place: Place | undefined): Judgement {
  const own = ownVerdict(reading);
  if (own) return { verdict: own, anchor: place ?? anchor };
  if (!place) return { verdict: 'unknown', anchor };
  const verdict = anchor ? verdictOfPlaces(anchor, place) : 'unknown';
  return { verdict, anchor: verdict === 'pending' ? anchor : place };
}
