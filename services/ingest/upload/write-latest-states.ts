import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { type LinkedReading, type Position, type PreviousState, withDecodedCan } from '../pipeline/readings.ts';
import { joinedLists } from '../pipeline/sql-values.ts';

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

/** Groups merged field by field; positions and lists are replaced as a whole, and merged only at equal device times. */
const mergedGroups = ['status', 'electric', 'fleet', 'alarms'] as const;
type MergedGroup = (typeof mergedGroups)[number];
const merged: ReadonlySet<LatestGroup> = new Set(mergedGroups);

/** `authenticated` belongs to a Bluetooth connection: a value that reports `bluetooth` without it clears it. */
function mergeInto(older: { authenticated?: unknown }, value: object): void {
  if ('bluetooth' in value) delete older.authenticated;
  Object.assign(older, value);
}

/** Removes an old speed of `fleet` before a new report of the group, whose time would make it newer than the position's. */
function removeOldSpeed({ fleet, location }: LatestState['groups']): void {
  if (fleet && location && 'speed' in location.value && location.timeMicroseconds > fleet.timeMicroseconds) {
    delete (fleet.value as { speed?: unknown }).speed;
  }
}

/** Adds a field group of a reading to a latest state. Readings must be added in time order. */
function addGroup({ groups, timeMicroseconds }: LatestState, group: LatestGroup, value: object): void {
  const isMerged = merged.has(group);
  const known = isMerged ? groups[group] : undefined;
  if (group === 'fleet') removeOldSpeed(groups);
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

/** Builds the SQL equivalent of mergeInto and removeOldSpeed. */
function fieldsKept(group: LatestGroup, [older, newer]: readonly [older: string, newer: string]): string {
  if (group !== 'fleet') return older;
  const isSpeedOld = ['vehicle_latest', 'excluded'].map(
    (row) => `coalesce(${row}.location_time > ${older}_time and jsonb_exists(${row}.location, 'speed'), false)`,
  );
  return `${older} - array[case when jsonb_exists(${newer}, 'bluetooth') then 'authenticated' end,
    case when ${isSpeedOld.join(' or ')} then 'speed' end]`;
}

const isOlder = (group: LatestGroup) => `excluded.${group}_time < vehicle_latest.${group}_time`;
const isNewer = (group: LatestGroup) => `excluded.earliest_time >= vehicle_latest.${group}_time`;
const isSpanned = (group: MergedGroup) => `not (${isOlder(group)} or ${isNewer(group)})`;

/**
 * Builds the SQL that sets a group and its time. Newer data replaces a group or its fields; older data
 * adds only fields that the group lacks. Leaves a merged group unchanged if the batch may hold both (`isSpanned`);
 * writeSpannedGroups then writes it.
 */
function newState(group: LatestGroup): string {
  const [kept, keptTime] = [`vehicle_latest.${group}`, `vehicle_latest.${group}_time`];
  const [incoming, incomingTime] = [`excluded.${group}`, `excluded.${group}_time`];
  if (!merged.has(group)) {
    const elementKey = group === 'sensors' ? 'name' : 'key';
    const joined =
      group === 'location' ? `coalesce(${kept}, '{}') || ${incoming}` : joinedLists(kept, incoming, elementKey);
    return `${group} = case when ${incomingTime} = ${keptTime} then ${joined}
      when coalesce(${incomingTime} >= ${keptTime}, true) then coalesce(${incoming}, ${kept})
      else ${kept} end,
    ${group}_time = greatest(${keptTime}, ${incomingTime})`;
  }
  return `${group} = case when ${incoming} is null then ${kept} when ${kept} is null then ${incoming}
      when ${isOlder(group)} then (${fieldsKept(group, [incoming, kept])}) || ${kept}
      when ${isNewer(group)} then (${fieldsKept(group, [kept, incoming])}) || ${incoming} else ${kept} end,
    ${group}_time = case when coalesce(${isNewer(group)}, true)
      then greatest(${keptTime}, ${incomingTime}) else ${keptTime} end`;
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
  is_spanned = coalesce(${mergedGroups.map(isSpanned).join(' or ')}, false),
  ${latestGroups.map(newState).join(',\n  ')}
returning vehicle_id, is_spanned, ${microseconds('time_before')} as before_us,
  ${mergedGroups.map((group) => `date_part('epoch', ${group}_time) as ${group}_seconds`).join(', ')},
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

type WrittenState = {
  vehicle_id: number;
  is_spanned: boolean | null;
  before_us: number | null;
  parked_location: Position | null;
  parked_us: number | null;
} & Record<`${MergedGroup}_seconds`, number | null>;

async function writeStates(db: Database, states: readonly LatestState[]): Promise<WrittenState[]> {
  const incoming = JSON.stringify(states.map(toIncoming));
  const { rows } = await sql<WrittenState>`
    with incoming as (select * from jsonb_to_recordset(${incoming}::jsonb) as one (${sql.raw(incomingColumns)}))
    ${sql.raw(upsert)}`.execute(db);
  return rows;
}

interface StoredGroup {
  group: MergedGroup;
  timeMicroseconds: number;
}

/** Finds the groups that `newState` left unchanged, by vehicle, with their device times. */
function findSpannedGroups(states: readonly LatestState[], written: readonly WrittenState[]) {
  const stored = new Map(written.flatMap((row) => (row.is_spanned ? [[row.vehicle_id, row] as const] : [])));
  const found = new Map<number, StoredGroup[]>();
  for (const { vehicleId, groups } of states) {
    const row = stored.get(vehicleId);
    if (!row) continue;
    // A group that was written, with the time of its newest reading, can be written again.
    const spanned = mergedGroups.flatMap((group): StoredGroup[] => {
      const timeMicroseconds = Math.round((row[`${group}_seconds`] ?? 0) * 1e6);
      return groups[group] && timeMicroseconds <= groups[group].timeMicroseconds ? [{ group, timeMicroseconds }] : [];
    });
    found.set(vehicleId, spanned);
  }
  return found;
}

/** Writes groups whose readings are partly older than what is stored: first the older ones, then the others. */
async function writeSpannedGroups(
  db: Database,
  readings: readonly LinkedReading[],
  spanned: ReadonlyMap<number, readonly StoredGroup[]>,
): Promise<void> {
  const statesOf = (isOlder: boolean): LatestState[] => {
    const parts = readings.flatMap((linked) => {
      const groups = (spanned.get(linked.vehicleId) ?? []).filter(
        ({ timeMicroseconds }) => linked.timeMicroseconds < timeMicroseconds === isOlder,
      );
      const { timestamp, ...values } = linked.reading;
      const taken = groups.map(({ group }) => [group, values[group]]);
      return groups.length === 0
        ? []
        : [{ ...linked, reading: { timestamp, ...Object.fromEntries(taken) }, decodedCan: [] }];
    });
    // Each group here is entirely older or newer than the stored one, so the earliest time of the vehicle does not apply.
    return toLatestStates(parts).map((state) => ({ ...state, earliestMicroseconds: state.timeMicroseconds }));
  };
  await writeStates(db, statesOf(true));
  await writeStates(db, statesOf(false));
}

/**
 * Updates the latest states of the vehicles of a batch in one statement, or in three if a batch has readings
 * from before and after a stored group, and locks them until the transaction ends.
 * @param readings sorted by vehicle, then time
 */
export async function writeLatestStates(db: Database, readings: readonly LinkedReading[]): Promise<PreviousState[]> {
  if (readings.length === 0) return [];
  const states = toLatestStates(readings);
  const written = await writeStates(db, states);
  const spanned = findSpannedGroups(states, written);
  if (spanned.size > 0) await writeSpannedGroups(db, readings, spanned);
  return written.map((row) => ({
    vehicleId: row.vehicle_id,
    newestMicroseconds: row.before_us ?? undefined,
    parked: row.parked_us === null ? undefined : { location: row.parked_location, sinceMicroseconds: row.parked_us },
  }));
}
