import type { PlacedReading } from './place-readings.ts';

/** The groups of fields that a vehicle's latest state is kept in. */
export const latestGroups = ['location', 'status', 'can', 'electric', 'sensors', 'fleet', 'alarms'] as const;
export type LatestGroup = (typeof latestGroups)[number];

/** A group as it was last reported, fields that only an older report had included. */
interface GroupState {
  timeMicroseconds: number;
  value: object;
}

/** What one batch says of a vehicle's latest state. */
export interface LatestState {
  vehicleId: number;
  timeMicroseconds: number;
  receivedAtMs: number;
  groups: Partial<Record<LatestGroup, GroupState>>;
}

/** Groups whose fields are reported one by one; a position or a list is only whole as it was sent. */
export const mergedGroups: ReadonlySet<LatestGroup> = new Set(['status', 'electric', 'fleet', 'alarms'] as const);

/** The latest state of each vehicle of a batch. @param readings sorted by vehicle, then time */
export function latestStates(readings: readonly PlacedReading[]): LatestState[] {
  const states: LatestState[] = [];
  for (const { vehicleId, timeMicroseconds, receivedAtMs, reading } of readings) {
    let state = states.at(-1);
    if (state?.vehicleId !== vehicleId) {
      state = { vehicleId, timeMicroseconds, receivedAtMs, groups: {} };
      states.push(state);
    }
    state.timeMicroseconds = timeMicroseconds;
    state.receivedAtMs = Math.max(state.receivedAtMs, receivedAtMs);
    for (const group of latestGroups) {
      const value: object | undefined = reading[group];
      if (value === undefined) continue;
      const older = mergedGroups.has(group) ? state.groups[group]?.value : undefined;
      state.groups[group] = { timeMicroseconds, value: older === undefined ? value : { ...older, ...value } };
    }
  }
  return states;
}
