import { type AlarmKind, type AlarmParameters, alarmHysteresis } from '@odograph/contracts/alarms';
import { createWindowTest, type GeofenceWindows } from '@odograph/contracts/geofence-windows';
import { type GeofenceShape, locateBy } from '@odograph/contracts/geofences';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { groupBy } from '../pipeline/readings.ts';

/** A reading, and the facts beyond its fields that decide whether it raises or clears an alarm. */
export interface JudgedReading {
  readonly timeMicroseconds: number;
  readonly reading: Pick<TelemetryReading, 'location' | 'status' | 'can' | 'electric' | 'fleet' | 'alarms'>;
  /** In a privacy interval: neither position nor speed may raise or clear an alarm. */
  readonly isPrivate: boolean;
  /** The platform found that the vehicle was towed to the position of this reading. */
  readonly isTowed: boolean;
}

/**
 * True if a reading shows the condition of an alarm, false if it shows the opposite, undefined if it decides nothing: it lacks
 * the fields, or its value lies within the hysteresis.
 */
export type Judge = (judged: JudgedReading) => boolean | undefined;

/** The condition of a rule. */
export interface Condition {
  readonly judge: Judge;
  /** The value that the alarm reports; undefined for conditions without one. */
  measure(judged: JudgedReading): number | undefined;
  /** SQL on a stored reading: true if it may decide. */
  readonly column: string;
}

type Flags = NonNullable<TelemetryReading['alarms']>;

function judgeFlags(...names: readonly (keyof Flags)[]): Judge {
  return ({ reading: { alarms } }) => {
    if (alarms === undefined) return undefined;
    if (names.some((name) => alarms[name] === true)) return true;
    return names.some((name) => alarms[name] === false) ? false : undefined;
  };
}

/** A tow ends when the ignition is switched on, or when the device reports its end while the vehicle stands. */
const judgeTowing: Judge = ({ reading: { alarms, status }, isTowed }) => {
  if (alarms?.towing === true || isTowed) return true;
  if (status?.ignition === true) return false;
  return alarms?.towing === false && status?.movement !== true ? false : undefined;
};

const speedOf = ({ reading: { location, fleet }, isPrivate }: JudgedReading): number | undefined =>
  isPrivate ? undefined : (location?.speed ?? fleet?.speed);

const socOf = ({ reading: { electric, fleet } }: JudgedReading): number | undefined =>
  electric?.soc ?? fleet?.ChargeLevel;

function voltsOf({ reading: { can } }: JudgedReading, key: string): number | undefined {
  const text = can?.find((datum) => datum.key === key)?.value.trim();
  const volts = text === undefined || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(volts) ? volts : undefined;
}

/** A value above its limit, until it is `hysteresis` below it. */
function isOver(value: number | undefined, limit: number, hysteresis: number): boolean | undefined {
  if (value === undefined) return undefined;
  if (value > limit) return true;
  // 11.8 V and 0.3 V make 12.100000000000001 V.
  const end = Math.round((limit - hysteresis) * 1e6) / 1e6;
  return value <= end ? false : undefined;
}

function isUnder(value: number | undefined, limit: number, hysteresis: number): boolean | undefined {
  return value === undefined ? undefined : isOver(-value, -limit, hysteresis);
}

/** A geofence and its time windows, outside of which its condition is false. */
type Geofence = GeofenceShape & Partial<GeofenceWindows>;

function judgeGeofence(geofence: Geofence, when: AlarmParameters['when']): Judge {
  const locate = locateBy(geofence, alarmHysteresis.geofenceMetres);
  const { timeZone, windows } = geofence;
  const isActive = timeZone && windows ? createWindowTest({ timeZone, windows }) : () => true;
  return ({ timeMicroseconds, reading: { location }, isPrivate }) => {
    if (location === undefined || isPrivate) return undefined;
    if (!isActive(timeMicroseconds / 1000)) return false;
    const zone = locate(location.latitude, location.longitude);
    return zone === 'margin' ? undefined : (zone === 'inside') === (when !== 'outside');
  };
}

function lowBattery({ belowPercent, belowVolts = 0, canKey = '' }: AlarmParameters): Condition {
  if (belowPercent !== undefined) {
    // A full battery ends every alarm.
    const hysteresis = Math.min(alarmHysteresis.percent, 100 - belowPercent);
    return {
      judge: (judged) => isUnder(socOf(judged), belowPercent, hysteresis),
      measure: socOf,
      column: "(soc is not null or jsonb_exists(fleet, 'ChargeLevel'))",
    };
  }
  const measure = (judged: JudgedReading) => voltsOf(judged, canKey);
  return {
    judge: (judged) => isUnder(measure(judged), belowVolts, alarmHysteresis.volts),
    measure,
    column: '(can is not null or decoded_can is not null)',
  };
}

const flags = (judge: Judge): Condition => ({ judge, measure: () => undefined, column: 'alarms is not null' });

type CreateCondition = (parameters: AlarmParameters, geofence: Geofence | undefined) => Condition | undefined;

/** Creates the conditions of rules; undefined for the kinds that no reading decides (watch.ts). */
export const conditions: Readonly<Record<AlarmKind, CreateCondition | undefined>> = {
  towing: () => ({ ...flags(judgeTowing), column: '(alarms is not null or ignition)' }),
  crash: () => flags(judgeFlags('crash')),
  jamming: () => flags(judgeFlags('gps_jamming', 'gnss_jamming')),
  silent: undefined,
  'low-battery': lowBattery,
  geofence: ({ when }, shape) =>
    shape && { judge: judgeGeofence(shape, when), measure: () => undefined, column: 'latitude is not null' },
  speed: ({ limitKmh = Number.POSITIVE_INFINITY }) => ({
    // A standing vehicle ends every alarm.
    judge: (judged) => isOver(speedOf(judged), limitKmh, Math.min(alarmHysteresis.speedKmh, limitKmh)),
    measure: speedOf,
    column: "(speed is not null or jsonb_exists(fleet, 'speed'))",
  }),
  'unanswered-command': undefined,
};

/** A rule that readings decide. */
export interface Rule {
  readonly id: string;
  readonly kind: AlarmKind;
  /** Earlier readings do not count. */
  readonly activeFromMicroseconds: number;
  readonly condition: Condition;
}

/** The rules of one application. */
interface ApplicationRules {
  readonly ofAll: readonly Rule[];
  readonly ofVehicle: ReadonlyMap<number, readonly Rule[]>;
}

interface RuleRow {
  application_id: number;
  id: string;
  kind: AlarmKind;
  parameters: AlarmParameters;
  geofence: Geofence | null;
  active_from_us: number;
  /** Null for all vehicles. */
  vehicles: number[] | null;
}

async function findRules(db: Database, applicationIds: readonly number[]): Promise<RuleRow[]> {
  const { rows } = await sql<RuleRow>`
    select rule.application_id, rule.id, rule.kind, rule.parameters,
      geofence.geometry || jsonb_build_object('radiusMetres', geofence.radius_metres, 'widthMetres', geofence.width_metres)
        || coalesce(geofence.windows, '{}') as geofence,
      (extract(epoch from rule.active_from) * 1000000)::bigint as active_from_us,
      case when not rule.all_vehicles then array(
        select vehicle_id from alarm_rule_vehicle where rule_id = rule.id
        union select vehicle_id from vehicle_group_member where group_id in (select groups_below(array(
          select group_id from alarm_rule_group where rule_id = rule.id)))) end as vehicles
    from alarm_rule as rule left join geofence on geofence.id = rule.geofence_id
    where rule.application_id = any(${applicationIds}::integer[]) and rule.deleted_at is null
    order by rule.id`.execute(db);
  return rows;
}

function toRule({ id, kind, parameters, geofence, active_from_us }: RuleRow): Rule[] {
  const condition = conditions[kind]?.(parameters, geofence ?? undefined);
  return condition === undefined ? [] : [{ id, kind, activeFromMicroseconds: active_from_us, condition }];
}

function toApplicationRules(rows: readonly RuleRow[]): ApplicationRules {
  const ofVehicle = rows.flatMap((row) =>
    toRule(row).flatMap((rule) => (row.vehicles ?? []).map((vehicleId) => ({ vehicleId, rule }))),
  );
  const byVehicle = groupBy(ofVehicle, ({ vehicleId }) => vehicleId);
  return {
    ofAll: rows.filter(({ vehicles }) => vehicles === null).flatMap(toRule),
    ofVehicle: new Map([...byVehicle].map(([vehicleId, found]) => [vehicleId, found.map(({ rule }) => rule)])),
  };
}

const noRules: readonly Rule[] = [];

/** Caches the rules of applications for one version of the alarm rules (packages/database/ingest-barrier.ts). */
export class RuleCache {
  #version: number | undefined;
  /** Undefined for an application without rules. */
  #rules = new Map<number, ApplicationRules | undefined>();

  /**
   * Loads the rules of applications that are not in the cache.
   * @param version from shareIngestBarrier in the transaction `db`
   * @returns whether one of the applications has rules
   */
  async load(db: Database, version: number, applicationIds: ReadonlySet<number>): Promise<boolean> {
    if (version !== this.#version) {
      this.#version = version;
      this.#rules = new Map();
    }
    const unknown = [...applicationIds].filter((id) => !this.#rules.has(id));
    if (unknown.length > 0) {
      const found = groupBy(await findRules(db, unknown), ({ application_id }) => application_id);
      for (const id of unknown) {
        const rows = found.get(id);
        this.#rules.set(id, rows && toApplicationRules(rows));
      }
    }
    return [...applicationIds].some((id) => this.#rules.get(id) !== undefined);
  }

  /** Returns the rules of a vehicle of a loaded application. */
  rulesOf(applicationId: number, vehicleId: number): readonly Rule[] {
    const rules = this.#rules.get(applicationId);
    if (rules === undefined) return noRules;
    const ofVehicle = rules.ofVehicle.get(vehicleId);
    return ofVehicle === undefined ? rules.ofAll : [...rules.ofAll, ...ofVehicle];
  }
}
