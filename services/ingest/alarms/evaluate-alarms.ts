import type { AlarmKind } from '@odograph/contracts/alarms';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { allCanValues } from '@odograph/database/can-values';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import {
  groupBy,
  type Interval,
  isPrivateAt,
  type LinkedReading,
  type PreviousState,
  withDecodedCan,
} from '../pipeline/readings.ts';
import { instant, instantArray } from '../pipeline/sql-values.ts';
import { type JudgedReading, type Rule, RuleCache } from './rules.ts';
import { findTows } from './vehicle-states.ts';

/** A vehicle of a batch with rules. */
interface WatchedVehicle {
  readonly vehicleId: number;
  readonly applicationId: number;
  readonly rules: readonly Rule[];
  /** In time order. */
  readonly readings: readonly JudgedReading[];
  readonly oldestMicroseconds: number;
  /** Device time of its newest reading before the batch. */
  readonly newestMicroseconds: number;
  readonly privacyIntervals: readonly Interval[];
}

type Evidence = NonNullable<AlarmChange['evidence']>;

/** Raises and clears the alarms that readings decide. Keeps the rules; one serves all batches of a process. */
export class AlarmEvaluation {
  readonly #rules = new RuleCache();

  /**
   * Evaluates a batch; call it before its readings are written, since it compares late readings with those stored earlier.
   * Without rules it does nothing but look into its cache.
   * @param readings sorted by vehicle, then time
   * @returns the ids of alarms that were raised or cleared
   */
  async evaluate(
    db: Database,
    version: number,
    readings: readonly LinkedReading[],
    previous: readonly PreviousState[],
  ): Promise<string[]> {
    const applicationIds = new Set<number>();
    for (const { applicationId } of readings) applicationIds.add(applicationId);
    if (!(await this.#rules.load(db, version, applicationIds))) return [];
    const vehicles = this.#watchedVehicles(readings, previous);
    if (vehicles.length === 0) return [];
    const alarms = groupBy(await findAlarms(db, vehicles), ({ vehicleId }) => vehicleId);
    const changes: AlarmChange[] = [];
    for (const vehicle of vehicles) changes.push(...(await evaluateVehicle(db, vehicle, alarms)));
    return writeAlarms(db, changes);
  }

  #watchedVehicles(readings: readonly LinkedReading[], previous: readonly PreviousState[]): WatchedVehicle[] {
    const before = new Map(previous.map((state) => [state.vehicleId, state]));
    const vehicles: WatchedVehicle[] = [];
    for (const [vehicleId, ofVehicle] of groupBy(readings, (linked) => linked.vehicleId)) {
      const [first] = ofVehicle;
      if (first === undefined) continue;
      const { applicationId, timeMicroseconds, privacyIntervals } = first;
      const rules = this.#rules.rulesOf(applicationId, vehicleId);
      if (rules.length === 0) continue;
      const state = before.get(vehicleId);
      const tows = rules.some(({ kind }) => kind === 'towing') ? findTows(state?.parked, ofVehicle) : undefined;
      vehicles.push({
        vehicleId,
        applicationId,
        rules,
        readings: ofVehicle.map((linked) => ({
          timeMicroseconds: linked.timeMicroseconds,
          reading: withDecodedCan(linked),
          isPrivate: isPrivateAt(linked.privacyIntervals, linked.timeMicroseconds),
          isTowed: tows?.has(linked.timeMicroseconds) ?? false,
        })),
        oldestMicroseconds: timeMicroseconds,
        newestMicroseconds: state?.newestMicroseconds ?? Number.NEGATIVE_INFINITY,
        privacyIntervals,
      });
    }
    return vehicles;
  }
}

/** The signs of readings for a rule, in time order. */
function signsOf({ condition, activeFromMicroseconds }: Rule, readings: readonly JudgedReading[]): Sign<Evidence>[] {
  const signs: Sign<Evidence>[] = [];
  for (const judged of readings) {
    if (judged.timeMicroseconds < activeFromMicroseconds) continue;
    const isOn = condition.judge(judged);
    if (isOn === undefined) continue;
    signs.push({
      timeMicroseconds: judged.timeMicroseconds,
      isOn,
      evidence: isOn ? evidenceOf(condition, judged) : {},
    });
  }
  return signs;
}

function evidenceOf({ measure }: Rule['condition'], judged: JudgedReading): Evidence {
  const value = measure(judged);
  const { location } = judged.reading;
  return {
    ...(value !== undefined && { value }),
    ...(location && { latitude: location.latitude, longitude: location.longitude }),
  };
}

async function evaluateVehicle(
  db: Database,
  vehicle: WatchedVehicle,
  alarms: ReadonlyMap<number, readonly StoredAlarm[]>,
): Promise<AlarmChange[]> {
  const { vehicleId, applicationId, rules, readings } = vehicle;
  const ofVehicle = alarms.get(vehicleId) ?? [];
  const changes: AlarmChange[] = [];
  for (const rule of rules) {
    const { id: ruleId, kind, activeFromMicroseconds } = rule;
    const stored = ofVehicle.filter((one) => one.ruleId === ruleId && one.untilMicroseconds > activeFromMicroseconds);
    const signs = signsOf(rule, readings);
    // Nearly always.
    if (stored.length === 0 && !signs.some(({ isOn }) => isOn)) continue;
    const changed = await followSigns(signs, stored, storedSigns(db, vehicle, rule));
    for (const { id, fromMicroseconds, untilMicroseconds, evidence } of changed) {
      changes.push({
        ...{ applicationId, ruleId, vehicleId, kind, fromMicroseconds, untilMicroseconds },
        ...(id !== undefined && { id }),
        ...(evidence && { evidence }),
      });
    }
  }
  return changes;
}

/** Most late readings are followed at once by one that decides. */
const firstPage = 20;
const nextPages = 2000;
/** Stored readings that one late reading is compared with; beyond them nothing newer is found. */
const maximumSearched = 100_000;

/** Creates the search for signs of a rule in the stored readings of a vehicle. It runs for late readings only. */
function storedSigns(db: Database, vehicle: WatchedVehicle, { condition }: Rule): StoredSigns {
  const { vehicleId, newestMicroseconds, privacyIntervals } = vehicle;
  const search = async (afterMicroseconds: number, untilMicroseconds: number, isWanted: (isOn: boolean) => boolean) => {
    let after = afterMicroseconds;
    for (let [searched, limit] = [0, firstPage]; searched < maximumSearched; limit = nextPages) {
      const bounds = { afterMicroseconds: after, untilMicroseconds, column: condition.column, limit };
      const found = await findReadings(db, vehicleId, bounds);
      for (const { timeMicroseconds, reading } of found) {
        const isPrivate = isPrivateAt(privacyIntervals, timeMicroseconds);
        const isOn = condition.judge({ timeMicroseconds, reading, isPrivate, isTowed: false });
        if (isOn !== undefined && isWanted(isOn)) return { timeMicroseconds, isOn };
        after = timeMicroseconds;
      }
      if (found.length < limit) break;
      searched += found.length;
    }
    return undefined;
  };
  const findNext = remember((after, until) => search(after, until, () => true));
  const findNextOn = remember((after, until) => search(after, until, (isOn) => isOn));
  return {
    findNext: async (after) => (after < newestMicroseconds ? findNext(after, newestMicroseconds) : undefined),
    async isConfirmed(after, before) {
      const until = Math.min(before - 1, newestMicroseconds);
      return after < until && (await findNextOn(after, until)) !== undefined;
    },
  };
}

type StoredSign = { timeMicroseconds: number; isOn: boolean } | undefined;
type Search = (afterMicroseconds: number, untilMicroseconds: number) => Promise<StoredSign>;

/** Remembers the last search: what it found is the answer until that time, so readings of one gap need one search. */
function remember(search: Search): Search {
  let last: { after: number; until: number; found: StoredSign } | undefined;
  return async (after, until) => {
    const isKnown = last?.until === until && after >= last.after && after < (last.found?.timeMicroseconds ?? Infinity);
    if (!isKnown || last === undefined) last = { after, until, found: await search(after, until) };
    return last.found;
  };
}

/** A reading that decides a rule: it meets the condition of an alarm, or its opposite. */
export interface Sign<Evidence = unknown> {
  readonly timeMicroseconds: number;
  readonly isOn: boolean;
  readonly evidence: Evidence;
}

/** An alarm of one rule and one vehicle, `[from, until)` in device time, microseconds; it may be stored already. */
export interface Alarm<Evidence = unknown> {
  /** Set for a stored alarm. */
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
  /** Tells whether a sign of the condition lies between two times. */
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
    // Of two readings with the same time, the first to arrive decides.
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

/** Moves the start of the following alarm to an earlier sign. */
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

/** An alarm as stored; times in microseconds. */
interface StoredAlarm {
  readonly id: string;
  readonly ruleId: string;
  readonly vehicleId: number;
  readonly fromMicroseconds: number;
  readonly untilMicroseconds: number;
}

/**
 * Finds the alarms of vehicles that are open, or ended after the oldest reading of the vehicle in a batch.
 * @returns in time order
 */
async function findAlarms(
  db: Database,
  vehicles: readonly { readonly vehicleId: number; readonly oldestMicroseconds: number }[],
): Promise<StoredAlarm[]> {
  const ids = vehicles.map(({ vehicleId }) => vehicleId);
  const { rows } = await sql<StoredAlarm & { untilMicroseconds: number | null }>`
    select alarm.id, rule_id as "ruleId", alarm.vehicle_id as "vehicleId",
      (extract(epoch from raised_at) * 1000000)::bigint as "fromMicroseconds",
      (extract(epoch from cleared_at) * 1000000)::bigint as "untilMicroseconds"
    from unnest(${ids}::integer[], ${instantArray(vehicles.map((one) => one.oldestMicroseconds))})
      as incoming (vehicle_id, oldest)
    join alarm on alarm.vehicle_id = incoming.vehicle_id and coalesce(alarm.cleared_at, 'infinity') > incoming.oldest
    order by raised_at`.execute(db);
  return rows.map((row) => ({ ...row, untilMicroseconds: row.untilMicroseconds ?? Number.POSITIVE_INFINITY }));
}

/** The fields of a stored reading that alarms depend on. */
interface HistoricReading {
  readonly timeMicroseconds: number;
  readonly reading: Pick<TelemetryReading, 'location' | 'status' | 'can' | 'electric' | 'fleet' | 'alarms'>;
}

/**
 * Finds stored readings of a vehicle after a time and up to another, in time order.
 * @param column SQL: true for the readings wanted
 */
async function findReadings(
  db: Database,
  vehicleId: number,
  bounds: { afterMicroseconds: number; untilMicroseconds: number; column: string; limit: number },
): Promise<HistoricReading[]> {
  const { rows } = await sql<HistoricReading>`
    select (extract(epoch from time) * 1000000)::bigint as "timeMicroseconds", jsonb_strip_nulls(jsonb_build_object(
      'location', case when latitude is not null then
        jsonb_build_object('latitude', latitude, 'longitude', longitude, 'speed', speed) end,
      'status', jsonb_build_object('ignition', ignition, 'movement', movement),
      'electric', jsonb_build_object('soc', soc), 'can', ${sql.raw(allCanValues)}, 'fleet', fleet, 'alarms', alarms)) as reading
    from reading_in_units as reading
    where vehicle_id = ${vehicleId} and time > ${instant(bounds.afterMicroseconds)}
      and time <= ${instant(bounds.untilMicroseconds)} and ${sql.raw(bounds.column)}
    order by time limit ${bounds.limit}`.execute(db);
  return rows;
}

/** An alarm to insert, or to change if it has an id. */
interface AlarmChange {
  readonly id?: string;
  readonly applicationId: number;
  readonly ruleId: string;
  readonly vehicleId: number;
  readonly kind: AlarmKind;
  readonly fromMicroseconds: number;
  readonly untilMicroseconds: number;
  /** The value of the reading that raised it; undefined if the alarm begins as stored. */
  readonly evidence?: { readonly value?: number; readonly latitude?: number; readonly longitude?: number };
}

const incomingColumns = `id uuid, application_id integer, rule_id uuid, vehicle_id integer, kind text, raised_us bigint,
  cleared_us bigint, is_shown boolean, value double precision, latitude double precision, longitude double precision`;

function toIncoming({ id, applicationId, ruleId, vehicleId, kind, evidence, ...change }: AlarmChange) {
  return {
    ...{ id, application_id: applicationId, rule_id: ruleId, vehicle_id: vehicleId, kind },
    raised_us: change.fromMicroseconds,
    cleared_us: Number.isFinite(change.untilMicroseconds) ? change.untilMicroseconds : null,
    is_shown: evidence !== undefined,
    ...evidence,
  };
}

/** SQL of a table expression `incoming` with these alarms. */
const incomingOf = (changes: readonly AlarmChange[]) => sql`incoming as (
  select one.*, timestamptz 'epoch' + raised_us * interval '1 microsecond' as raised_at,
    timestamptz 'epoch' + cleared_us * interval '1 microsecond' as cleared_at
  from jsonb_to_recordset(${JSON.stringify(changes.map(toIncoming))}::jsonb) as one (${sql.raw(incomingColumns)}))`;

async function changeAlarms(db: Database, changes: readonly AlarmChange[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`with ${incomingOf(changes)}
    update alarm set raised_at = incoming.raised_at, cleared_at = incoming.cleared_at,
      value = case when is_shown then incoming.value else alarm.value end,
      latitude = case when is_shown then incoming.latitude else alarm.latitude end,
      longitude = case when is_shown then incoming.longitude else alarm.longitude end
    from incoming where alarm.id = incoming.id returning alarm.id`.execute(db);
  return rows.map(({ id }) => id);
}

async function insertAlarms(db: Database, changes: readonly AlarmChange[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`with ${incomingOf(changes)}
    insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, cleared_at, value, latitude, longitude)
    select application_id, rule_id, vehicle_id, kind, raised_at, cleared_at, value, latitude, longitude from incoming
    on conflict do nothing returning id`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * Writes alarms. Those that end are written before those that begin, since a rule has one open alarm per vehicle.
 * @returns the ids of the alarms that were raised or changed
 */
async function writeAlarms(db: Database, changes: readonly AlarmChange[]): Promise<string[]> {
  const known = changes.filter(({ id }) => id !== undefined);
  const raised = changes.filter(({ id }) => id === undefined);
  return [
    ...(known.length > 0 ? await changeAlarms(db, known) : []),
    ...(raised.length > 0 ? await insertAlarms(db, raised) : []),
  ];
}
