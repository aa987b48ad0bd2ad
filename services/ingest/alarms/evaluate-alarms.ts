import type { Database } from '@odograph/database/database';
import {
  groupBy,
  type Interval,
  isPrivateAt,
  type LinkedReading,
  type PreviousState,
  withDecodedCan,
} from '../pipeline/readings.ts';
import { type AlarmChange, findAlarms, findReadings, type StoredAlarm, writeAlarms } from './queries.ts';
import { type JudgedReading, type Rule, RuleCache } from './rules.ts';
import { followSigns, type Sign, type StoredSigns } from './timeline.ts';
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
