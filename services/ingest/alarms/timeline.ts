/** A reading that decides about a rule: it shows the condition of an alarm, or the opposite. */
export interface Sign<Evidence = unknown> {
  readonly timeMicroseconds: number;
  readonly isOn: boolean;
  readonly evidence: Evidence;
}

/** An alarm of one rule and one vehicle, `[from, until)` in device time, microseconds; it may be stored already. */
export interface Alarm<Evidence = unknown> {
  /** Of a stored alarm. */
  readonly id?: string;
  fromMicroseconds: number;
  /** Infinity while the alarm is open. */
  untilMicroseconds: number;
  /** The reading that raised it; undefined for a stored alarm that began no earlier than known. */
  evidence?: Evidence;
}

/** The signs of readings that were stored before this batch. */
export interface StoredSigns {
  /** Finds the next sign after a time. */
  findNext(afterMicroseconds: number): Promise<{ timeMicroseconds: number; isOn: boolean } | undefined>;
  /** Whether a sign of the condition lies between two times. */
  isConfirmed(afterMicroseconds: number, beforeMicroseconds: number): Promise<boolean>;
}

/**
 * Applies the signs of a batch to the alarms of one rule and one vehicle (docs/alarms.md, "Late readings"). What newer stored
 * readings decided stays: a late reading ends an alarm only where no newer one confirmed it, and raises only where no alarm
 * is known, until the next stored sign.
 * @param signs in time order
 * @param stored the open alarm and those that ended after the first sign, in time order
 * @returns the alarms that are new or changed
 */
export async function followSigns<Evidence>(
  signs: readonly Sign<Evidence>[],
  stored: readonly Alarm<Evidence>[],
  earlier: StoredSigns,
): Promise<Alarm<Evidence>[]> {
  const alarms = stored.map((alarm) => ({ ...alarm }));
  const changed = new Set<Alarm<Evidence>>();
  /** New alarms with no opposite sign before the alarm that follows: the same one, which began earlier. */
  const joining = new Set<Alarm<Evidence>>();
  for (const { timeMicroseconds: time, isOn, evidence } of signs) {
    const known = alarms.find((alarm) => alarm.fromMicroseconds <= time && time < alarm.untilMicroseconds);
    // Of two readings with one time, the first to arrive decides.
    if (isOn === (known !== undefined) || known?.fromMicroseconds === time) continue;
    if (known === undefined) {
      const next = await earlier.findNext(time);
      const untilMicroseconds = next?.timeMicroseconds ?? Number.POSITIVE_INFINITY;
      const raised = { fromMicroseconds: time, untilMicroseconds, evidence };
      alarms.push(raised);
      changed.add(raised);
      if (next?.isOn) joining.add(raised);
      continue;
    }
    if (await earlier.isConfirmed(time, known.untilMicroseconds)) continue;
    known.untilMicroseconds = time;
    changed.add(known);
    joining.delete(known);
  }
  for (const alarm of joining) join(alarms, changed, alarm);
  return [...changed];
}

/** Lets the alarm that follows begin with an earlier sign of it. */
function join<Evidence>(
  alarms: readonly Alarm<Evidence>[],
  changed: Set<Alarm<Evidence>>,
  earlier: Alarm<Evidence>,
): void {
  const following = alarms.find(({ fromMicroseconds }) => fromMicroseconds === earlier.untilMicroseconds);
  if (following === undefined) return;
  following.fromMicroseconds = earlier.fromMicroseconds;
  if (earlier.evidence !== undefined) following.evidence = earlier.evidence;
  changed.add(following);
  changed.delete(earlier);
}
