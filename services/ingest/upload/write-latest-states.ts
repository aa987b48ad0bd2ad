import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { type LinkedReading, type Position, type PreviousState, withDecodedCan } from '../pipeline/readings.ts';

/** The field groups of a vehicle's latest state. */
const latestGroups = ['location', 'status', 'can', 'electric', 'sensors', 'fleet', 'alarms'] as const;
type LatestGroup = (typeof latestGroups)[number];

/** The latest state of a vehicle according to one batch. */
interface LatestState {
  vehicleId: number;
  earliestMicroseconds: number;
  timeMicroseconds: number;
  receivedAtMs: number;
  groups: Partial<Record<LatestGroup, { timeMicroseconds: number; value: object }>>;
}

/** Groups merged field by field; a position or a list is only valid as a whole. */
const mergedGroups: ReadonlySet<LatestGroup> = new Set(['status', 'electric', 'fleet', 'alarms'] as const);

/** `authenticated` belongs to a Bluetooth connection: a value that reports `bluetooth` without it clears it. */
function mergeInto(older: { authenticated?: unknown }, value: object): void {
  if ('bluetooth' in value) delete older.authenticated;
  Object.assign(older, value);
}

/** Adds a field group of a reading to a latest state. Readings must be added in time order. */
function addGroup({ groups, timeMicroseconds }: LatestState, group: LatestGroup, value: object): void {
  const isMerged = mergedGroups.has(group);
  const known = isMerged ? groups[group] : undefined;
  if (known) mergeInto(known.value, value);
  groups[group] = { timeMicroseconds, value: known?.value ?? (isMerged ? { ...value } : value) };
}

/** Computes the latest state of each vehicle of a batch. @param readings sorted by vehicle, then time */
function toLatestStates(readings: readonly LinkedReading[]): LatestState[] {
  const states: LatestState[] = [];
  for (const linked of readings) {
    const { vehicleId, timeMicroseconds, receivedAtMs } = linked;
    const reading = withDecodedCan(linked);
    let state = states.at(-1);
    if (state?.vehicleId !== vehicleId) {
      state = { vehicleId, earliestMicroseconds: timeMicroseconds, timeMicroseconds, receivedAtMs, groups: {} };
      states.push(state);
    }
    state.timeMicroseconds = timeMicroseconds;
    state.receivedAtMs = Math.max(state.receivedAtMs, receivedAtMs);
    for (const group of latestGroups) {
      const value: object | undefined = reading[group];
      if (value !== undefined) addGroup(state, group, value);
    }
  }
  return states;
}

/** Builds the SQL equivalent of mergeInto. */
function fieldsKept(group: LatestGroup, older: string, newer: string): string {
  if (group !== 'fleet') return older;
  return `case when jsonb_exists(${newer}, 'bluetooth') then ${older} - 'authenticated' else ${older} end`;
}

/** Newer data replaces a group or its fields; older data adds only fields that the group lacks. */
function newState(group: LatestGroup): string {
  const kept = `vehicle_latest.${group}`;
  const incoming = `excluded.${group}`;
  const isNewer = `coalesce(excluded.${group}_time >= vehicle_latest.${group}_time, true)`;
  if (!mergedGroups.has(group)) return `case when ${isNewer} then coalesce(${incoming}, ${kept}) else ${kept} end`;
  return `case when ${incoming} is null then ${kept} when ${kept} is null then ${incoming}
    when ${isNewer} then ${fieldsKept(group, kept, incoming)} || ${incoming}
    else ${fieldsKept(group, incoming, kept)} || ${kept} end`;
}

const groupColumns = latestGroups.flatMap((group) => [group, `${group}_time`]);
const instant = (microseconds: string) => `timestamptz 'epoch' + ${microseconds} * interval '1 microsecond'`;
const microseconds = (column: string) => `(extract(epoch from ${column}) * 1000000)::bigint`;

const upsert = `
insert into vehicle_latest (vehicle_id, earliest_time, time, received_at, ${groupColumns.join(', ')})
select vehicle_id, ${instant('earliest_us')}, ${instant('time_us')}, ${instant('received_ms * 1000')},
  ${latestGroups.map((group) => `${group}, ${instant(`${group}_us`)}`).join(', ')}
from incoming
on conflict (vehicle_id) do update set
  earliest_time = case when vehicle_latest.earliest_time > excluded.earliest_time then excluded.earliest_time
    else vehicle_latest.earliest_time end,
  time_before = vehicle_latest.time,
  time = greatest(vehicle_latest.time, excluded.time),
  received_at = greatest(vehicle_latest.received_at, excluded.received_at),
  ${latestGroups
    .map(
      (group) => `${group} = ${newState(group)},
  ${group}_time = greatest(vehicle_latest.${group}_time, excluded.${group}_time)`,
    )
    .join(',\n  ')}
returning vehicle_id, ${microseconds('time_before')} as before_us,
  parked_location, ${microseconds('parked_at')} as parked_us`;

const incomingColumns = `vehicle_id integer, earliest_us bigint, time_us bigint, received_ms bigint,
  ${latestGroups.map((group) => `${group} jsonb, ${group}_us bigint`).join(', ')}`;

function toIncoming({ groups, ...state }: LatestState): Record<string, unknown> {
  const incoming: Record<string, unknown> = {
    ...{ vehicle_id: state.vehicleId, received_ms: state.receivedAtMs },
    ...{ earliest_us: state.earliestMicroseconds, time_us: state.timeMicroseconds },
  };
  for (const group of latestGroups) {
    const known = groups[group];
    if (!known) continue;
    incoming[group] = known.value;
    incoming[`${group}_us`] = known.timeMicroseconds;
  }
  return incoming;
}

/**
 * Updates the latest states of the vehicles of a batch in one statement, and locks them until the transaction ends.
 * @param readings sorted by vehicle, then time
 */
export async function writeLatestStates(db: Database, readings: readonly LinkedReading[]): Promise<PreviousState[]> {
  if (readings.length === 0) return [];
  const incoming = JSON.stringify(toLatestStates(readings).map(toIncoming));
  const { rows } = await sql<{
    vehicle_id: number;
    before_us: number | null;
    parked_location: Position | null;
    parked_us: number | null;
  }>`
    with incoming as (select * from jsonb_to_recordset(${incoming}::jsonb) as one (${sql.raw(incomingColumns)}))
    ${sql.raw(upsert)}`.execute(db);
  return rows.map((row) => ({
    vehicleId: row.vehicle_id,
    newestMicroseconds: row.before_us ?? undefined,
    parked: row.parked_us === null ? undefined : { location: row.parked_location, sinceMicroseconds: row.parked_us },
  }));
}
